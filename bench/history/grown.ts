import type {
  BlobId,
  CanonicalMessage,
  CheckpointNode,
  InputAnchor,
  MessageId,
  ProviderCallId,
  RunId,
} from "@chartroom/domain";
import {
  type Appended,
  appendResults,
  appendStep,
  type CachedRequest,
  type Chain,
  chainOf,
  comparePrefix,
  createProjector,
  EMPTY_VIEW,
  encodeCheckpoint,
  extendChain,
  extendView,
  type HeadView,
  markOf,
  modelCallId,
  openTurn,
  toolCallId,
} from "@chartroom/history";

/** Rows of one barrier. */
export interface Rows {
  readonly messages: readonly CanonicalMessage[];
  readonly checkpoints: readonly CheckpointNode[];
  readonly anchors: readonly InputAnchor[];
}

/** Messages that a turn adds: the user's, a call, its result, the answer. */
export const MESSAGES_PER_TURN = 4;
const SYSTEM = "You are a coding agent.";

/** A conversation in memory that grows turn by turn, each with one tool call; what the runtime does with the package, without a store. */
export class Grown {
  chain: Chain = chainOf([], []);
  view: HeadView = EMPTY_VIEW;
  readonly #project = createProjector({ vendor: "bench", supportsImages: true, image: () => undefined });
  readonly #blobs = new Map<BlobId, Uint8Array>();
  #state: Uint8Array | undefined;
  #last: { readonly request: CachedRequest; readonly mark: ReturnType<typeof markOf> } | undefined;
  #turns = 0;
  #rows: { messages: CanonicalMessage[]; checkpoints: CheckpointNode[]; anchors: InputAnchor[] } = empty();

  /** One turn: two model calls, each projected and compared with the one before. */
  turn(): void {
    this.#turns += 1;
    const runId = `run-${this.#turns}` as RunId;
    const place = () => ({ chain: this.chain, view: this.view, runId });
    const message = {
      messageId: `message-${this.#turns}` as MessageId,
      text: `Request ${this.#turns}: look at the next file and say what it does.`,
      mode: "agent",
      simulated: false,
      attachments: [],
      wire: new Uint8Array(),
    } as const;
    const opening = openTurn({ ...place(), input: { message, parts: [{ type: "text", text: message.text }] } });
    if (opening.kind !== "opened") throw new Error("said before");
    this.#commit(opening, opening.anchors);
    this.#call();
    const call = {
      id: toolCallId(runId, 1, 0),
      providerId: "call_0" as ProviderCallId,
      index: 0,
      name: "Read",
      arguments: `{"path":"/ws/demo/src/file-${this.#turns}.ts"}`,
    };
    const pass = (step: number) => ({ modelCallId: modelCallId(runId, step, 1), step, partial: false });
    this.#commit(appendStep(place(), { blocks: [{ type: "text", text: "I look." }], calls: [call], ...pass(1) }));
    const text = `${this.#turns} `.padEnd(1_000, "export const value = 1;\n");
    this.#commit(appendResults(place(), [{ callId: call.id, toolName: "Read", text, isError: false }]));
    this.#call();
    this.#commit(
      appendStep(place(), { blocks: [{ type: "text", text: "It exports a value." }], calls: [], ...pass(2) }),
    );
  }

  /** The head as a checkpoint, from the one before; gives the bytes of its state. */
  checkpoint(): number {
    const made = encodeCheckpoint({
      system: SYSTEM,
      view: this.view,
      blob: (id) => this.#blobs.get(id),
      mode: "agent",
      ...(this.#state ? { previous: this.#state } : {}),
    });
    if (!made.ok) throw new Error(made.kind);
    for (const { id, data } of made.blobs) this.#blobs.set(id, data);
    this.#state = made.state;
    return made.state.byteLength;
  }

  /** The next checkpoint is made from nothing. */
  forgetState(): void {
    this.#state = undefined;
  }

  get state(): Uint8Array {
    return this.#state ?? new Uint8Array();
  }

  /** What was committed since the last time, for a store. */
  take(): Rows {
    const rows = this.#rows;
    this.#rows = empty();
    return rows;
  }

  #call(): void {
    const projection = this.#project(this.view.messages);
    const request: CachedRequest = {
      ...{ system: SYSTEM, tools: [], messages: projection.messages, model: "bench" },
      get sources() {
        return projection.sources;
      },
    };
    const before = this.#last;
    const report = before && comparePrefix(before.request, request);
    if (report?.brokenBy !== undefined) throw new Error(`the prefix broke: ${report.brokenBy}`);
    this.#last = { request, mark: markOf(request, this.view.head!, before?.mark) };
  }

  #commit({ node, messages }: Appended, anchors: readonly InputAnchor[] = []): void {
    if (!node) throw new Error("nothing to write");
    this.chain = extendChain(this.chain, [node], anchors);
    this.view = extendView(this.view, node, messages);
    this.#rows.messages.push(...messages);
    this.#rows.checkpoints.push(node);
    this.#rows.anchors.push(...anchors);
  }
}

function empty(): { messages: CanonicalMessage[]; checkpoints: CheckpointNode[]; anchors: InputAnchor[] } {
  return { messages: [], checkpoints: [], anchors: [] };
}
