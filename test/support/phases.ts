import type { Barrier } from "@chartroom/domain";
import type { CommitGate } from "./commit-gate.ts";
import { until } from "./gateway/until.ts";
import { call, say, type Answer, type ScriptedModels } from "./scripted-provider.ts";
import type { ClientInit, WireClient, WireStream } from "./wire-client.ts";

/** The phases of a Run in which a test can hold it. */
export const PHASES = ["preparing", "modeling", "waitingTools", "interrupting", "checkpointing", "finalizing"] as const;
export type Phase = (typeof PHASES)[number];

/** The commit that ends a Run. */
const endsRun = (barrier: Barrier): boolean =>
  barrier.runsChanged?.some(({ status }) => status !== undefined && status !== "running" && status !== "waiting") ===
  true;

/** A Run that is held in its phase. */
export interface Held {
  readonly stream: WireStream;
  /** The request that opened it. */
  readonly request: ClientInit;
  /** Lets it go on. */
  release(): Promise<void>;
}

/** A model that shows a text and then does not even listen to an abort until the gate opens. */
function deaf(text: string, gate: Promise<void>): Answer {
  return async function* (_request, signal) {
    yield [{ type: "text", text }];
    await gate;
    if (signal.aborted)
      return yield [{ type: "failed", failure: { kind: "aborted", message: "aborted", retryable: false } }];
    yield* say(" and on")(_request, signal);
  };
}

/**
 * Brings a new Run of the client into a phase and keeps it there: `preparing` waits for the client's context, `modeling`
 * for the model, `waitingTools` for a command, `interrupting` for a model that is slow to stop, `checkpointing` for the
 * acknowledgement of blobs, `finalizing` for the write of the outcome. The models answer `next` to what follows.
 */
export async function holdIn(
  phase: Phase,
  person: WireClient,
  models: ScriptedModels,
  store: CommitGate,
  options: { readonly runId?: string; readonly messageId?: string; readonly next?: Answer } = {},
): Promise<Held> {
  const { next = say("Next."), ...ids } = options;
  const gate = Promise.withResolvers<void>();
  const stream = person.stream();
  const { down } = stream;
  const open = async (): Promise<void> => gate.resolve();
  let request = person.runRequest("Go", ids);
  switch (phase) {
    case "preparing": {
      models.answer(next);
      request = withoutContext(request);
      const { onExec } = person;
      person.onExec = (exec) => (exec.message.case === "requestContextArgs" ? undefined : onExec(exec));
      await stream.send(request);
      await down.sees("execServerMessage.requestContextArgs");
      return {
        stream,
        request,
        async release() {
          const [exec] = stream.down.execs;
          if (exec)
            await stream.answer(exec, {
              case: "requestContextResult",
              value: { result: { case: "success", value: { requestContext: { env: { shell: "/bin/bash" } } } } },
            });
        },
      };
    }
    case "modeling":
      models.answer(deaf("Half", gate.promise), next);
      await stream.send(request);
      await down.says("Half");
      return { stream, request, release: open };
    case "waitingTools":
      models.answer(call({ name: "Shell", args: { command: "sleep 60" } }), next);
      await stream.send(request);
      await down.sees("execServerMessage.shellStreamArgs");
      return {
        stream,
        request,
        async release() {
          const [exec] = stream.down.execs;
          if (exec) await stream.answer(exec, { case: "shellStream", value: { event: { case: "exit", value: {} } } });
        },
      };
    case "interrupting":
      models.answer(deaf("Half", gate.promise), next);
      await stream.send(request);
      await down.says("Half");
      await stream.say("Stop that");
      return { stream, request, release: open };
    case "checkpointing":
      models.answer(say("Whole."), next);
      person.acknowledges = false;
      await stream.send(request);
      await down.sees("kvServerMessage.setBlobArgs");
      return {
        stream,
        request,
        async release() {
          person.acknowledges = true;
          await stream.acknowledge();
        },
      };
    case "finalizing":
      models.answer(say("Whole."), next);
      store.hold(endsRun);
      await stream.send(request);
      await until(() => store.held > 0, "the write of the outcome");
      return { stream, request, release: async () => store.release() };
  }
}

function withoutContext(request: ClientInit): ClientInit {
  const run = request.message?.case === "runRequest" ? request.message.value.action?.action : undefined;
  if (run?.case === "userMessageAction") delete run.value.requestContext;
  return request;
}
