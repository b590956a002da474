import {
  type CachedRequest,
  comparePrefix,
  createProjector,
  imagesOf,
  type Projection,
  type PrefixReport,
  shouldCompact,
  sum,
  textTokens,
  toolTokens,
  type Trigger,
} from "@chartroom/history";
import type { BlobId, ModelInfo, ModelRequest, Usage } from "@chartroom/domain";
import type { Activation } from "./activation.ts";
import type { ConversationHistory } from "./conversation-history.ts";
import type { CompiledRun } from "./live-run.ts";

/** A limit that an overflow taught holds at least for this share of the configured window: a vendor's odd answer must not shrink it to nothing. */
const LEAST_SHARE = 0.5;

/** How full the branch is, and what of the last call the provider's cache still holds. One activation's memory. */
export class BranchWindow {
  #measured: { readonly tokens: number; readonly messages: number } | undefined;
  #failedAt: number | undefined;
  #last: CachedRequest | undefined;
  readonly #projectors = new Map<string, ReturnType<typeof createProjector>>();
  readonly #images = new Map<BlobId, Uint8Array>();
  readonly #learned = new Map<string, number>();

  /** Whether the next call fits the model that is asked. */
  trigger(history: ConversationHistory, { system, tools, model }: CompiledRun): Trigger {
    return shouldCompact({
      view: history.view,
      window: this.windowOf(model),
      fixedTokens: textTokens(system) + sum(tools, toolTokens),
      ...(this.#measured ? { measured: this.#measured } : {}),
      ...(this.#failedAt === undefined ? {} : { failedAt: this.#failedAt }),
    });
  }

  /** The branch as the provider's messages; what was projected before is not projected again. */
  async project({ history, deps, member }: Activation, { provider, model }: CompiledRun): Promise<Projection> {
    const { messages } = history.view;
    const wanted = imagesOf(messages).filter((id) => !this.#images.has(id));
    if (wanted.length > 0) for (const [id, data] of await deps.store.blobs(member, wanted)) this.#images.set(id, data);
    const key = `${provider.id} ${model.supportsImages}`;
    let projector = this.#projectors.get(key);
    if (!projector) {
      const image = (id: BlobId): Uint8Array | undefined => this.#images.get(id);
      projector = createProjector({ vendor: provider.id, supportsImages: model.supportsImages, image });
      this.#projectors.set(key, projector);
    }
    return projector(messages);
  }

  /** The configured window, or the smaller one that an overflow taught. */
  windowOf(model: ModelInfo): number {
    return Math.min(model.contextWindow, this.#learned.get(model.id) ?? Number.POSITIVE_INFINITY);
  }

  /** An overflow names the real limit, or shows that the branch as it is does not fit. */
  learn(model: ModelInfo, limitTokens: number | undefined): void {
    const least = model.contextWindow * LEAST_SHARE;
    const shown = limitTokens ?? (this.#measured ? this.#measured.tokens : model.contextWindow * 0.9);
    this.#learned.set(model.id, Math.max(least, Math.min(this.windowOf(model), shown)));
  }

  /** The provider counted a call whose answer becomes the next message. */
  measure(history: ConversationHistory, usage: Usage): void {
    const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
    if (inputTokens === undefined) return;
    const tokens = inputTokens + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0) + (outputTokens ?? 0);
    this.#measured = { tokens, messages: history.view.messages.length + 1 };
  }

  /** The branch has a new prefix: the old count says nothing about it. */
  compacted(): void {
    this.#measured = undefined;
    this.#failedAt = undefined;
  }

  /** Not again within the next turns: the same attempt would fail the same way. */
  compactionFailed(history: ConversationHistory): void {
    this.#failedAt = history.view.messages.length;
  }

  /** Compares a call with the last one; `undefined` for the first. */
  compare(
    request: ModelRequest,
    sources: CachedRequest["sources"],
    summary: CachedRequest["summary"],
  ): PrefixReport | undefined {
    const before = this.#last;
    this.#last = {
      system: request.system,
      tools: request.tools,
      messages: request.messages,
      sources,
      model: request.model.id,
      ...(summary ? { summary } : {}),
    };
    return before && comparePrefix(before, this.#last);
  }
}
