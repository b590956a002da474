import {
  type CachedRequest,
  comparePrefix,
  type PrefixReport,
  shouldCompact,
  sum,
  textTokens,
  toolTokens,
  type Trigger,
} from "@chartroom/history";
import type { ModelInfo, ModelRequest, Usage } from "@chartroom/domain";
import type { ConversationHistory } from "./conversation-history.ts";
import type { CompiledRun } from "./live-run.ts";

/** A limit that an overflow taught holds at least for this share of the configured window: a vendor's odd answer must not shrink it to nothing. */
const LEAST_SHARE = 0.5;

/** How full the branch is, and what of the last call the provider's cache still holds. One activation's memory. */
export class BranchWindow {
  #measured: { readonly tokens: number; readonly messages: number } | undefined;
  #compactedAt: number | undefined;
  #last: CachedRequest | undefined;
  readonly #learned = new Map<string, number>();

  /** Whether the next call fits the model that is asked. */
  trigger(history: ConversationHistory, { system, tools, model }: CompiledRun): Trigger {
    return shouldCompact({
      view: history.view,
      window: this.windowOf(model),
      fixedTokens: textTokens(system) + sum(tools, toolTokens),
      ...(this.#measured ? { measured: this.#measured } : {}),
      ...(this.#compactedAt === undefined ? {} : { compactedAt: this.#compactedAt }),
    });
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

  compacted(history: ConversationHistory): void {
    this.#measured = undefined;
    this.#compactedAt = history.view.messages.length;
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
