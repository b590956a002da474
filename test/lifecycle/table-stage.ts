import type { CanonicalMessage, Receipt, RunRow } from "@chartroom/domain";
import { agent } from "@chartroom/protocol";
import { commitGate, type CommitGate } from "../support/commit-gate.ts";
import type { TestNode } from "../support/database.ts";
import type { ServerMessage } from "../support/fake-downlink.ts";
import { puppetModels, type PuppetCall, type PuppetModels } from "../support/puppet-models.ts";
import { openRoom, type Room, type RoomClient, type RoomStream, setBlobResult } from "../support/room.ts";
import { eventually, turn } from "../support/turn.ts";
import type { State } from "./table.ts";

/** How the first Run went; in idle it is over, else it lives. */
export interface First {
  /** In idle: how it ended. */
  readonly end?: "delivered" | "undelivered" | "failedUndelivered" | "unfinished";
  /** It has called a tool and got its result before. */
  readonly calledBefore?: boolean;
}

type Exec = Extract<ServerMessage["message"], { case: "execServerMessage" }>["value"];

/** A conversation in one state of its first Run, and all that is needed to meet it there and to see what comes of it. */
export class Stage {
  readonly room: Room;
  readonly models: PuppetModels;
  readonly gated: CommitGate;
  readonly person: RoomClient;
  readonly streams: RoomStream[] = [];
  readonly node: TestNode;
  /** The stream of the first Run. */
  stream: RoomStream;
  /** The client answers blobs, and execs with this text. */
  acknowledges = true;
  answers: string | undefined;
  readonly #answered = new Set<string>();

  constructor(node: TestNode) {
    this.node = node;
    this.models = puppetModels();
    this.gated = commitGate(node.store);
    this.room = openRoom(this.gated.store, this.models);
    this.person = this.room.client();
    this.person.acknowledges = false;
    this.stream = this.open();
  }

  /** A further stream of the client; not attached yet. */
  open(requestId?: string, generation = 1): RoomStream {
    const stream = requestId === undefined ? this.person.stream() : this.person.stream(requestId, generation);
    this.streams.push(stream);
    return stream;
  }

  get activation() {
    const found = this.room.service.registry.find(this.person.conversationId as never);
    if (!found) throw new Error("the conversation is not in memory");
    return found;
  }
  /** Outermost state of the chart. */
  get state(): string {
    const { value } = this.activation.chart();
    return typeof value === "string" ? value : (Object.keys(value)[0] ?? "");
  }
  get messages(): readonly CanonicalMessage[] {
    return this.activation.history.view.messages;
  }
  /** Ids of the Runs whose messages hold a text, one for each message. */
  runsWith(text: string): readonly (string | undefined)[] {
    return this.messages.flatMap((message) => (JSON.stringify(message.content).includes(text) ? [message.runId] : []));
  }
  async runs(): Promise<readonly RunRow[]> {
    const view = await this.node.store.inspect(this.person.conversationId as never);
    if (!view) throw new Error("the store does not know the conversation");
    return view.runs.toSorted((a, b) => a.acceptedAt - b.acceptedAt || (a.runId < b.runId ? -1 : 1));
  }
  get model(): PuppetCall | undefined {
    return this.models.calls.at(-1);
  }
  /** Ids of the execs that asked to read, oldest first. */
  reads(stream: RoomStream): readonly number[] {
    return stream.downlink.messages.flatMap(({ message }) =>
      message.case === "execServerMessage" && message.value.message.case === "readArgs" ? [message.value.id] : [],
    );
  }
  /** Why inputs were dropped, as the log has it. */
  get dropped(): readonly string[] {
    return this.room.events.flatMap((event) => (event.type === "input.dropped" ? [event.reason] : []));
  }

  /** All that can happen without the test has happened; the client has answered what it answers. */
  async quiet(): Promise<void> {
    do await this.gated.quiet();
    while (this.#answer());
  }

  /** Everything goes on by itself until the conversation is at rest. */
  async finish(): Promise<void> {
    this.gated.release();
    // what waited for the commit comes before what its client and its model do next
    await this.quiet();
    this.acknowledges = true;
    this.answers ??= "contents";
    this.models.auto((call) => call.finish(call.summary ? "A summary." : "Done."));
    await eventually("the conversation comes to rest", async () => {
      await this.quiet();
      const { activation } = this;
      return activation.phase === "idle" && activation.waitingRun === undefined && this.gated.busy === 0;
    });
    this.models.auto();
  }

  /** Answers on each attached stream what is unanswered; `false`: there was nothing. */
  #answer(): boolean {
    let any = false;
    for (const stream of this.streams) {
      if (stream.downlink.closed) continue;
      for (const { message } of stream.downlink.messages) {
        if (message.case === "kvServerMessage" && message.value.message.case === "setBlobArgs" && this.acknowledges)
          any = this.#reply(stream, `kv ${message.value.id}`, () => setBlobResult(message.value.id)) || any;
        if (message.case === "execServerMessage" && this.answers !== undefined) {
          const { answers } = this;
          any = this.#reply(stream, `exec ${message.value.id}`, () => answerTo(message.value, answers)) || any;
        }
      }
    }
    return any;
  }

  #reply(stream: RoomStream, what: string, message: () => Parameters<RoomStream["send"]>[0]): boolean {
    if (!this.claimAnswer(stream, what)) return false;
    void stream.send(message());
    return true;
  }

  /** `true` for the first who answers `kv 1`, `exec 7` … of a stream. */
  claimAnswer(stream: RoomStream, what: string): boolean {
    const key = `${stream.generation.streamId} ${what}`;
    const first = !this.#answered.has(key);
    this.#answered.add(key);
    return first;
  }
}

/** The client's answer to an exec: the content of a file, or its context. */
export function answerTo({ id, execId, message }: Exec, text: string): Parameters<RoomStream["send"]>[0] {
  const answer =
    message.case === "requestContextArgs"
      ? ({
          case: "requestContextResult",
          value: { result: { case: "success", value: { requestContext: { env: { timeZone: "UTC" } } } } },
        } as const)
      : ({
          case: "readResult",
          value: {
            result: {
              case: "success",
              value: {
                path: message.case === "readArgs" ? message.value.path : "",
                output: { case: "content", value: `${text}\n` },
                totalLines: 1,
              },
            },
          },
        } as const);
  return { message: { case: "execClientMessage", value: { id, execId, message: answer } } };
}

export const readCall = { name: "Read", args: { path: "/ws/demo/a.ts" } } as const;
const alpha = { messageId: "m-alpha", runId: "w-1" };

/** Brings a new conversation into a state, by the doings of its client, its model and its store alone. */
export async function stageIn(state: State, node: TestNode, first: First = {}): Promise<Stage> {
  const stage = new Stage(node);
  const { stream, models } = stage;
  await stream.attach();
  if (state === "preparing") {
    // without a context in the request the client is asked for it, and does not answer
    void stream.send(stage.person.runRequest("alpha", { ...alpha, context: false }));
    await eventually("the client is asked for its context", () =>
      stream.downlink.kinds.includes("execServerMessage.requestContextArgs"),
    );
    return stage;
  }
  void stream.send(stage.person.runRequest("alpha", alpha));
  await eventually("the model is called", () => models.calls.length === 1);
  if (first.calledBefore) await callOnce(stage);
  if (first.end !== "unfinished") stage.model?.say("half ");
  await stage.quiet();
  await go[state](stage, first);
  await stage.quiet();
  if (stage.state !== state) throw new Error(`the conversation is in ${stage.state}, not in ${state}`);
  return stage;
}

/** The Run calls a tool and gets its result. */
async function callOnce(stage: Stage): Promise<void> {
  stage.answers = "early";
  stage.model?.ask(readCall);
  await eventually("the model is called again", async () => {
    await stage.quiet();
    return stage.models.calls.length === 2;
  });
  stage.answers = undefined;
}

const inState =
  (outer: string, inner: string) =>
  (barrier: { readonly chart?: { readonly value: unknown } }): boolean =>
    JSON.stringify(barrier.chart?.value) === JSON.stringify({ [outer]: inner });

const go: Readonly<Record<State, (stage: Stage, first: First) => Promise<void> | void>> = {
  async idle(stage, { end = "delivered" }) {
    if (end === "undelivered" || end === "failedUndelivered") {
      stage.stream.downlink.lose();
      await turn();
    }
    if (end === "failedUndelivered") stage.model?.fail("auth", false);
    else if (end === "unfinished") {
      void stage.stream.send(cancelAction);
      await stage.quiet();
    } else stage.model?.finish("first answer");
    await eventually("the first Run has ended", async () => {
      await stage.quiet();
      return stage.state === "idle";
    });
  },
  preparing: () => undefined,
  modeling: () => undefined,
  async waitingTools(stage, { calledBefore = false }) {
    stage.model?.ask(readCall);
    await eventually("the call is out", () => stage.reads(stage.stream).length === (calledBefore ? 2 : 1));
  },
  async interrupting(stage) {
    stage.gated.hold(inState("interrupting", "appending"));
    void stage.stream.send(interjection);
    await eventually("the interjection is being appended", () => stage.gated.held === 1);
  },
  async checkpointing(stage) {
    stage.acknowledges = false;
    stage.model?.finish("first answer");
    await eventually("the checkpoint waits for its acknowledgements", () => stage.state === "checkpointing");
  },
  async finalizing(stage) {
    stage.gated.hold(inState("finalizing", "commit"));
    stage.model?.finish("first answer");
    await eventually("the outcome is being committed", async () => {
      await stage.quiet();
      return stage.gated.held === 1;
    });
  },
};

export const cancelAction = {
  message: { case: "conversationAction", value: { action: { case: "cancelAction", value: { reason: "user" } } } },
} as const;
const interjection = {
  message: {
    case: "conversationAction",
    value: {
      action: {
        case: "userMessageAction",
        value: { userMessage: { text: "interjection", messageId: "m-interjection", mode: agent.AgentMode.AGENT } },
      },
    },
  },
} as const;

/** A command as it was given: the stream that it came on, and the answer. */
export interface Given {
  readonly stream: RoomStream;
  readonly receipt: Promise<Receipt>;
}
