import type { Downlink, Generation, MemberId, ReplayFrom, RunId, RunRequest, StreamId } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import { answerFromStore } from "./answer.ts";
import { attachDownlink } from "./attachment.ts";
import { ClientStream } from "./client-stream.ts";
import { failure, isUnavailable } from "../failures.ts";
import { faultText } from "../fault-text.ts";
import type { LiveRun } from "../activation/live-run.ts";

/** What a generation's downlink gets. */
type Carried =
  | { readonly kind: "run"; readonly activation: Activation; readonly run: LiveRun; readonly from: ReplayFrom }
  | {
      readonly kind: "answer";
      readonly activation: Activation;
      readonly runId: RunId;
      readonly request: RunRequest;
      readonly stream: ClientStream;
    };

/** Which generation carries which Run, and the downlinks that came before their Run was known. */
export class StreamTable {
  readonly #carried = new Map<StreamId, Carried>();
  readonly #waiting = new Map<StreamId, Downlink>();

  /** The generation carries this Run from now on; its waiting downlink is attached at once. */
  carry(generation: Generation, activation: Activation, run: LiveRun, from: ReplayFrom): void {
    // the ids of what was asked on it stay used, though the Run that asked has ended
    const stream = activation.streams.get(generation.streamId);
    if (stream && activation.runs.get(stream.runId)?.ended !== false) stream.runId = run.row.runId;
    this.#set(generation, { kind: "run", activation, run, from });
  }

  /** The generation is answered from the store. */
  answer(generation: Generation, activation: Activation, runId: RunId, request: RunRequest): void {
    this.#set(generation, {
      kind: "answer",
      activation,
      runId,
      request,
      stream: new ClientStream(generation, runId),
    });
  }

  /** The stream of a generation, whether its Run lives or is answered from the store. */
  clientOf(generation: Generation): { readonly stream: ClientStream; readonly activation: Activation } | undefined {
    const carried = this.#carried.get(generation.streamId);
    if (carried?.kind !== "answer") return this.stream(generation);
    return carried.activation.ended ? undefined : carried;
  }

  /** The stream of a generation whose Run is in memory. */
  stream(
    generation: Generation,
  ): { readonly stream: ClientStream; readonly run: LiveRun; readonly activation: Activation } | undefined {
    const carried = this.#carried.get(generation.streamId);
    if (carried?.kind !== "run" || carried.activation.ended) return undefined;
    const stream = carried.activation.streams.get(generation.streamId);
    const run = stream && carried.activation.runs.get(stream.runId);
    return stream && run ? { stream, run, activation: carried.activation } : undefined;
  }

  activationOf(generation: Generation): Activation | undefined {
    const activation = this.#carried.get(generation.streamId)?.activation;
    return activation?.ended ? undefined : activation;
  }

  /** Attaches a downlink to what its generation carries; `undefined`: nothing yet, it waits here. */
  attach(
    generation: Generation,
    downlink: Downlink,
  ): { readonly activation: Activation; readonly runId: RunId } | undefined {
    const carried = this.#carried.get(generation.streamId);
    if (!carried || carried.activation.ended) {
      this.#waiting.set(generation.streamId, downlink);
      downlink.onLost(() => {
        if (this.#waiting.get(generation.streamId) === downlink) this.#waiting.delete(generation.streamId);
      });
      return undefined;
    }
    return this.#attach(generation, carried, downlink);
  }

  /** The Run that has been parked longest, of one member or of all. */
  oldestParked(member: MemberId | undefined): { readonly activation: Activation; readonly run: LiveRun } | undefined {
    let oldest: { activation: Activation; run: LiveRun; since: number } | undefined;
    for (const carried of this.#carried.values()) {
      if (
        carried.kind !== "run" ||
        carried.activation.ended ||
        (member !== undefined && carried.activation.member !== member)
      )
        continue;
      const child = carried.activation.childOf(carried.run.row.runId)?.getSnapshot();
      if (child?.value !== "parked") continue;
      const since = child.context.parkedAt;
      if (!oldest || since < oldest.since) oldest = { activation: carried.activation, run: carried.run, since };
    }
    return oldest;
  }

  /** Forgets the generations whose Runs are no longer in memory. */
  prune(): void {
    for (const [streamId, carried] of this.#carried)
      if (
        carried.kind === "run" &&
        carried.run.ended &&
        carried.activation.runs.get(carried.run.row.runId) !== carried.run
      )
        this.#carried.delete(streamId);
  }

  /** Forgets what an activation carried. */
  forget(activation: Activation): void {
    for (const [streamId, carried] of this.#carried)
      if (carried.activation === activation) this.#carried.delete(streamId);
  }

  #set(generation: Generation, carried: Carried): void {
    this.#carried.set(generation.streamId, carried);
    const waiting = this.#waiting.get(generation.streamId);
    this.#waiting.delete(generation.streamId);
    if (waiting && !waiting.closed) this.#attach(generation, carried, waiting);
    else if (carried.kind === "run") carried.activation.stream(generation, carried.run);
  }

  #attach(
    generation: Generation,
    carried: Carried,
    downlink: Downlink,
  ): { readonly activation: Activation; readonly runId: RunId } {
    if (carried.kind === "run") {
      const { activation, run, from } = carried;
      const stream = activation.streams.get(generation.streamId);
      const now = (stream && activation.runs.get(stream.runId)) ?? run;
      if (now.ended) this.#answer(activation, now.row.runId, activation.stream(generation, now), downlink);
      else attachDownlink(activation, now, generation, downlink, from);
      return { activation, runId: now.row.runId };
    }
    const { activation, runId, stream, request } = carried;
    this.#answer(activation, runId, stream, downlink, request.state);
    return { activation, runId };
  }

  /** Nobody waits for an answer from the store: what it throws ends its own stream. */
  #answer(activation: Activation, runId: RunId, stream: ClientStream, downlink: Downlink, state?: Uint8Array): void {
    answerFromStore(activation, runId, stream, downlink, state).catch((error: unknown) => {
      if (!isUnavailable(error))
        activation.deps.events({
          type: "chart.error",
          conversationId: activation.conversationId,
          message: `answer: ${faultText(error)}`,
        });
      downlink.end({ kind: "error", failure: failure(isUnavailable(error) ? "STORE_UNAVAILABLE" : "INTERNAL") });
    });
  }
}
