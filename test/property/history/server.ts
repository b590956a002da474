import type {
  Blob,
  BlobId,
  CanonicalMessage,
  CheckpointId,
  HistoryId,
  InputAnchor,
  RunId,
  UserMessage,
} from "@chartroom/domain";
import {
  type Appended,
  adopt,
  type Chain,
  chainOf,
  createProjector,
  decodeCheckpoint,
  dropState,
  EMPTY_VIEW,
  encodeCheckpoint,
  extendChain,
  extendView,
  headView,
  type HeadView,
  type Place,
  type Projection,
  type ProjectOptions,
  readState,
  relate,
} from "@chartroom/history";

export const SYSTEM = "You are a coding agent.";

/** How the server under test projects; a mutation replaces it. */
export type Project = (messages: readonly CanonicalMessage[], options: ProjectOptions) => Projection;

/**
 * A conversation on one server: rows, nodes and blobs as a database holds them, and what an activation keeps in memory.
 * It does what a runtime does with the answers of the package, and nothing else.
 */
export class Server {
  readonly rows = new Map<HistoryId, CanonicalMessage>();
  readonly blobs = new Map<BlobId, Uint8Array>();
  /** Blobs that the client does not have yet. */
  readonly unsent = new Map<BlobId, Uint8Array>();
  readonly userMessages = new Map<HistoryId, Uint8Array>();
  chain: Chain = chainOf([], []);
  view: HeadView = EMPTY_VIEW;
  /** State of the head that was encoded last on this branch. */
  state: Uint8Array | undefined;
  project: (messages: readonly CanonicalMessage[]) => Projection;

  /** The blobs of the connected client, for what the server does not have. */
  readonly client: ReadonlyMap<BlobId, Uint8Array>;

  constructor(client: ReadonlyMap<BlobId, Uint8Array>, project?: Project) {
    this.client = client;
    const options: ProjectOptions = { vendor: "here", supportsImages: true, image: (id) => this.blob(id) };
    this.project = project === undefined ? createProjector(options) : (messages) => project(messages, options);
  }

  place(run: RunId): Place {
    return { chain: this.chain, view: this.view, runId: run };
  }

  /** The database's part: a row or node that is there already stands. */
  commit(appended: Appended, anchors: readonly InputAnchor[] = []): void {
    const { node } = appended;
    if (node === undefined) return;
    for (const message of appended.messages) if (!this.rows.has(message.id)) this.rows.set(message.id, message);
    this.chain = extendChain(this.chain, [node], anchors);
    this.view = extendView(
      this.view,
      node,
      node.added.map((id) => this.rows.get(id)!),
    );
  }

  moveTo(head: CheckpointId | undefined): void {
    const made = headView(this.chain, head, this.rows.values());
    if (!made.ok) throw new Error(`rows are missing: ${made.missing.join(" ")}`);
    this.view = made.view;
  }

  /** Everything in memory is lost, the states by which a client is recognised included; the database stays. */
  restart(): void {
    for (const id of this.chain.nodes.keys()) dropState(this.chain, id);
    this.chain = chainOf([...this.chain.nodes.values()], [...this.chain.anchors]);
    this.moveTo(this.view.head);
  }

  /** Encodes the head on top of the branch's last state. */
  encode(): { readonly state: Uint8Array; readonly blobs: readonly Blob[]; readonly rewritten: boolean } {
    const made = encodeCheckpoint({
      system: SYSTEM,
      view: this.view,
      blob: (id) => this.blob(id),
      mode: "agent",
      userMessages: this.userMessages,
      requestId: "request",
      pending: { startedAtMs: 1_000, contract: (name) => ({ toolIdentifier: name.toUpperCase(), isDynamic: false }) },
      ...(this.state === undefined ? {} : { previous: this.state }),
    });
    if (!made.ok) throw new Error(`cannot encode: ${JSON.stringify(made)}`);
    this.store(made.blobs);
    this.state = made.state;
    return made;
  }

  publish(delivered: boolean): ReturnType<Server["encode"]> {
    const made = this.encode();
    const node = this.chain.nodes.get(this.view.head!)!;
    this.chain = extendChain(this.chain, [{ ...node, wireState: made.state, delivered }]);
    return made;
  }

  /** Puts the head where the client stands; gives the name of the relation. */
  takeState(state: Uint8Array, message?: UserMessage): string {
    const read = readState(state);
    if (!read.ok) throw new Error("malformed");
    const relation = relate(read.outline, this.chain, this.view.head, { message });
    switch (relation.kind) {
      case "new":
      case "continue":
      case "stale":
        return relation.kind;
      case "rewind":
        this.moveTo(relation.base);
        this.state = state;
        return relation.kind;
      case "foreign":
        break;
    }
    const decoded = decodeCheckpoint(state, (id) => this.blob(id));
    if (!decoded.ok) throw new Error(`cannot decode: ${JSON.stringify(decoded)}`);
    this.store(decoded.value.blobs);
    const { head } = this.view;
    const branches = head === undefined ? [] : [{ head, messages: this.branch(head) }];
    const adoption = adopt(decoded.value.messages, this.chain, head, branches, { message });
    for (const row of adoption.messages) if (!this.rows.has(row.id)) this.rows.set(row.id, row);
    this.chain = extendChain(this.chain, adoption.nodes, adoption.anchors);
    this.moveTo(adoption.base);
    if (adoption.kind !== "continue" && adoption.kind !== "stale") this.state = state;
    return adoption.kind;
  }

  /** Rows of a branch, root first, as the store gives them. */
  branch(head: CheckpointId): readonly CanonicalMessage[] {
    const ids: HistoryId[] = [];
    for (let at: CheckpointId | undefined = head; at !== undefined;) {
      const node: ReturnType<Chain["nodes"]["get"]> = this.chain.nodes.get(at);
      ids.unshift(...(node?.added ?? []));
      at = node?.parent;
    }
    return ids.map((id) => this.rows.get(id)!);
  }

  blob(id: BlobId): Uint8Array | undefined {
    return this.blobs.get(id) ?? this.client.get(id);
  }

  store(blobs: readonly Blob[]): void {
    for (const { id, data } of blobs) {
      this.blobs.set(id, data);
      this.unsent.set(id, data);
    }
  }
}
