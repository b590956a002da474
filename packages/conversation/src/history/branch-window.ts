import {
  createProjector,
  type HeadView,
  imagesOf,
  isOn,
  messagesTokens,
  type Projection,
  shouldCompact,
  sum,
  textTokens,
  toolTokens,
  type Trigger,
} from "@chartroom/history";
import type { BlobId, Clock, HistoryId, ModelInfo, Usage } from "@chartroom/domain";
import type { BranchHost } from "./branch-host.ts";
import type { CacheWatch } from "./cache-watch.ts";
import type { LearnedWindows } from "./learned-windows.ts";
import type { CompiledRun } from "../activation/live-run.ts";

/** A place of a branch: a view that does not hold this message there is of another branch. */
interface Place {
  readonly messages: number;
  readonly last: HistoryId | undefined;
}

/** How full the branch is. One activation's memory. */
export class BranchWindow {
  readonly #learned: LearnedWindows;
  readonly #clock: Clock;
  /** Tokens that a provider counted for a call at a place, and for its answer. */
  #measured: { readonly tokens: number; readonly at: Place } | undefined;
  #recalled = false;
  #failedAt: Place | undefined;
  #fixed: { readonly of: CompiledRun; readonly tokens: number } | undefined;
  readonly #projectors = new Map<string, ReturnType<typeof createProjector>>();
  readonly #images = new Map<BlobId, Uint8Array>();

  constructor(learned: LearnedWindows, clock: Clock) {
    this.#learned = learned;
    this.#clock = clock;
  }

  /** Whether the next call fits the model that is asked. */
  trigger(view: HeadView, compiled: CompiledRun): Trigger {
    const measured = this.#countedOf(view);
    return shouldCompact({
      view,
      window: this.windowOf(compiled.model),
      fixedTokens: this.#fixedTokens(compiled),
      ...(measured ? { measured } : {}),
      ...(stands(view, this.#failedAt) ? { failedAt: this.#failedAt.messages } : {}),
    });
  }

  /** Tokens of the branch: what a provider counted last, and an estimate of what is new since; `undefined`: none has counted it. */
  measured(view: HeadView): number | undefined {
    const counted = this.#countedOf(view);
    return counted && counted.tokens + messagesTokens(view.messages.slice(counted.messages));
  }

  /** The branch as the provider's messages; what was projected before is not projected again. */
  async project({ history, deps, member }: BranchHost, { provider, model }: CompiledRun): Promise<Projection> {
    const { messages } = history.view;
    const wanted = imagesOf(messages).filter((id) => !this.#images.has(id));
    if (wanted.length > 0) for (const [id, data] of await deps.store.blobs(member, wanted)) this.#images.set(id, data);
    const key = `${provider.id} ${model.supportsImages}`;
    let projector = this.#projectors.get(key);
    if (!projector) {
      const image = (id: BlobId): Uint8Array | undefined => this.#images.get(id);
      const { id: vendor, requiresThinking: requireThinking = false } = provider;
      projector = createProjector({ vendor, supportsImages: model.supportsImages, requireThinking, image });
      this.#projectors.set(key, projector);
    }
    return projector(messages);
  }

  windowOf(model: ModelInfo): number {
    return this.#learned.windowOf(model, this.#clock);
  }

  /** An overflow names the real limit, or shows that the branch as it is does not fit; gives the window that holds from now on. */
  learn(view: HeadView, compiled: CompiledRun, limitTokens: number | undefined): number {
    return this.#learned.learn(compiled.model, limitTokens, this.trigger(view, compiled).tokens, this.#clock);
  }

  /** The provider counted a call on this view; its answer becomes the next message. */
  measure(view: HeadView, { inputTokens, outputTokens }: Usage): void {
    // no prompt has 0 tokens: that provider does not count
    if (inputTokens) this.#measured = { tokens: inputTokens + (outputTokens ?? 0), at: placeOf(view) };
  }

  /** What a provider counted before this activation, if it was on this branch. */
  async recall(host: BranchHost, cache: CacheWatch): Promise<void> {
    if (this.#recalled) return;
    this.#recalled = true;
    const { chain, view } = host.history;
    const rows = this.#measured ? [] : await cache.stored(host);
    for (const { mark, usage } of rows) {
      const node = mark && mark.summary === view.summary ? chain.nodes.get(mark.head) : undefined;
      if (!node || !usage.inputTokens || !isOn(chain, view.head, node.id)) continue;
      // messages behind the call are those of the nodes behind it, on a compacted branch too
      const messages = view.messages.length - (view.length - node.length);
      const at = { messages, last: view.messages[messages - 1]?.id };
      this.#measured = { tokens: usage.inputTokens + (usage.outputTokens ?? 0), at };
      return;
    }
  }

  /** The branch has a new prefix: the old count says nothing about it. */
  compacted(): void {
    this.#measured = undefined;
    this.#failedAt = undefined;
  }

  /** Not again within the next turns: the same attempt would fail the same way. */
  compactionFailed(view: HeadView): void {
    this.#failedAt = placeOf(view);
  }

  /** Gives back what can be made again. */
  rest(): void {
    this.#projectors.clear();
    this.#images.clear();
    this.#fixed = undefined;
  }

  #countedOf(view: HeadView): { readonly tokens: number; readonly messages: number } | undefined {
    const measured = this.#measured;
    if (!measured || !stands(view, measured.at)) return undefined;
    const { messages } = measured.at;
    return {
      tokens: measured.tokens,
      messages: view.messages[messages]?.role === "assistant" ? messages + 1 : messages,
    };
  }

  #fixedTokens(compiled: CompiledRun): number {
    if (this.#fixed?.of !== compiled)
      this.#fixed = { of: compiled, tokens: textTokens(compiled.system) + sum(compiled.tools, toolTokens) };
    return this.#fixed.tokens;
  }
}

function placeOf({ messages }: HeadView): Place {
  return { messages: messages.length, last: messages.at(-1)?.id };
}

function stands({ messages }: HeadView, place: Place | undefined): place is Place {
  return place !== undefined && place.messages <= messages.length && messages[place.messages - 1]?.id === place.last;
}
