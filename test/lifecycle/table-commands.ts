import { agent, fromBinary, type MessageInitShape } from "@chartroom/protocol";
import type { RoomStream } from "../support/room.ts";
import type { Carrier, Command, State } from "./table.ts";
import { answerTo, cancelAction, type First, type Given, type Stage } from "./table-stage.ts";

type ActionInit = NonNullable<MessageInitShape<typeof agent.ConversationActionSchema>["action"]>;
type ClientInit = Parameters<RoomStream["send"]>[0];

/** How a command is given: what the conversation must have behind it, and what goes over the wire. */
export interface Giving {
  /** What the first Run was like, for the command to mean what its name says. */
  readonly first?: First;
  /** The text by which its content is found again. */
  readonly marker?: string;
  readonly action?: ActionInit;
  /** Another message than a Run request or an action. */
  readonly give?: (stage: Stage, state: State) => Given;
  /** It is given this many times, one after the other; the last answer counts. */
  readonly times?: number;
}

const message = (text: string, messageId: string) => ({ text, messageId, mode: agent.AgentMode.AGENT });
const user = (text: string, messageId: string): ActionInit => ({
  case: "userMessageAction",
  value: { userMessage: message(text, messageId), requestContext: { env: { timeZone: "UTC" } } },
});
const known = user("alpha", "m-alpha");
const resume: ActionInit = { case: "resumeAction", value: { requestContext: { env: { timeZone: "UTC" } } } };
const completion: ActionInit = {
  case: "backgroundTaskCompletionAction",
  value: {
    completions: [
      {
        kind: agent.BackgroundTaskKind.SHELL,
        status: agent.BackgroundTaskStatus.SUCCESS,
        taskId: "task-1",
        title: "beta",
        detail: "beta is over",
      },
    ],
  },
};
const inject = (
  expectedRunId: string,
  payload: Extract<ActionInit, { case: "injectContextAction" }>["value"]["payload"],
): ActionInit => ({
  case: "injectContextAction",
  value: { injectionId: "i-beta", expectedRunId, ...(payload ? { payload } : {}) },
});
const userContext = { case: "userContext", value: { userMessage: message("beta", "m-beta") } } as const;
const systemContext = { case: "systemContext", value: { producer: "hook", content: "beta" } } as const;

/** A result of the file that was read, on the first Run's stream. */
const result =
  (which: "first" | "last") =>
  (stage: Stage): Given => {
    const { stream } = stage;
    const reads = stream.downlink.messages.flatMap(({ message: { case: kind, value } }) =>
      kind === "execServerMessage" && value.message.case === "readArgs" ? [value] : [],
    );
    const exec = which === "first" ? reads[0] : reads.at(-1);
    if (exec) stage.claimAnswer(stream, `exec ${exec.id}`);
    return {
      stream,
      receipt: stream.send(
        exec
          ? answerTo(exec, "beta")
          : {
              message: {
                case: "execClientMessage",
                value: { id: 77, message: { case: "readResult", value: { result: { case: "error", value: {} } } } },
              },
            },
      ),
    };
  };

export const GIVING: Readonly<Record<Command, Giving>> = {
  userMessage: { marker: "beta", action: user("beta", "m-beta") },
  "knownMessage, completed undelivered": { first: { end: "undelivered" }, action: known },
  "knownMessage, failed undelivered": { first: { end: "failedUndelivered" }, action: known },
  "knownMessage, delivered": { action: known },
  "inject user, matches": { marker: "beta", action: inject("w-1", userContext) },
  "inject system, matches": { marker: "beta", action: inject("w-1", systemContext) },
  "inject, no match": { marker: "beta", action: inject("w-other", userContext), times: 2 },
  "resume, unfinished": { first: { end: "unfinished" }, action: resume },
  "resume, finished": { action: resume },
  cancel: { action: cancelAction.message.value.action },
  cancelSubagent: { action: { case: "cancelSubagentAction", value: { subagentId: "s-1" } } },
  toolResult: { give: result("last") },
  "toolResult, late": { first: { calledBefore: true }, give: result("first") },
  completion: { marker: "beta is over", action: completion },
  "completion, again": { marker: "beta is over", action: completion, times: 2 },
  summarize: { action: { case: "summarizeAction", value: {} } },
  startPlan: {
    marker: "beta",
    action: { case: "startPlanAction", value: { userMessage: message("beta", "m-beta") } },
  },
  executePlan: {
    marker: "beta",
    action: { case: "executePlanAction", value: { plan: { plan: "beta" } } },
  },
  asyncAnswer: {
    marker: "beta",
    action: {
      case: "asyncAskQuestionCompletionAction",
      value: {
        originalToolCallId: "call-1",
        result: { result: { case: "success", value: { answers: [{ questionId: "q", freeformText: "beta" }] } } },
      },
    },
  },
  prewarm: {
    give: (stage) => {
      const stream = stage.open();
      void stream.attach();
      const request: ClientInit = {
        message: { case: "prewarmRequest", value: { conversationId: stage.person.conversationId } },
      };
      return { stream, receipt: stream.send(request) };
    },
  },
  heartbeat: {},
  unknownAction: { action: { case: "shellCommandAction", value: { execId: "x" } } },
};

/** Gives a command on its carrier: A on a new stream, B on the stream of the first Run, which in idle is used once more. */
export async function giveCommand(stage: Stage, command: Command, carrier: Carrier, state: State): Promise<Given> {
  const { action, give, times = 1 } = GIVING[command];
  if (give) return give(stage, state);
  if (!action) throw new Error(`${command} is not given here`);
  let given: Given | undefined;
  for (let time = 0; time < times; time++) {
    await stage.quiet();
    given = await giveOnce(stage, action, carrier, state);
  }
  if (!given) throw new Error("given no time");
  return given;
}

async function giveOnce(stage: Stage, action: ActionInit, carrier: Carrier, state: State): Promise<Given> {
  const again = carrier === "B" && state === "idle";
  const { requestId } = stage.stream.generation;
  const stream =
    carrier === "A"
      ? stage.open()
      : again
        ? stage.open(requestId, Math.max(...stage.streams.map(({ generation }) => generation.generation)) + 1)
        : stage.stream;
  if (stream !== stage.stream) await stream.attach();
  const request: ClientInit =
    carrier === "B"
      ? { message: { case: "conversationAction", value: { action } } }
      : {
          message: {
            case: "runRequest",
            value: {
              conversationId: stage.person.conversationId,
              action: { action },
              mcpTools: {},
              requestedModel: { modelId: "demo-model" },
              // what is sent again is the request as it was
              conversationState:
                action === known || stage.person.state.length === 0
                  ? {}
                  : fromBinary(agent.ConversationStateStructureSchema, stage.person.state),
            },
          },
        };
  return { stream, receipt: stream.send(request) };
}
