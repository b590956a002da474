import type {
  CommandEnvelope,
  ConversationId,
  DomainEvent,
  Generation,
  MemberId,
  Principal,
  Receipt,
  RequestId,
  StreamId,
  TeamId,
  UplinkMessage,
} from "@chartroom/domain";
import { type agent, type MessageInitShape } from "@chartroom/protocol";
import { MemoryTruth } from "../../support/memory-store.ts";
import type { PuppetCall } from "../../support/puppet-models.ts";
import { turn } from "../../support/turn.ts";
import type { Coverage } from "./coverage.ts";
import type { Command, Carrier } from "../../lifecycle/table.ts";
import { Judge } from "./judge.ts";
import { SimNode } from "./node.ts";
import { SimTime } from "./sim-clock.ts";
import { type Frame, type ServerExec, SimDownlink } from "./sim-downlink.ts";
import { type ActionInit, type ClientInit, runRequest, uplink } from "./wire.ts";

const member = "ada" as MemberId;
const principal: Principal = { member, team: "team" as TeamId, roles: ["member"] };

/** An exec that the client was asked for on one stream. */
interface OpenExec {
  readonly stream: SimStream;
  readonly exec: ServerExec;
  state: "open" | "answered" | "aborted";
}

/** One generation as the client sees it. */
export interface SimStream {
  readonly generation: Generation;
  /** Its wire run id, if the client gave one. */
  readonly wireRunId: string | undefined;
  readonly downlinks: SimDownlink[];
}

/** Something that the client sent and wants to find again in the history. */
export interface Input {
  readonly marker: string;
  readonly carrier: Carrier;
  readonly command: Command;
  readonly messageId: string;
  readonly action: ActionInit;
  readonly stream: SimStream;
  receipt: Receipt | undefined;
}

/** A conversation, its client, and the processes that serve it. */
export class World {
  readonly conversationId = "conversation-1" as ConversationId;
  readonly truth = new MemoryTruth();
  readonly time = new SimTime();
  readonly streams: SimStream[] = [];
  readonly execs: OpenExec[] = [];
  readonly inputs: Input[] = [];
  readonly judge: Judge;
  /** Blobs that the client has acknowledged. */
  readonly blobs = new Map<string, Uint8Array>();
  readonly #coverage: Coverage;
  readonly #unacknowledged: {
    readonly stream: SimStream;
    readonly id: number;
    readonly blob: string;
    readonly data: Uint8Array;
  }[] = [];
  node: SimNode;
  /** Processes that were frozen and go on, though another one has taken over. */
  readonly zombies: SimNode[] = [];
  acknowledges = true;
  state: Uint8Array = new Uint8Array();
  #names = 0;
  #uuids = 0;

  constructor(coverage: Coverage) {
    this.#coverage = coverage;
    this.judge = new Judge(this);
    this.truth.onCommit = (conversation, barrier, before) => this.judge.committed(conversation, barrier, before);
    this.node = this.#start();
  }

  name(prefix: string): string {
    return `${prefix}${++this.#names}`;
  }

  #start(): SimNode {
    const node = new SimNode(
      this.name("node-"),
      this.truth,
      this.time,
      {
        uuid: () => `00000000-0000-7000-8000-${(++this.#uuids).toString(16).padStart(12, "0")}`,
        random: () => 0.5,
      },
      (event: DomainEvent) => this.judge.event(event, node),
    );
    node.models.onRequest = (request) => this.judge.asked(request, node);
    return node;
  }

  // -- processes

  /** The process dies; the client's connections break; another one starts. */
  kill(): void {
    this.node.kill();
    for (const zombie of this.zombies.splice(0)) zombie.kill();
    for (const { downlinks } of this.streams) for (const downlink of downlinks) downlink.vanish();
    this.#unacknowledged.length = 0;
    this.node = this.#start();
  }

  /** The process was frozen for too long and goes on; another one serves its clients. */
  freeze(): void {
    for (const zombie of this.zombies.splice(0)) zombie.kill();
    this.node.expire();
    this.zombies.push(this.node);
    this.#unacknowledged.length = 0;
    this.node = this.#start();
  }

  // -- the client's streams

  open(requestId = this.name("request-"), wireRunId?: string): SimStream {
    const generation = 1 + this.streams.filter((stream) => stream.generation.requestId === requestId).length;
    const stream: SimStream = {
      generation: {
        member,
        requestId: requestId as RequestId,
        generation,
        streamId: `${requestId}#${generation}` as StreamId,
      },
      wireRunId,
      downlinks: [],
    };
    this.streams.push(stream);
    return stream;
  }

  current({ downlinks }: SimStream): SimDownlink | undefined {
    const last = downlinks.at(-1);
    return last?.closed === false ? last : undefined;
  }

  attach(stream: SimStream): void {
    const downlink = new SimDownlink(stream.generation.streamId);
    const node = this.node;
    downlink.onFrame = (frame) => this.#frame(stream, downlink, frame, node);
    downlink.onTerminal = (terminal) => this.judge.ended(stream, downlink, terminal, node);
    stream.downlinks.push(downlink);
    this.#watch(this.node.service.attach(principal, stream.generation, downlink));
  }

  /** Replies that the client owes for blobs; `false`: none. */
  acknowledge(): boolean {
    const owed = this.#unacknowledged.splice(0);
    for (const { stream, id, blob, data } of owed) {
      this.blobs.set(blob, data);
      this.#give(
        stream,
        uplink({ message: { case: "kvClientMessage", value: { id, message: { case: "setBlobResult", value: {} } } } }),
      );
    }
    return owed.length > 0;
  }

  get owesBlobs(): boolean {
    return this.#unacknowledged.length > 0;
  }

  #frame(stream: SimStream, downlink: SimDownlink, frame: Frame, node: SimNode): void {
    if (node === this.node) {
      if (frame.kind === "exec") this.execs.push({ stream, exec: frame.exec, state: "open" });
      if (frame.kind === "abort")
        for (const open of this.execs)
          if (open.stream === stream && open.exec.id === frame.execId && open.state === "open") open.state = "aborted";
      if (frame.kind === "kv") this.#kv(stream, frame.kv);
      if (frame.kind === "checkpoint") this.state = frame.state;
    }
    this.judge.frame(stream, downlink, frame, node);
  }

  #kv(stream: SimStream, { id, message }: Extract<Frame, { kind: "kv" }>["kv"]): void {
    if (message.case === "setBlobArgs") {
      const blob = Buffer.from(message.value.blobId).toString("hex");
      this.#unacknowledged.push({ stream, id, blob, data: message.value.blobData });
      if (this.acknowledges) this.acknowledge();
    } else if (message.case === "getBlobArgs") {
      const data = this.blobs.get(Buffer.from(message.value.blobId).toString("hex"));
      this.#give(
        stream,
        uplink({
          message: {
            case: "kvClientMessage",
            value: { id, message: { case: "getBlobResult", value: data ? { blobData: data } : {} } },
          },
        }),
      );
    }
  }

  // -- what the client sends

  /** A Run request (A) or an action (B) on a stream. */
  send(
    stream: SimStream,
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
    return this.#submit(stream, carrier, uplink(message), more.original);
  }

  prewarm(stream: SimStream): void {
    this.#coverage.hit("prewarm", "A", this.phase);
    const message: ClientInit = {
      message: { case: "prewarmRequest", value: { conversationId: this.conversationId, conversationState: {} } },
    };
    void this.#submit(stream, "A", uplink(message));
  }

  #submit(stream: SimStream, carrier: Carrier, message: UplinkMessage, original?: string): Promise<Receipt> {
    if (message.kind !== "run" && message.kind !== "prewarm" && message.kind !== "action")
      throw new Error(`not a command: ${message.kind}`);
    const envelope: CommandEnvelope = {
      principal,
      generation: stream.generation,
      carrier,
      message,
      ...(original === undefined ? {} : { originalRequestId: original as RequestId }),
    };
    const receipt = this.node.service.submit(envelope);
    this.#watch(receipt.then((given) => this.judge.received(stream, carrier, given)));
    return receipt;
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
      return this.#give(stream, uplink({ message: { case: "execClientControlMessage", value: { message: control } } }));
    }
    open.state = "answered";
    this.#give(stream, resultOf(exec, how));
  }

  #give(stream: SimStream, message: UplinkMessage): void {
    const { service } = this.node;
    switch (message.kind) {
      case "exec":
        return this.#watch(service.exec(stream.generation, message.reply));
      case "execControl":
        return this.#watch(service.control(stream.generation, message.control));
      case "kv":
        return this.#watch(service.kv(stream.generation, message.reply));
      case "query":
        return this.#watch(service.query(stream.generation, message.reply));
      default:
        throw new Error(`not an answer: ${message.kind}`);
    }
  }

  #watch(promise: Promise<unknown>): void {
    const node = this.node;
    promise.catch((error: unknown) => {
      if (node.alive)
        this.judge.accuse(`the service rejected: ${error instanceof Error ? error.message : String(error)}`);
    });
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
  carries({ generation }: SimStream): boolean {
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
  wireRunId({ generation }: SimStream): string | undefined {
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

  settle(): Promise<void> {
    return turn();
  }
}

function resultOf({ id, execId, message }: ServerExec, how: "ok" | "error"): UplinkMessage {
  const answer = (result: AnswerInit): UplinkMessage =>
    uplink({ message: { case: "execClientMessage", value: { id, execId, message: result } } });
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
