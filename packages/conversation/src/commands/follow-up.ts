import type { Barrier, InboxRow, RunId, RunRequest, RunRow, TraceId } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import { watchHeartbeats } from "../streams/attachment.ts";
import type { ClientStream } from "../streams/client-stream.ts";
import { opensRun } from "./inbox.ts";
import { LiveRun } from "../activation/live-run.ts";

export interface FollowUp {
  readonly barrier: Barrier;
  /** Tells the chart; after the commit. */
  announce(): void;
}

/**
 * A Run for what is left in the inbox when a Run ends; an injection alone waits for the next opening instead. Its row stays in
 * the inbox until it is history: a Run that takes the place of this one takes the row too. `goesOn`: on the stream of the
 * Run that ends; else that stream has its own end and is not this Run's.
 */
export function openFollowUp(activation: Activation, ended: LiveRun, goesOn: boolean): FollowUp | undefined {
  const opener = activation.inbox.find(opensRun);
  if (!opener) return undefined;
  const request = requestOf(activation, opener, ended.request);
  if (!request) return undefined;
  const { clock, entropy, settings } = activation.deps;
  const row: RunRow = {
    ...rowOf(ended.row, request),
    ...generationOf(ended, goesOn),
    runId: entropy.uuid() as RunId,
    traceId: entropy.uuid() as TraceId,
    acceptedAt: clock.now(),
    parkDeadline: clock.now() + settings.parkedRunTtlMs,
    request: opener.body,
  };
  const next = new LiveRun(row, request);
  next.accepted.resolve(true);
  next.knownContext = ended.compiled?.scope.context ?? ended.knownContext;
  next.opener = opener.seq;
  return {
    barrier: { runsOpened: [row] },
    announce() {
      activation.addRun(next);
      next.release = ended.release;
      ended.release = () => undefined;
      activation.send({
        type: "run.requested",
        runId: row.runId,
        kind: "turn",
        followUp: goesOn,
        asked: true,
        parkDeadline: row.acceptedAt + settings.parkedRunTtlMs,
      });
      watchHeartbeats(activation, next);
    },
  };
}

/** The generation on whose stream it goes on; else none has its number. */
function generationOf({ row, attached }: LiveRun, goesOn: boolean): Pick<RunRow, "requestId" | "generation"> {
  if (!goesOn || !attached) return { requestId: row.requestId, generation: 0 };
  const { requestId, generation } = attached.generation;
  return { requestId, generation };
}

/** The stream of an ended Run goes on with its follow-up. */
export function adoptStream(activation: Activation, next: LiveRun, stream: ClientStream): void {
  const { requestId, generation } = stream.generation;
  next.row = { ...next.row, requestId, generation };
  stream.runId = next.row.runId;
  next.attached = stream;
  activation.childOf(next.row.runId)?.send({ type: "transport.attached" });
}

/** What a message of a live stream asks for, as a request: model, tools and prompt are those of the Run before. */
export function requestOf(
  activation: Activation,
  row: Pick<InboxRow, "body">,
  before: RunRequest,
): RunRequest | undefined {
  const decoded = activation.deps.codec.decodeUplink(row.body);
  if (!decoded.ok) return undefined;
  if (decoded.value.kind === "run") return decoded.value.request;
  return decoded.value.kind === "action"
    ? { ...before, action: decoded.value.action, state: new Uint8Array(), prefetched: [] }
    : undefined;
}

function rowOf(
  before: RunRow,
  request: RunRequest,
): Omit<RunRow, "runId" | "traceId" | "acceptedAt" | "request" | "requestId" | "generation"> {
  const { action } = request;
  const message = "message" in action ? action.message : undefined;
  return {
    kind: "turn",
    status: "waiting",
    wireRunIds: before.wireRunIds,
    modelId: request.model.modelId,
    delivered: false,
    ...(before.agentSessionId ? { agentSessionId: before.agentSessionId } : {}),
    ...(message ? { messageId: message.messageId } : {}),
  };
}
