import type {
  ConversationId,
  DomainEvent,
  Generation,
  MemberId,
  Principal,
  Receipt,
  RequestId,
  RunRow,
  StreamId,
  TeamId,
} from "@chartroom/domain";
import { type agent, type MessageInitShape } from "@chartroom/protocol";
import type { MemoryConversation } from "../../support/memory-conversation.ts";
import type { PuppetCall } from "../../support/puppet-models.ts";
import type { Carrier, Command } from "../../lifecycle/table.ts";
import type { Coverage } from "./coverage.ts";
import { Judge } from "./judge.ts";
import type { ServingNode } from "./node.ts";
import { SimTime } from "./sim-clock.ts";
import type { Frame, Link, ServerExec } from "./sim-downlink.ts";
import { type ActionInit, type ClientInit, runRequest } from "./wire.ts";

export const member = "ada" as MemberId;
export const principal: Principal = { member, team: "team" as TeamId, roles: ["member"] };

/** An exec that the client was asked for on one stream. */
interface OpenExec {
  readonly stream: ClientStream;
  readonly exec: ServerExec;
  state: "open" | "answered" | "aborted";
}

/** One generation as the client sees it. */
export interface ClientStream {
  readonly generation: Generation;
  /** Its wire run id, if the client gave one. */
  readonly wireRunId: string | undefined;
  readonly downlinks: Link[];
}

/** Something that the client sent and wants to find again in the history. */
export interface Input {
  readonly marker: string;
  readonly carrier: Carrier;
  readonly command: Command;
  readonly messageId: string;
  readonly action: ActionInit;
  readonly stream: ClientStream;
  receipt: Receipt | undefined;
}

/** A conversation, its client, and the processes that serve it, in the simulation (`SimWorld`) or over sockets (`WireWorld`). */
export abstract class World {
  readonly conversationId: ConversationId;
  /** The rows of the store. */
  abstract readonly truth: { conversation(id: string): MemoryConversation | undefined };
  readonly time = new SimTime(() => this.settle());
  readonly streams: ClientStream[] = [];
  readonly execs: OpenExec[] = [];
  readonly inputs: Input[] = [];
  readonly judge: Judge;
  /** Blobs that the client has acknowledged. */
  readonly blobs = new Map<string, Uint8Array>();
  readonly #coverage: Coverage;
  readonly #unacknowledged: {
    readonly stream: ClientStream;
    readonly id: number;
    readonly blob: string;
    readonly data: Uint8Array;
  }[] = [];
  /** The process that serves the client. */
  abstract node: ServingNode;
  /** Processes that were frozen and go on, though another one has taken over. */
  readonly zombies: ServingNode[] = [];
  acknowledges = true;
  state: Uint8Array = new Uint8Array();
  readonly #mark: string;
  #names = 0;

  /** `mark`: what the names of this world have and those of no other one on the same store. */
  constructor(coverage: Coverage, mark = "") {
    this.#coverage = coverage;
    this.#mark = mark;
    this.conversationId = `conversation-${mark}1` as ConversationId;
    this.judge = new Judge(this);
  }

  name(prefix: string): string {
    return `${prefix}${this.#mark}${++this.#names}`;
  }

  // -- what a simulation and a server behind sockets do each in their way

  /** Opens a downlink of a stream. */
  abstract attach(stream: ClientStream): void;
  /** The client of a stream that it has just used goes away. */
  abstract hangUp(stream: ClientStream): void;
  /** The stream on which an action comes for one whose Run has ended, with its downlink; `undefined`: there is no way. */
  abstract next(stream: ClientStream): ClientStream | undefined;
  /** Hands over what begins or steers a Run. */
  protected abstract submit(
    stream: ClientStream,
    carrier: Carrier,
    message: ClientInit,
    original: string | undefined,
  ): Promise<Receipt>;
  /** Hands over an answer. */
  protected abstract give(stream: ClientStream, message: ClientInit): void;
  /** The process dies; the client's connections break; another one starts. */
  abstract kill(): Promise<void>;
  /** The process was frozen for too long and goes on; another one serves its clients. */
  abstract freeze(): Promise<void>;
  /** When all that could happen without time has happened. */
  abstract settle(): Promise<void>;
  /** Looks at what can be seen only when all has come to rest. */
  abstract finale(): Promise<void>;
  abstract close(): Promise<void>;

  /** Whether a Run in the store is of this stream, opened or claimed, as far as a client's ids tell. */
  abstract isOf(stream: ClientStream, run: Pick<RunRow, "runId" | "requestId" | "generation">): boolean;
  /** What has one outcome: two terminals of the same name say the same. */
  abstract lifeOf(stream: ClientStream): string;
  /** The result of a call was stored before its exec was sent. */
  abstract isSettled(callId: string): boolean;
  /** Another process has taken the conversation from it, and what it says now it must not say. */
  abstract isRobbed(node: ServingNode, says: string): boolean;

  /** What the client answers on it reaches the generation that asked. */
  answersArrive(_stream: ClientStream): boolean {
    return true;
  }

  /** The client may have sent it again when it was over, which asks for it anew (section 6). */
  sentAgain({ command }: Input): boolean {
    return command === "userMessage";
  }

  protected heard(event: DomainEvent, node: ServingNode): void {
    this.judge.event(event, node);
  }

  // -- the client's streams

  open(requestId = this.name("request-"), wireRunId?: string): ClientStream {
    const generation = 1 + this.streams.filter((stream) => stream.generation.requestId === requestId).length;
    const stream: ClientStream = {
      generation: {
        member,
        requestId: requestId as RequestId,
        generation,
        streamId: this.streamIdOf(requestId, generation) as StreamId,
      },
      wireRunId,
      downlinks: [],
    };
    this.streams.push(stream);
    return stream;
  }

  protected streamIdOf(requestId: string, generation: number): string {
    return `${requestId}#${generation}`;
  }

  current({ downlinks }: ClientStream): Link | undefined {
    const last = downlinks.at(-1);
    return last?.closed === false ? last : undefined;
  }

  /** Replies that the client owes for blobs; `false`: none. */
  acknowledge(): boolean {
    const owed = this.#unacknowledged.splice(0);
    for (const { stream, id, blob, data } of owed) {
      this.blobs.set(blob, data);
      this.give(stream, {
        message: { case: "kvClientMessage", value: { id, message: { case: "setBlobResult", value: {} } } },
      });
    }
    return owed.length > 0;
  }

  get owesBlobs(): boolean {
    return this.#unacknowledged.length > 0;
  }

  /** The server that asked for them is gone. */
  protected owesNothing(): void {
    this.#unacknowledged.length = 0;
  }

  protected frame(stream: ClientStream, link: Link, frame: Frame, node: ServingNode): void {
    if (node === this.node) {
      if (frame.kind === "exec") this.execs.push({ stream, exec: frame.exec, state: "open" });
      if (frame.kind === "abort")
        for (const open of this.execs)
          if (open.stream === stream && open.exec.id === frame.execId && open.state === "open") open.state = "aborted";
      if (frame.kind === "kv") this.#kv(stream, frame.kv);
      if (frame.kind === "checkpoint") this.state = frame.state;
    }
    this.judge.frame(stream, link, frame, node);
  }

  #kv(stream: ClientStream, { id, message }: Extract<Frame, { kind: "kv" }>["kv"]): void {
    if (message.case === "setBlobArgs") {
      const blob = Buffer.from(message.value.blobId).toString("hex");
      this.#unacknowledged.push({ stream, id, blob, data: message.value.blobData });
      if (this.acknowledges) this.acknowledge();
    } else if (message.case === "getBlobArgs") {
      const data = this.blobs.get(Buffer.from(message.value.blobId).toString("hex"));
      this.give(stream, {
        message: {
          case: "kvClientMessage",
          value: { id, message: { case: "getBlobResult", value: data ? { blobData: data } : {} } },
        },
      });
    }
  }

  // -- what the client sends

  /** A Run request (A) or an action (B) on a stream. */
  send(
    stream: ClientStream,
    carrier: Carrier,
    command: Command,
    action: ActionInit,
    more: { readonly state?: Uint8Array; readonly original?: string } = {},
  ): Promise<Receipt> {
    this.#coverage.hit(command, carrier, this.phase);
    const message: ClientInit =
      carrier === "A"
        ? runRequest(this.conversationId, action, {
            state: more.state ?? this.state,
            ...(stream.wireRunId === undefined ? {} : { runId: stream.wireRunId }),
          })
        : { message: { case: "conversationAction", value: { action } } };
    return this.submit(stream, carrier, message, more.original);
  }

  prewarm(stream: ClientStream): void {
    this.#coverage.hit("prewarm", "A", this.phase);
    const message: ClientInit = {
      message: { case: "prewarmRequest", value: { conversationId: this.conversationId, conversationState: {} } },
    };
    void this.submit(stream, "A", message, undefined);
  }

  /** Answers an exec; how the client does it is its own. */
  answer(open: OpenExec, how: "ok" | "error" | "throw" | "close" | "heartbeat"): void {
    const { stream, exec } = open;
    const { id } = exec;
    if (how === "throw" || how === "close" || how === "heartbeat") {
      if (how !== "heartbeat") open.state = "answered";
      const control =
        how === "throw"
          ? ({ case: "throw", value: { id, error: "no" } } as const)
          : how === "close"
            ? ({ case: "streamClose", value: { id } } as const)
            : ({ case: "heartbeat", value: { id } } as const);
      return this.give(stream, { message: { case: "execClientControlMessage", value: { message: control } } });
    }
    open.state = "answered";
    this.give(stream, resultOf(exec, how));
  }

  // -- what the conversation is

  /** Innermost value of the chart in memory, else of the one that is stored. */
  get phase(): "idle" | "active" | "ending" {
    const live = this.node.service.registry.find(this.conversationId);
    const value = (live?.chart() ?? this.truth.conversation(this.conversationId)?.chart)?.value ?? "idle";
    const outer = typeof value === "string" ? value : (Object.keys(value)[0] ?? "");
    if (["preparing", "modeling", "waitingTools", "interrupting"].includes(outer)) return "active";
    return outer === "checkpointing" || outer === "finalizing" ? "ending" : "idle";
  }

  /** The state that the chart in memory is in, for whoever reads a counterexample. */
  get where(): string {
    const live = this.node.service.registry.find(this.conversationId);
    return JSON.stringify(live?.chart().value ?? "no memory");
  }
  /** The head ends in something to answer, by what is stored. */
  get unfinished(): boolean {
    const stored = this.truth.conversation(this.conversationId);
    const node = stored?.head === undefined ? undefined : stored.nodes.get(stored.head);
    const last = stored?.messages.get(node?.added.at(-1) ?? "");
    return last !== undefined && last.role !== "assistant";
  }
  /** The gateway's rule: a generation whose Run has ended is over, and what comes on its request id begins the next one. */
  carries({ generation }: ClientStream): boolean {
    const stored = this.truth.conversation(this.conversationId);
    const live = this.node.service.registry.find(this.conversationId);
    const stream = live?.streams.get(generation.streamId);
    const run = stream && live?.runs.get(stream.runId);
    if (run) return !run.ended;
    return [...(stored?.runs.values() ?? [])].some(
      (row) =>
        row.requestId === generation.requestId && row.generation === generation.generation && row.endedAt === undefined,
    );
  }
  /** A wire run id of the Run that a stream carries now. */
  wireRunId({ generation }: ClientStream): string | undefined {
    const live = this.node.service.registry.find(this.conversationId);
    const stream = live?.streams.get(generation.streamId);
    return (stream && live?.runs.get(stream.runId))?.row.wireRunIds[0];
  }

  hitResult(command: "toolResult" | "toolResult, late"): void {
    this.#coverage.hit(command, "B", this.phase);
  }
  unhandled(event: string, state: unknown): void {
    this.#coverage.note(`${event} in ${JSON.stringify(state)}`);
  }

  /** At rest: nothing runs, nothing waits. */
  get resting(): boolean {
    const live = this.node.service.registry.find(this.conversationId);
    const stored = this.truth.conversation(this.conversationId);
    return (
      (live === undefined ||
        (live.phase === "idle" && live.waitingRun === undefined && live.chart().value === "idle")) &&
      [...(stored?.runs.values() ?? [])].every(({ endedAt }) => endedAt !== undefined)
    );
  }

  /** The model call that waits for its words. */
  get modelCall(): PuppetCall | undefined {
    return this.node.models.open.at(-1);
  }
}

function resultOf({ id, execId, message }: ServerExec, how: "ok" | "error"): ClientInit {
  const answer = (result: AnswerInit): ClientInit => ({
    message: { case: "execClientMessage", value: { id, execId, message: result } },
  });
  if (message.case === "requestContextArgs")
    return answer({
      case: "requestContextResult",
      value: { result: { case: "success", value: { requestContext: { env: { timeZone: "UTC" } } } } },
    });
  const path = message.case === "readArgs" ? message.value.path : "";
  return answer({
    case: "readResult",
    value: {
      result:
        how === "ok"
          ? { case: "success", value: { path, output: { case: "content", value: "x\n" }, totalLines: 1 } }
          : { case: "error", value: { path, error: "no" } },
    },
  });
}

type AnswerInit = NonNullable<MessageInitShape<typeof agent.ExecClientMessageSchema>["message"]>;
