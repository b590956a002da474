import type { Clock, ModelId, ModelInfo } from "@chartroom/domain";

/** A limit that an overflow taught holds at least for this share of the configured window: a vendor's odd answer must not shrink it to nothing. */
const LEAST_SHARE = 0.5;
/** And no longer than this: a relay that was mended gets its window back. */
const LEARNED_FOR_MS = 86_400_000;
/** Of a request that overflowed without a number: what is taken for the limit. */
const REFUSED_SHARE = 0.9;

/** Real windows of models, as their overflow errors taught them to this process; all its conversations know them. */
export class LearnedWindows {
  readonly #learned = new Map<ModelId, { readonly tokens: number; readonly until: number }>();

  /** The configured window, or the smaller one that an overflow taught. */
  windowOf(model: ModelInfo, clock: Clock): number {
    const learned = this.#learned.get(model.id);
    if (!learned) return model.contextWindow;
    if (clock.now() < learned.until) return Math.min(model.contextWindow, learned.tokens);
    this.#learned.delete(model.id);
    return model.contextWindow;
  }

  /** An overflow named the limit, or a request of so many tokens was refused; gives the window that holds from now on. */
  learn(model: ModelInfo, limitTokens: number | undefined, refusedTokens: number, clock: Clock): number {
    const shown = limitTokens ?? refusedTokens * REFUSED_SHARE;
    const least = model.contextWindow * LEAST_SHARE;
    const tokens = Math.floor(Math.max(least, Math.min(this.windowOf(model, clock), shown)));
    this.#learned.set(model.id, { tokens, until: clock.now() + LEARNED_FOR_MS });
    return tokens;
  }
}
