import type {
  AttachReceipt,
  Binding,
  CommandEnvelope,
  Conversations,
  ConversationId,
  Downlink,
  ExecControl,
  ExecReply,
  Generation,
  KvReply,
  Principal,
  QueryReply,
  Receipt,
  RunId,
  StreamId,
  Terminal,
} from "@chartroom/domain";

export type FakeCall =
  | { readonly kind: "submit"; readonly envelope: CommandEnvelope }
  | { readonly kind: "attach"; readonly generation: Generation; readonly downlink: Downlink }
  | { readonly kind: "exec"; readonly generation: Generation; readonly reply: ExecReply }
  | { readonly kind: "control"; readonly generation: Generation; readonly control: ExecControl }
  | { readonly kind: "kv"; readonly generation: Generation; readonly reply: KvReply }
  | { readonly kind: "query"; readonly generation: Generation; readonly reply: QueryReply };

/**
 * Conversations for tests of the gateway: remembers every call, binds request ids as the store does, gives each Run
 * request a Run, and lets a test write, end and lose streams. `on…` replaces an answer.
 */
export class FakeConversations implements Conversations {
  readonly calls: FakeCall[] = [];
  readonly bindings = new Map<string, Binding>();
  readonly downlinks = new Map<string, Downlink[]>();
  readonly lost: string[] = [];
  onSubmit: ((envelope: CommandEnvelope) => Receipt | Promise<Receipt> | undefined) | undefined;
  onAttach:
    | ((generation: Generation, downlink: Downlink) => AttachReceipt | Promise<AttachReceipt> | undefined)
    | undefined;
  onReply: (() => Receipt | Promise<Receipt>) | undefined;
  onBinding: (() => void) | undefined;
  lookUps = 0;
  readonly #runs = new Map<string, RunId>();

  async submit(envelope: CommandEnvelope): Promise<Receipt> {
    this.calls.push({ kind: "submit", envelope });
    const { generation, message } = envelope;
    const own = await this.onSubmit?.(envelope);
    if (own !== undefined && own.kind !== "run") return own;
    const conversationId =
      message.kind === "action" ? this.#bound(generation)?.conversationId : message.request.conversationId;
    if (conversationId === undefined) return { kind: "dropped", reason: "no conversation" };
    if (message.kind !== "action") {
      this.bindings.set(keyOf(generation), {
        conversationId,
        generation: generation.generation,
        live: message.kind === "run",
      });
    }
    if (message.kind !== "run") return { kind: "acknowledged", conversationId };
    const runId = own?.runId ?? (`run-${this.#runs.size + 1}` as RunId);
    this.#runs.set(generation.streamId, runId);
    return { kind: "run", conversationId, runId };
  }

  async attach(_principal: Principal, generation: Generation, downlink: Downlink): Promise<AttachReceipt> {
    this.calls.push({ kind: "attach", generation, downlink });
    const { streamId } = generation;
    const former = this.downlinks.get(streamId) ?? [];
    const own = await this.onAttach?.(generation, downlink);
    if (own !== undefined && own.kind !== "attached") return own;
    const runId = own?.runId ?? this.#runs.get(streamId);
    const conversationId = own?.conversationId ?? this.#bound(generation)?.conversationId;
    if (runId === undefined || conversationId === undefined) return { kind: "waiting" };
    former.at(-1)?.end({ kind: "error", failure: REPLACED });
    downlink.onLost(() => this.lost.push(streamId));
    this.downlinks.set(streamId, [...former, downlink]);
    return { kind: "attached", conversationId, runId };
  }

  exec(generation: Generation, reply: ExecReply): Promise<Receipt> {
    this.calls.push({ kind: "exec", generation, reply });
    return this.#reply(generation);
  }

  control(generation: Generation, control: ExecControl): Promise<Receipt> {
    this.calls.push({ kind: "control", generation, control });
    return this.#reply(generation);
  }

  kv(generation: Generation, reply: KvReply): Promise<Receipt> {
    this.calls.push({ kind: "kv", generation, reply });
    return this.#reply(generation);
  }

  query(generation: Generation, reply: QueryReply): Promise<Receipt> {
    this.calls.push({ kind: "query", generation, reply });
    return this.#reply(generation);
  }

  async binding(principal: Principal, requestId: Generation["requestId"]): Promise<Binding | undefined> {
    this.lookUps += 1;
    this.onBinding?.();
    return this.bindings.get(`${principal.member} ${requestId}`);
  }

  /** The newest downlink of a stream, `<request id>#<generation>`. */
  downlink(streamId: string): Downlink {
    const found = this.downlinks.get(streamId)?.at(-1);
    if (found === undefined) throw new Error(`nothing is attached as ${streamId}`);
    return found;
  }

  attached(streamId: string): boolean {
    return this.downlinks.has(streamId);
  }

  /** Ends the Run of a stream: what the store says of it, then the terminal on its downlink. */
  end(streamId: string, terminal: Terminal = { kind: "completed" }): void {
    for (const [key, binding] of this.bindings) {
      if (`${key.split(" ")[1]}#${binding.generation}` === streamId)
        this.bindings.set(key, { ...binding, live: false });
    }
    this.downlinks.get(streamId)?.at(-1)?.end(terminal);
  }

  /** Binds a request id as an earlier process would have. */
  bind(member: string, requestId: string, conversationId: string, generation: number, live: boolean): void {
    this.bindings.set(`${member} ${requestId}`, { conversationId: conversationId as ConversationId, generation, live });
    this.#runs.set(`${requestId}#${generation}`, `bound-${generation}` as RunId);
  }

  /** What happened, one word per call and the stream it was for. */
  get log(): readonly string[] {
    return this.calls.map((call) => {
      const generation = call.kind === "submit" ? call.envelope.generation : call.generation;
      const what = call.kind === "submit" ? call.envelope.message.kind : call.kind;
      return `${what} ${generation.streamId}`;
    });
  }

  get envelopes(): readonly CommandEnvelope[] {
    return this.calls.flatMap((call) => (call.kind === "submit" ? [call.envelope] : []));
  }

  async #reply(generation: Generation): Promise<Receipt> {
    return (
      (await this.onReply?.()) ?? { kind: "acknowledged", conversationId: this.#bound(generation)?.conversationId }
    );
  }

  #bound(generation: Generation): Binding | undefined {
    return this.bindings.get(keyOf(generation));
  }
}

const REPLACED = {
  code: "REPLACED",
  title: "Replaced",
  detail: "Another connection took over.",
  retryable: false,
} as const;

function keyOf(generation: Generation): string {
  return `${generation.member} ${generation.requestId as string}`;
}

export function streamIdOf(requestId: string, generation: number): StreamId {
  return `${requestId}#${generation}` as StreamId;
}
