import type {
  ConversationId,
  Failure,
  MemberId,
  Outcome,
  ParentConversationRef,
  RunId,
  RunRow,
} from "@chartroom/domain";
import { Activation, type ActivationOwner } from "./activation.ts";
import type { ConversationDeps } from "../deps.ts";
import { failure } from "../failures.ts";
import { LearnedWindows } from "../history/learned-windows.ts";
import { provideCharts } from "./provide.ts";

export type Found =
  | { readonly ok: true; readonly activation: Activation }
  | { readonly ok: false; readonly failure: Failure };

interface GetOptions {
  readonly create: boolean;
  readonly parent?: ParentConversationRef;
  /** How a Run ends that cannot go on from what is stored; without it such a conversation stays as it is. */
  readonly stuck?: Outcome;
}

/** What an activation that came to grief leaves for the next one of its conversation. */
interface Stuck {
  /** Even the stored state could not be taken up. */
  readonly unreadable: boolean;
  readonly runs: ReadonlySet<RunId>;
}

/** Who hears of the activations. */
export interface RegistryWatch {
  /** Before it starts. */
  activated(activation: Activation): void;
  rests(activation: Activation): void;
  released(activation: Activation): void;
}

/** The conversations in this process's memory: a Map of root actors. Activates on demand, lets go on passivation. */
export class Registry implements ActivationOwner {
  readonly #deps: ConversationDeps;
  readonly #chart: ReturnType<typeof provideCharts>;
  readonly #learned = new LearnedWindows();
  readonly #live = new Map<ConversationId, Activation>();
  readonly #opening = new Map<ConversationId, Promise<Found>>();
  /** Conversations of this node that left memory because the store was away, with their members. */
  readonly #abandoned = new Map<ConversationId, MemberId>();
  readonly #stuck = new Map<ConversationId, Stuck>();
  readonly #watch: RegistryWatch;

  constructor(deps: ConversationDeps, watch: RegistryWatch) {
    this.#deps = deps;
    this.#watch = watch;
    this.#chart = provideCharts(deps, (id) => this.#live.get(id as ConversationId));
  }

  get size(): number {
    return this.#live.size;
  }
  all(): readonly Activation[] {
    return [...this.#live.values()];
  }
  find(conversationId: ConversationId): Activation | undefined {
    return this.#live.get(conversationId);
  }

  /** Takes up again what the store's absence has ended; what it still ends stays for the next time. */
  async recover(): Promise<void> {
    for (const [conversationId, member] of [...this.#abandoned]) {
      this.#abandoned.delete(conversationId);
      const found = await this.get(conversationId, member, { create: false });
      if (!found.ok && found.failure.code === "STORE_UNAVAILABLE") this.#abandoned.set(conversationId, member);
    }
  }

  /** The conversation of this member, activated here; another member's is not found. */
  async get(conversationId: ConversationId, member: MemberId, options: GetOptions): Promise<Found> {
    for (;;) {
      const live = this.#live.get(conversationId);
      if (live && !live.ended) {
        if (live.member !== member) return { ok: false, failure: failure("NOT_FOUND") };
        if (await live.restored.promise) return { ok: true, activation: live };
        if (live.ended) {
          await live.released;
          if (this.#live.get(conversationId) === live) return { ok: false, failure: whyNotRestored(live) };
          continue;
        }
      }
      const opening = this.#opening.get(conversationId);
      if (opening) {
        await opening;
        continue;
      }
      const fresh = this.#activate(conversationId, member, options);
      this.#opening.set(conversationId, fresh);
      const found = await fresh.finally(() => this.#opening.delete(conversationId));
      if (!found.ok) return found;
      const { activation } = found;
      if (await activation.restored.promise) return found;
      await activation.released;
      if (!options.stuck || activation.ends || !activation.stuck)
        return { ok: false, failure: whyNotRestored(activation) };
    }
  }

  async #activate(conversationId: ConversationId, member: MemberId, options: GetOptions): Promise<Found> {
    // what an earlier activation of this process still writes must land first
    await this.#live.get(conversationId)?.released;
    const result = await this.#deps.store.activate(conversationId, member, options);
    switch (result.kind) {
      case "notFound":
        return { ok: false, failure: failure("NOT_FOUND") };
      case "elsewhere":
        return { ok: false, failure: failure("NOT_OWNER") };
      case "unavailable":
        return { ok: false, failure: failure("STORE_UNAVAILABLE") };
      case "active": {
        const { clock } = this.#deps;
        const ends = this.#isStuck(conversationId, result.activation.runs) ? options.stuck : undefined;
        const activation = new Activation(this.#deps, result.activation, this.#chart, this.#learned, this, clock, ends);
        if (ends) void activation.restored.promise.then((done) => done && this.#stuck.delete(conversationId));
        this.#live.set(conversationId, activation);
        this.#watch.activated(activation);
        activation.start();
        this.#deps.events({
          type: "conversation.activated",
          conversationId,
          member,
          fence: result.activation.lease.fence,
          restored: result.activation.chart !== undefined,
        });
        return { ok: true, activation };
      }
    }
  }

  #isStuck(conversationId: ConversationId, runs: readonly RunRow[]): boolean {
    const stuck = this.#stuck.get(conversationId);
    return stuck !== undefined && (stuck.unreadable || runs.some((row) => isOpen(row) && stuck.runs.has(row.runId)));
  }

  rests(activation: Activation): void {
    this.#watch.rests(activation);
  }

  released(activation: Activation): void {
    void this.#letGo(activation);
    this.#watch.released(activation);
  }

  async #letGo(activation: Activation): Promise<void> {
    if (activation.stuck) this.#stuck.set(activation.conversationId, stuckOf(activation));
    if (this.#live.get(activation.conversationId) === activation) this.#live.delete(activation.conversationId);
    await activation.written();
    const { release } = activation.context;
    const { conversationId, member, lease } = activation;
    if (release === "store-unavailable") this.#abandoned.set(conversationId, member);
    // what this node still holds no sweeper finds, its own neither
    if (release === "passivated" || release === "restore-failed")
      await this.#deps.store.release(lease).catch(() => this.#abandoned.set(conversationId, member));
  }
}

function stuckOf({ runs, stored, context }: Activation): Stuck {
  const rows = [...stored.runs, ...[...runs.values()].map(({ row }) => row)];
  return {
    unreadable: context.release === "restore-failed",
    runs: new Set(rows.filter(isOpen).map(({ runId }) => runId)),
  };
}

const isOpen = ({ endedAt }: RunRow): boolean => endedAt === undefined;

const OTHER_VERSION =
  "Another version of the server has stored this conversation and has to go on with it. It was left as it is.";

function whyNotRestored({ foreign, context: { release } }: Activation): Failure {
  if (foreign) return failure("UNSUPPORTED", OTHER_VERSION);
  return failure(release === "store-unavailable" ? "STORE_UNAVAILABLE" : "INTERNAL");
}
