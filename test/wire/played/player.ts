import { fromBinary, fromJson, toJson, type JsonObject } from "@bufbuild/protobuf";
import {
  AgentClientMessageSchema,
  AgentServerMessageSchema,
  ConversationStateStructureSchema,
} from "@chartroom/protocols/agent";
import { until } from "../../support/gateway/until.ts";
import { kindOf, unique, type WireClient, type WireStream } from "../../support/wire-client.ts";
import type { Exchange, Step } from "../exchange.ts";
import { differences, Names } from "./compare.ts";
import { endDifferences, type ExampleError } from "./ends.ts";

/** Frames that say nothing of an exchange's order; they count only where the example shows one. */
const ASIDE = new Set([
  "interactionUpdate.heartbeat",
  "interactionUpdate.tokenDelta",
  "interactionUpdate.partialToolCall",
  "conversationCheckpointUpdate",
  "kvServerMessage.setBlobArgs",
  "kvServerMessage.getBlobArgs",
]);
/** The beginning of a call is shown and asked for in either order (wire section 4.8). */
const BEGINNINGS = new Set(["interactionUpdate.toolCallStarted", "execServerMessage"]);

const isBeginning = (kind: string): boolean => BEGINNINGS.has(kind) || kind.startsWith("execServerMessage.");

/** What ours sends beyond an example, by exchange. */
const MORE: Readonly<Record<string, readonly string[]>> = {
  // a Run that is cancelled closes the cards of its open calls (lifecycle specification, section 4)
  cancel: ["interactionUpdate.toolCallCompleted"],
  // the card of a call to a tool that is not there yet
  "subagent-task": ["interactionUpdate.toolCallCompleted"],
};

/** One stream of an exchange while it is played. */
interface Played {
  readonly stream: WireStream;
  /** Indexes of the frames that were found. */
  readonly found: Set<number>;
}

/**
 * Plays an example exchange: sends what its client sends, with the ids that the server has given meanwhile, and finds in
 * what comes each frame that its server sends, by these rules:
 *
 * - Blob writes and reads are not compared one by one: which blobs a history has, and how many, is the server's own. Each
 *   is answered as the example's client answers its own, at once.
 * - A client's state is the newest checkpoint that our server sent it: opaque, sent back as it came.
 * - Frames come in the example's order. Aside stand heartbeats, token counts, growing arguments and checkpoints between
 *   Steps: where the example has one, one must be there (a checkpoint: after the frame before it). A call's card and its
 *   exec may change places, and so may those of calls of one Step.
 * - What a frame holds is compared as `compare.ts` says.
 * - The last frame is compared byte for byte in what it must hold, in the dialect's own form (`ends.ts`); nothing comes after it.
 */
export class Player {
  readonly #client: WireClient;
  readonly #names = new Names();
  readonly #streams = new Map<string, Played>();
  /** The example's request ids, and ours. */
  readonly #requests = new Map<string, string>();
  readonly #exchange: Exchange;
  readonly #own: string;
  readonly #allowed = new Set<string>();

  constructor(exchange: Exchange, client: WireClient) {
    this.#exchange = exchange;
    this.#client = client;
    this.#own = exchange.steps.find((step) => step.bidiAppend)?.bidiAppend?.requestId.requestId ?? "the only one";
  }

  /** What came so far, on all streams. */
  get kinds(): readonly string[] {
    return [...this.#streams.values()].flatMap(({ stream }) => stream.down.kinds);
  }

  /** What a server may send besides that did not take part in what went before. */
  allow(kind: string): void {
    this.#allowed.add(kind);
  }

  /** The example's id is ours as well: a server goes on with a call that another one has made. */
  keepId(id: string): void {
    this.#names.same(id, id);
  }

  /** Plays the steps for which `keep` holds; throws at the first that goes another way. */
  async play(keep: (step: Step) => boolean = () => true): Promise<void> {
    for (const step of this.#exchange.steps.filter(keep)) {
      try {
        await this.#step(step);
      } catch (error) {
        throw new Error(`step ${step.n} of ${this.#exchange.id}: ${(error as Error).message}`, { cause: error });
      }
    }
  }

  async #step(step: Step): Promise<void> {
    if (step.kind === "http") {
      // the appends' own headers are those of their stream
      if (step.path?.endsWith("BidiAppend") !== true) this.#open(requestOf(step) ?? this.#own, step.headers);
      return;
    }
    const request = requestOf(step) ?? this.#own;
    if (step.from === "network") return this.#played(request).stream.lose();
    if (step.from === "client") return this.#send(request, step);
    if (step.json !== undefined) return this.#end(request, step);
    await this.#frame(request, step);
  }

  #open(request: string, headers: Step["headers"] = {}): Played {
    const known = this.#streams.get(request);
    if (known) return known;
    const mine = unique("request");
    this.#requests.set(request, mine);
    const named = Object.entries(headers).filter(([name]) => /^x-(?:original|parent|cursor)-/u.test(name));
    const stream = this.#client.stream({
      requestId: mine,
      headers: Object.fromEntries(
        named.map(([name, value]) => [name, this.#requests.get(value) ?? this.#names.ours(value)]),
      ),
    });
    this.#names.newStream();
    const played = { stream, found: new Set<number>() };
    this.#streams.set(request, played);
    return played;
  }

  #played(request: string): Played {
    return this.#streams.get(request) ?? this.#open(request);
  }

  async #send(request: string, step: Step): Promise<void> {
    const json = structuredClone(step.message) as { [name: string]: JsonObject };
    const { stream } = this.#played(request);
    if (json["kvClientMessage"] !== undefined) return;
    const message = fromJson(AgentClientMessageSchema, renamed(json, this.#names) as JsonObject);
    const { message: body } = message;
    if (body.case === "runRequest") {
      // one conversation per playing, and the state that this server gave
      body.value.conversationId = this.#conversationOf(body.value.conversationId ?? "");
      const brings = Object.keys(json["runRequest"]?.["conversationState"] ?? {}).length > 0;
      if (brings && this.#client.state.length > 0)
        body.value.conversationState = fromBinary(ConversationStateStructureSchema, this.#client.state);
      if (body.value.conversationGroupId !== undefined)
        body.value.conversationGroupId = this.#conversationOf(body.value.conversationGroupId);
    }
    await stream.send(message);
  }

  #conversationOf(example: string): string {
    const mine = `${this.#client.conversationId}-${example}`;
    this.#names.same(example, mine);
    return mine;
  }

  async #frame(request: string, step: Step): Promise<void> {
    const example = fromJson(AgentServerMessageSchema, step.message ?? null);
    const kind = kindOf(example);
    if (kind.startsWith("kvServerMessage")) return;
    const played = this.#played(request);
    const { down } = played.stream;
    let at = -1;
    await until(
      () => (at = this.#find(played, kind)) >= 0 || down.closed,
      `${kind} (came: ${down.kinds.join(" ")})`,
      15_000,
    );
    const ours = down.messages[at];
    if (ours === undefined) throw new Error(`the stream ended without ${kind} (came: ${down.kinds.join(" ")})`);
    played.found.add(at);
    const json = toJson(AgentServerMessageSchema, example);
    const wrong = differences(json, toJson(AgentServerMessageSchema, ours), this.#names, {
      has: (id) => this.#client.blobs.has(Buffer.from(id, "base64").toString("hex")),
    });
    if (wrong.length > 0) throw new Error(`${kind} differs:\n  ${wrong.join("\n  ")}`);
  }

  /** The frame that is next by the rules above; -1: it has not come. Throws when another one is. */
  #find({ stream, found }: Played, kind: string): number {
    const { messages } = stream.down;
    const last = Math.max(-1, ...found);
    if (kind === "interactionUpdate.heartbeat") return messages.findIndex((message) => kindOf(message) === kind);
    if (ASIDE.has(kind)) return messages.findIndex((message, at) => at > last && kindOf(message) === kind);
    for (const [at, message] of messages.entries()) {
      const mine = kindOf(message);
      if (found.has(at) || (this.#aside(mine) && mine !== kind)) continue;
      if (mine === kind) return at;
      if (!(isBeginning(kind) && isBeginning(mine))) throw new Error(`${mine} came before ${kind}`);
    }
    return -1;
  }

  #aside(kind: string): boolean {
    return ASIDE.has(kind) || this.#allowed.has(kind) || MORE[this.#exchange.id]?.includes(kind) === true;
  }

  async #end(request: string, step: Step): Promise<void> {
    const { stream, found } = this.#played(request);
    const { down } = stream;
    await down.over();
    const rest = down.messages.filter((message, at) => !found.has(at) && !this.#aside(kindOf(message)));
    if (rest.length > 0) throw new Error(`more came than the example shows: ${rest.map(kindOf).join(" ")}`);
    if (down.ends.length !== 1 || down.late > 0)
      throw new Error(`${down.ends.length} ends, ${down.late} frames behind`);
    const { dialect, transport } = this.#client;
    const { error } = step.json as { error?: ExampleError };
    const wrong = down.last === undefined ? ["no last frame"] : endDifferences(dialect, error, down.last);
    if (wrong.length > 0) throw new Error(`the end differs:\n  ${wrong.join("\n  ")}`);
    const type = down.headers["content-type"];
    if (type !== CONTENT_TYPE[dialect][transport]) throw new Error(`a stream of type ${type}`);
  }
}

/** Of the stream's answer (wire section 2.4): RunSSE calls its envelopes an event stream. */
const CONTENT_TYPE = {
  connect: { run: "application/connect+proto", sse: "text/event-stream" },
  grpcWeb: { run: "application/grpc-web+proto", sse: "application/grpc-web+proto" },
} as const;

function requestOf(step: Step): string | undefined {
  return step.requestId ?? step.bidiAppend?.requestId.requestId ?? step.headers?.["x-request-id"];
}

/** A client's message with our ids in the place of the example's. */
function renamed(value: unknown, names: Names, at = ""): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => renamed(each, names, at));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, renamed(each, names, `${at}.${name}`)]),
    );
  const key = at.slice(at.lastIndexOf(".") + 1);
  if (typeof value === "string" && (key === "execId" || key === "toolCallId")) return names.ours(value);
  if (typeof value === "number" && key === "id" && at.includes("exec")) return names.oursExec(value);
  return value;
}
