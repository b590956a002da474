import type { CommandEnvelope, FailureCode, Lease, Receipt, RunRow } from "@chartroom/domain";
import { agent, aiserver, create, encodeFrame, toBinary } from "@chartroom/protocol";
import type { Carrier } from "../../lifecycle/table.ts";
import { append, RUN, RUN_SSE } from "../../support/gateway/agent-client.ts";
import type { Reply } from "../../support/gateway/peer.ts";
import { turn } from "../../support/turn.ts";
import type { WireTransport } from "../../support/wire-client.ts";
import type { Coverage } from "../lifecycle/coverage.ts";
import { ofTransport } from "../lifecycle/judge.ts";
import type { ServingNode } from "../lifecycle/node.ts";
import type { Link } from "../lifecycle/sim-downlink.ts";
import type { ClientInit } from "../lifecycle/wire.ts";
import { type ClientStream, type Input, member, World } from "../lifecycle/world.ts";
import { Mirror } from "./mirror.ts";
import type { NodeStore, NodeStores } from "./node-stores.ts";
import { WireLink } from "./wire-link.ts";
import { WireNode } from "./wire-node.ts";

type Headers = Readonly<Record<string, string>>;

/** A command on its way, until the conversations have it. */
interface Sent {
  readonly requestId: string;
  readonly bytes: Uint8Array;
  readonly resolve: (receipt: Receipt) => void;
}

/** Turns of the event loop without traffic after which nothing is on its way: both ends of all sockets are in this process. */
const QUIET_TURNS = 12;
/** Real time that the server and its database may take for one event. */
const STUCK_MS = 30_000;

let worlds = 0;
let uuids = 0;

/**
 * The world with a server behind sockets and Postgres as the store. What a schedule says is done as a client of this transport
 * can do it:
 *
 * - over HTTP/1.1 the two directions are apart: RunSSE before, after, again or never; each message an append, numbered from 0 or
 *   1; an action for a stream whose Run has ended is its next append, with the downlink opened again;
 * - over HTTP/2 they are one call: a downlink that comes first or last comes with its Run request, one that never comes is a
 *   client that hangs up behind its request, and one that is opened again sends the request again. Without a call nothing goes
 *   up: answers and actions for a stream that was lost or has ended are not sent;
 * - time is the schedule's: the server's clock is a port, and its timers run when the schedule says so, each after all that the
 *   one before it led to. Nothing of the server is shortened. Connections, the database and the leases in it know real time alone;
 * - a process that is killed or frozen is a server of this process whose store answers nothing any more, or whose lease has ended;
 *   the next one listens on a port of its own. (`test/failure` kills and freezes real processes.)
 */
export class WireWorld extends World {
  readonly truth = new Mirror();
  node!: WireNode;
  readonly #stores: NodeStores;
  readonly #taken: NodeStore[] = [];
  readonly #transport: WireTransport;
  /** Number of the next append, by request id. */
  readonly #next = new Map<string, number>();
  /** What opened a stream over HTTP/2. */
  readonly #openings = new Map<ClientStream, { readonly bytes: Uint8Array; readonly headers: Headers }>();
  /** Its Run request went out in this very moment, and its downlink with it. */
  #fresh: ClientStream | undefined;
  #sent: Sent[] = [];
  /** Streams whose Run request went out more than once. */
  readonly #repeated = new Set<ClientStream>();
  /** Appends without an answer, by the process that has them. */
  readonly #appends = new Map<ServingNode, number>();
  #traffic = 0;
  /** Calls that had their result when all was quiet. */
  readonly #settledCalls = new Set<string>();
  /** Processes that another one has robbed, and the outcomes that there were by then. */
  readonly #robbed = new Map<ServingNode, ReadonlySet<string>>();

  static async open(coverage: Coverage, stores: NodeStores, transport: WireTransport): Promise<WireWorld> {
    const world = new WireWorld(coverage, stores, transport);
    world.node = await world.#start();
    return world;
  }

  private constructor(coverage: Coverage, stores: NodeStores, transport: WireTransport) {
    super(coverage, `${++worlds}-`);
    this.#stores = stores;
    this.#transport = transport;
    this.truth.onCommit = (conversation, barrier, before) => this.judge.committed(conversation, barrier, before);
  }

  async #start(): Promise<WireNode> {
    const store = await this.#stores.take();
    this.#taken.push(store);
    const node: WireNode = await WireNode.start({
      store,
      transport: this.#transport,
      mirror: this.truth,
      conversationId: this.conversationId,
      clock: this.time.node(),
      entropy: {
        uuid: () => `00000000-0000-7000-8000-${(++uuids).toString(16).padStart(12, "0")}`,
        random: () => 0.5,
      },
      onEvent: (event) => this.heard(event, node),
      onTraffic: () => this.#traffic++,
      onReceipt: (envelope, receipt) => this.#received(envelope, receipt),
      onReport: (cause) => {
        // a store that is away is told to the log
        if (!this.judge.causes.has("store")) this.judge.accuse(`the gateway did not expect ${String(cause)}`);
      },
    });
    node.models.onRequest = (request) => {
      this.#traffic++;
      this.judge.asked(request, node);
    };
    return node;
  }

  // -- processes

  async kill(): Promise<void> {
    const gone = [this.node, ...(this.zombies.splice(0) as WireNode[])];
    for (const node of gone) node.kill();
    for (const { downlinks } of this.streams) for (const downlink of downlinks) downlink.vanish();
    this.owesNothing();
    await this.truth.answered();
    for (const node of gone) await node.gone();
    this.node = await this.#start();
  }

  async freeze(): Promise<void> {
    const gone = this.zombies.splice(0) as WireNode[];
    for (const node of gone) node.kill();
    await this.truth.answered();
    for (const node of gone) await node.gone();
    await this.node.expire();
    this.zombies.push(this.node);
    this.owesNothing();
    this.node = await this.#start();
  }

  async close(): Promise<void> {
    const all = [this.node, ...(this.zombies as WireNode[])];
    for (const node of all) node.kill();
    await this.truth.answered();
    for (const node of all) await node.gone();
    await this.#stores.giveBack(this.#taken);
  }

  // -- downlinks

  protected override streamIdOf(requestId: string): string {
    // a client does not know how its server counts generations
    return requestId;
  }

  attach(stream: ClientStream): void {
    if (this.#transport === "sse") return this.#runSse(stream);
    const opening = this.#openings.get(stream);
    // before its Run request there is nothing to open it with; behind it, it is there
    if (!opening || this.#fresh === stream) return;
    this.#repeated.add(stream);
    this.#run(stream, opening.bytes, opening.headers);
  }

  /** The newest call that is open: one that was opened again and refused leaves the one before it. */
  override current({ downlinks }: ClientStream): Link | undefined {
    return downlinks.findLast(({ closed }) => !closed);
  }

  override answersArrive(stream: ClientStream): boolean {
    return this.#transport === "run" || this.#uses(stream) === 1;
  }
  #uses({ generation }: ClientStream): number {
    return this.streams.filter((one) => one.generation.requestId === generation.requestId).length;
  }

  override sentAgain(input: Input): boolean {
    const anew = input.command === "startPlan" || input.command === "executePlan";
    return super.sentAgain(input) || (anew && this.#repeated.has(input.stream));
  }

  hangUp(stream: ClientStream): void {
    const link = this.#fresh === stream ? this.current(stream) : undefined;
    if (link) setImmediate(() => link.lose());
  }

  next({ generation }: ClientStream): ClientStream | undefined {
    if (this.#transport === "run") return undefined;
    const stream = this.open(generation.requestId);
    this.attach(stream);
    return stream;
  }

  #runSse(stream: ClientStream): void {
    const { requestId } = stream.generation;
    const request = toBinary(aiserver.BidiRequestIdSchema, create(aiserver.BidiRequestIdSchema, { requestId }));
    this.#link(stream, RUN_SSE, {}).call.up.end(encodeFrame(0, request));
  }

  #run(stream: ClientStream, bytes: Uint8Array, headers: Headers): void {
    this.#link(stream, RUN, headers).call.up.write(encodeFrame(0, bytes));
  }

  #link(stream: ClientStream, path: string, headers: Headers): WireLink {
    const { node } = this;
    const call = node.peer.open("POST", path, {
      "content-type": "application/connect+proto",
      "connect-protocol-version": "1",
      "x-request-id": stream.generation.requestId,
      ...headers,
    });
    const link: WireLink = new WireLink(call, {
      traffic: () => this.#traffic++,
      frame: (frame) => this.frame(stream, link, frame, node),
      ended: (terminal) => {
        this.judge.ended(stream, link, terminal, node);
        // a client closes its side when the server has closed the other
        if (this.#transport === "run") call.up.end();
      },
      wrong: (what) => this.judge.accuse(`${what}, on ${stream.generation.requestId}`),
    });
    stream.downlinks.push(link);
    return link;
  }

  // -- what the client sends

  protected submit(
    stream: ClientStream,
    carrier: Carrier,
    message: ClientInit,
    original: string | undefined,
  ): Promise<Receipt> {
    const { requestId } = stream.generation;
    const bytes = toBinary(agent.AgentClientMessageSchema, create(agent.AgentClientMessageSchema, message));
    const headers: Headers = original === undefined ? {} : { "x-original-request-id": original };
    const receipt = new Promise<Receipt>((resolve) => this.#sent.push({ requestId, bytes, resolve }));
    if (this.#transport === "sse") {
      // a Run request begins a sequence of its own
      if (carrier === "A") this.#next.set(requestId, stream.generation.generation % 2);
      this.#append(stream, bytes, headers);
    } else if (carrier === "A") {
      this.#openings.set(stream, { bytes, headers });
      this.#run(stream, bytes, headers);
      this.#fresh = stream;
      queueMicrotask(() => (this.#fresh = undefined));
    } else this.#up(stream, bytes);
    return receipt;
  }

  protected give(stream: ClientStream, message: ClientInit): void {
    const bytes = toBinary(agent.AgentClientMessageSchema, create(agent.AgentClientMessageSchema, message));
    if (this.#transport === "run") return this.#up(stream, bytes);
    // a client that uses a request id again has given the use before it up
    const newest = this.streams.findLast((one) => one.generation.requestId === stream.generation.requestId);
    if (newest !== stream) return;
    this.#append(stream, bytes, {}, message.message?.case === "kvClientMessage");
  }

  #up(stream: ClientStream, bytes: Uint8Array): void {
    const link = this.current(stream) as WireLink | undefined;
    if (link?.call.up.writable === true) link.call.up.write(encodeFrame(0, bytes));
  }

  #append(stream: ClientStream, bytes: Uint8Array, headers: Headers, blob = false): void {
    const { requestId } = stream.generation;
    const seqno = this.#next.get(requestId) ?? 0;
    this.#next.set(requestId, seqno + 1);
    const { node } = this;
    const open = (more: number): void => void this.#appends.set(node, (this.#appends.get(node) ?? 0) + more);
    open(1);
    append(node.peer, requestId, seqno, bytes, headers)
      .then(
        (reply) => this.#answered(reply, requestId) || !blob || this.judge.causes.add("blobs"),
        () => blob && this.judge.causes.add("blobs"),
      )
      .finally(() => {
        open(-1);
        this.#traffic++;
      });
  }

  /** An append fails only when what it brought could not be kept: the store is away, or the process. */
  #answered({ status, body }: Reply, requestId: string): boolean {
    if (status === 200) {
      if (body.byteLength > 0) this.judge.accuse(`an append of ${requestId} was answered with a body`);
      return true;
    }
    const { causes } = this.judge;
    if (!causes.has("store") && !causes.has("process"))
      this.judge.accuse(`an append of ${requestId} was answered ${status}: ${body.toString()}`);
    return false;
  }

  #received({ generation, carrier, message }: CommandEnvelope, receipt: Receipt): void {
    const { requestId } = generation;
    const at = this.#sent.findIndex(
      (one) => one.requestId === requestId && Buffer.compare(one.bytes, message.raw) === 0,
    );
    const [sent] = at < 0 ? [] : this.#sent.splice(at, 1);
    sent?.resolve(receipt);
    const stream = this.streams.findLast((one) => one.generation.requestId === requestId);
    if (stream) this.judge.received(stream, carrier, receipt);
  }

  // -- what the conversation is

  isOf({ generation: { requestId } }: ClientStream, run: Pick<RunRow, "runId" | "requestId">): boolean {
    if (run.requestId === requestId) return true;
    return this.truth.conversation(this.conversationId)?.claimsOf(requestId).has(run.runId) === true;
  }
  /** A client whose request id has more than one use, or that has sent its request again, cannot tell of which one it hears. */
  lifeOf(stream: ClientStream): string {
    const { requestId, generation } = stream.generation;
    if (this.#repeated.has(stream) || (this.#transport === "sse" && this.#uses(stream) > 1))
      return this.name(`${requestId} `);
    const runs = [...(this.truth.conversation(this.conversationId)?.runs.values() ?? [])];
    return `${requestId} ${generation} with ${runs.filter((run) => this.isOf(stream, run)).length} Runs`;
  }
  isSettled(callId: string): boolean {
    return this.#settledCalls.has(callId);
  }
  /** It may still tell that it is not the owner, and what had ended before. */
  isRobbed(node: ServingNode, says: string): boolean {
    const known = this.#robbed.get(node);
    return known !== undefined && !known.has(says) && !ofTransport.includes(says as FailureCode);
  }

  override carries(stream: ClientStream): boolean {
    const live = this.node.service.registry.find(this.conversationId);
    const run = this.#runOf(stream);
    if (live && run) return !run.ended;
    const rows = [...(this.truth.conversation(this.conversationId)?.runs.values() ?? [])];
    return rows.some((row) => this.isOf(stream, row) && row.endedAt === undefined);
  }
  override wireRunId(stream: ClientStream): string | undefined {
    return this.#runOf(stream)?.row.wireRunIds[0];
  }
  /** The Run in memory that the newest generation of a request id carries. */
  #runOf({ generation }: ClientStream) {
    const live = this.node.service.registry.find(this.conversationId);
    const carried = [...(live?.streams.values() ?? [])].findLast(
      (one) => one.generation.requestId === generation.requestId,
    );
    return carried && live?.runs.get(carried.runId);
  }

  async settle(): Promise<void> {
    const end = performance.now() + STUCK_MS;
    let seen = -1;
    for (let still = 0; still < QUIET_TURNS; still++) {
      if (this.truth.busy > 0) await this.truth.answered();
      await turn();
      const traffic = this.#traffic + this.truth.traffic;
      if (traffic !== seen || this.truth.busy > 0) still = 0;
      seen = traffic;
      if (performance.now() > end) throw new Error("the server does not come to rest");
    }
    const stored = this.truth.conversation(this.conversationId);
    for (const { callId, status } of stored?.calls.values() ?? [])
      if (status === "settled") this.#settledCalls.add(callId);
    const outcomes = [...(stored?.runs.values() ?? [])].map(({ status, failureCode }) => failureCode ?? status);
    for (const zombie of this.zombies)
      if (stored?.owner !== zombie.id && !this.#robbed.has(zombie)) this.#robbed.set(zombie, new Set(outcomes));
  }

  // -- the end of the schedule

  /** The database holds what the judge has seen written, and the history of the branch has one result for each call. */
  async finale(): Promise<void> {
    const { judge, conversationId } = this;
    // what waits for a number that a dead process has swallowed waits 60 s
    if (this.#appends.get(this.node)) await this.time.advance(60_001);
    const open = this.#appends.get(this.node) ?? 0;
    if (open > 0) judge.accuse(`${open} appends were never answered`);
    const mine = this.truth.conversation(conversationId);
    const view = await this.node.database.inspect(conversationId);
    if (!mine || !view) return judge.accuse("the conversation is not in the database");
    const runs = (rows: Iterable<RunRow>): string =>
      [...rows]
        .map((row) => `${row.runId} ${row.status} ${row.failureCode ?? ""} ${row.requestId} ${row.delivered}`)
        .toSorted((one, other) => one.localeCompare(other))
        .join("; ");
    if (runs(view.runs) !== runs(mine.runs.values())) judge.accuse(`10: Runs in the database: ${runs(view.runs)}`);
    if (view.head !== mine.head) judge.accuse(`10: the head in the database is ${view.head}`);
    if (view.messages !== mine.messages.size) judge.accuse(`10: ${view.messages} messages in the database`);
    if (view.journal.length !== mine.journal.size) judge.accuse(`10: ${view.journal.length} rows in the journal`);
    const fences = view.journal.map(({ fence }) => fence);
    if (fences.some((fence, at) => fence < (fences[at - 1] ?? 0))) judge.accuse("5: the fences of the journal go back");
    await this.#history({ conversationId, member, fence: view.fence });
  }

  async #history(lease: Lease): Promise<void> {
    const { database } = this.node;
    const { judge, truth } = this;
    const head = truth.conversation(this.conversationId)?.head;
    const messages = head === undefined ? [] : await database.messages(lease, head);
    const results = messages.flatMap(({ content }) => (content.kind === "toolResult" ? [content.result] : []));
    for (const { content } of messages)
      for (const { id } of content.kind === "assistant" ? content.record.calls : []) {
        const count = results.filter(({ callId }) => callId === id).length;
        if (count !== 1) judge.accuse(`6: call ${id} has ${count} results in the history of the database`);
      }
    for (const { runId } of truth.conversation(this.conversationId)?.runs.values() ?? [])
      for (const { callId, status } of await database.toolCalls(lease, runId))
        if (status === "open") judge.accuse(`6: call ${callId} has no result in the database`);
  }
}
