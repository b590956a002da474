import { readState, referencedBlobs } from "@chartroom/history";
import type { Barrier, DomainEvent, FailureCode, ModelRequest, Receipt, RunRow, Terminal } from "@chartroom/domain";
import type { Carrier } from "../../lifecycle/table.ts";
import { hasEnded, type MemoryConversation } from "../../support/memory-conversation.ts";
import { settings, type ServingNode } from "./node.ts";
import type { Frame, Link } from "./sim-downlink.ts";
import type { ClientStream, Input, World } from "./world.ts";

/** Ends of a transport that say nothing about its Run. */
export const ofTransport: readonly FailureCode[] = [
  "REPLACED",
  "STORE_UNAVAILABLE",
  "DRAINING",
  "NOT_OWNER",
  "TRANSPORT_WAIT_EXPIRED",
];
const shows: readonly string[] = [
  "textDelta",
  "thinkingDelta",
  "toolCallStarted",
  "partialToolCall",
  "toolCallDelta",
  "toolCallCompleted",
];

/** Looks at all that is written, shown and asked, and finds what the ten invariants of the lifecycle forbid. */
export class Judge {
  readonly #world: World;
  readonly #faults: string[] = [];
  readonly #terminals = new Map<string, string>();
  /** Looked at when the receipts that belong to them have come. */
  readonly #unjudged: { readonly stream: ClientStream; readonly code: string; readonly runs: readonly RunRow[] }[] = [];
  #final = false;
  /** What happened that may be the reason of an outcome. */
  readonly causes = new Set<string>();
  /** Runs that each generation was told to carry. */
  readonly #carried = new Map<string, Set<string>>();
  /** Generations whose command was refused because the store was away. */
  readonly #unbound = new Set<string>();
  /** Generations that were answered with an empty finished turn. */
  readonly #finished = new Set<string>();
  /** Injections that the client was told are queued. */
  readonly queued = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  accuse(fault: string): void {
    this.#faults.push(fault);
  }
  /** Throws what was found. */
  check(): void {
    for (const late of this.#unjudged.splice(0)) if (!this.#known(late)) this.#unjudged.push(late);
    if (this.#faults.length > 0) throw new Error(this.#faults.join("\n"));
  }

  /** A terminal tells an outcome that a Run of its generation had in the store at that moment; `false`: not known yet. */
  #known({ stream, code, runs }: { stream: ClientStream; code: string; runs: readonly RunRow[] }): boolean {
    const { streamId } = stream.generation;
    // an empty finished turn has no Run
    if (code === "completed" && this.#finished.has(streamId)) return true;
    const carried = this.#carriedBy(stream);
    let own = runs.filter((run) => carried.has(run.runId) || this.#world.isOf(stream, run));
    if (own.length === 0 && !this.#final) return false;
    // the receipt that names the Run died with its process, or the store could not take that the stream is its own
    if (own.length === 0 && (this.causes.has("process") || this.#unbound.has(streamId))) own = [...runs];
    const says = ({ status, failureCode }: RunRow): boolean =>
      code === "completed" ? status === "completed" : failureCode === code;
    if (!own.some(says)) this.accuse(`1: ${streamId} ended as ${code}, and no Run of it has that outcome in the store`);
    return true;
  }

  // -- the store

  committed(conversation: MemoryConversation, barrier: Barrier, before: readonly RunRow[]): void {
    const rows = [...conversation.runs.values()];
    const running = rows.filter(({ status }) => status === "running");
    if (running.length > 1) this.accuse(`5: ${running.length} Runs are active`);
    for (const { runId, status } of barrier.runsChanged ?? []) {
      const row = before.find((run) => run.runId === runId);
      if (row && hasEnded(row) && status !== undefined && status !== row.status)
        this.accuse(`3: Run ${runId} was ${row.status} and was to become ${status}`);
    }
    for (const row of rows) {
      const was = before.find(({ runId }) => runId === row.runId);
      if (hasEnded(row) && (!was || !hasEnded(was))) this.#outcome(row);
    }
  }

  /** An outcome needs a cause; the loss of a transport is none. */
  #outcome({ runId, status, failureCode, acceptedAt }: RunRow): void {
    const { causes } = this;
    const passed = this.#world.time.now - acceptedAt;
    const storeTrouble = causes.has("store");
    const holds: Partial<Record<string, boolean>> = {
      completed: causes.has("finish"),
      cancelled: causes.has("cancel"),
      superseded: causes.has("message"),
      PARK_EXPIRED: passed >= settings.parkedRunTtlMs,
      PROVIDER_SERVER: causes.has("fail server"),
      PROVIDER_AUTH: causes.has("fail auth"),
      CONTEXT_TOO_LONG: causes.has("overflow"),
      PROVIDER_TIMEOUT: passed >= settings.modelMs,
      PREPARE_TIMEOUT: passed >= settings.prepareMs,
      PREPARE_FAILED: storeTrouble,
      INTERNAL: storeTrouble,
    };
    const cause = status === "failed" ? (failureCode ?? "") : status;
    if (holds[cause] !== true) this.accuse(`4: Run ${runId} ended as ${status} ${failureCode ?? ""} without a cause`);
  }

  // -- the process

  event(event: DomainEvent, node: ServingNode): void {
    if (node !== this.#world.node) return;
    if (event.type === "chart.error" && !this.causes.has("store")) this.accuse(`chart error: ${event.message}`);
    if (event.type === "history.related" && event.relation === "rewind") this.causes.add("rewind");
    if (event.type === "chart.unhandled") this.#world.unhandled(event.event, event.state);
  }

  received(stream: ClientStream, carrier: Carrier, receipt: Receipt): void {
    if (receipt.kind === "run") this.#carriedBy(stream).add(receipt.runId);
    if (receipt.kind === "finishedTurn") this.#finished.add(stream.generation.streamId);
    if (receipt.kind !== "refused") return;
    const { code } = receipt.failure;
    const away = code === "STORE_UNAVAILABLE" || code === "NOT_OWNER" || code === "INTERNAL";
    if (away && (this.causes.has("store") || this.causes.has("process")))
      return void this.#unbound.add(stream.generation.streamId);
    this.accuse(`a command on ${carrier} was refused: ${code}`);
  }

  #carriedBy({ generation }: ClientStream): Set<string> {
    const found = this.#carried.get(generation.streamId) ?? new Set();
    this.#carried.set(generation.streamId, found);
    return found;
  }

  // -- the model

  asked(request: ModelRequest, node: ServingNode): void {
    const open = node.models.open.filter(({ aborted }) => !aborted);
    if (open.length > 0) this.accuse("5: a second model call of the conversation at a time");
    for (const [at, message] of request.messages.entries()) {
      if (message.role !== "assistant" || message.calls.length === 0) continue;
      const next = request.messages[at + 1];
      const results = next?.role === "tool" ? next.results.map(({ callId }) => callId).toSorted() : [];
      const calls = message.calls.map(({ id }) => id).toSorted();
      if (JSON.stringify(results) !== JSON.stringify(calls))
        this.accuse(`6: calls ${calls.join(" ")} have results ${results.join(" ")} before the next model call`);
    }
  }

  // -- the wire

  frame(stream: ClientStream, downlink: Link, frame: Frame, node: ServingNode): void {
    if (node !== this.#world.node) return;
    switch (frame.kind) {
      case "checkpoint":
        return this.#checkpoint(frame.state);
      case "exec": {
        const { message } = frame.exec;
        const callId = message.value && "toolCallId" in message.value ? message.value.toolCallId : undefined;
        if (callId !== undefined && this.#world.isSettled(callId))
          this.accuse(`7: call ${callId} has its result and was dispatched again`);
        return;
      }
      case "update":
        if (frame.name === "turnEnded") this.#turnEnded(stream, downlink);
        if (frame.injection?.state === "queued" || frame.injection?.state === "queuedForNextTurn")
          this.queued.add(`[${frame.injection.id}]`);
        return;
      default:
    }
  }

  #checkpoint(state: Uint8Array): void {
    const { blobs } = this.#world;
    const read = readState(state);
    if (!read.ok) return this.accuse("2: a checkpoint that cannot be read");
    const missing = referencedBlobs(read.outline, (id) => blobs.get(id)).filter((id) => !blobs.has(id));
    if (missing.length > 0) this.accuse(`2: a checkpoint names ${missing.length} blobs that were not acknowledged`);
  }

  #turnEnded(stream: ClientStream, { frames }: Link): void {
    if (this.causes.has("blobs") || !this.#world.answersArrive(stream) || this.#isPast(stream)) return;
    let checkpoint = -1;
    let shown = -1;
    for (let at = frames.length - 2; at >= 0 && (checkpoint < 0 || shown < 0); at--) {
      const frame = frames[at];
      if (frame?.kind === "update" && frame.name === "turnEnded") break;
      if (frame?.kind === "checkpoint" && checkpoint < 0) checkpoint = at;
      if (frame?.kind === "update" && shows.includes(frame.name) && shown < 0) shown = at;
    }
    const { streamId } = stream.generation;
    if (shown > checkpoint) this.accuse(`2: on ${streamId} something was shown after the final checkpoint`);
  }

  /** A later Run has moved the head: what the stream tells is no longer where the conversation is. */
  #isPast(stream: ClientStream): boolean {
    const carried = this.#carriedBy(stream);
    const stored = [...(this.#world.truth.conversation(this.#world.conversationId)?.runs.values() ?? [])].at(-1);
    // one that has begun in memory has moved it before its first commit
    const begun = this.#world.node.service.registry.find(this.#world.conversationId)?.currentRun?.row;
    return [stored, begun].some((last) => !!last && !carried.has(last.runId) && !this.#world.isOf(stream, last));
  }

  ended(stream: ClientStream, downlink: Link, terminal: Terminal, node: ServingNode): void {
    const { truth, conversationId } = this.#world;
    const { streamId } = stream.generation;
    const code = terminal.kind === "completed" ? "completed" : terminal.failure.code;
    const stored = truth.conversation(conversationId);
    const empty = code === "completed" && this.#finished.has(streamId);
    if (this.#world.isRobbed(node, code) && !empty)
      this.accuse(`1: a node that was robbed said ${code} on ${streamId}`);
    if (ofTransport.includes(code as FailureCode)) return;
    const life = this.#world.lifeOf(stream);
    const before = this.#terminals.get(life);
    if (before !== undefined && before !== code) this.accuse(`1: ${streamId} ended as ${before} and as ${code}`);
    this.#terminals.set(life, code);
    this.#unjudged.push({ stream, code, runs: [...(stored?.runs.values() ?? [])] });
    const last = downlink.frames.findLast((frame) => frame.kind !== "kv" && frame.kind !== "other");
    if (code === "completed" && !(last?.kind === "update" && last.name === "turnEnded"))
      this.accuse(`2: ${streamId} was completed without turn_ended as its last word`);
  }

  // -- the end of the schedule

  /** Its Run was stopped, whether it had begun or not, and its client never went back. */
  #wasStopped({ receipt, command }: Input): boolean {
    if (receipt?.kind !== "run" || command === "summarize" || this.causes.has("rewind")) return false;
    const run = this.#world.truth.conversation(this.#world.conversationId)?.runs.get(receipt.runId);
    return run?.status === "cancelled" || run?.status === "superseded" || run?.failureCode === "PARK_EXPIRED";
  }

  /** All has come to rest, and a last message was answered. */
  finale(): void {
    this.#final = true;
    const { truth, conversationId, inputs } = this.#world;
    const stored = truth.conversation(conversationId);
    if (!stored) return;
    if (stored.inbox.size > 0) this.accuse(`9: ${stored.inbox.size} rows are left in the inbox`);
    for (const row of stored.runs.values())
      if (row.endedAt === undefined) this.accuse(`8: Run ${row.runId} is ${row.status} for ever`);
    for (const call of stored.calls.values())
      if (call.status === "open") this.accuse(`6: call ${call.callId} has no result`);
    const texts = [...stored.messages.values()].map(({ content }) => JSON.stringify(content));
    for (const input of inputs) {
      const count = texts.filter((text) => text.includes(input.marker)).length;
      const { receipt, marker } = input;
      const taken = receipt?.kind === "acknowledged" || receipt?.kind === "finishedTurn";
      // of an injection the client is told; everything else that was answered is kept
      const kept = input.command.startsWith("inject")
        ? this.queued.has(marker)
        : input.carrier === "B" || input.command === "completion";
      const lasting = taken && kept;
      if (lasting && count === 0) this.accuse(`9: ${input.command} ${marker} was acknowledged and is lost`);
      if (count === 0 && this.#wasStopped(input)) this.accuse(`9: ${input.command} ${marker} was said, and is lost`);
      if (count > 1 && !this.#world.sentAgain(input)) this.accuse(`9: ${marker} was applied ${count} times`);
    }
  }
}
