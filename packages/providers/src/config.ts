import type { ModelLimits } from "@chartroom/domain";

/** A provider as configured, with its secrets resolved. */
export type ProviderConfig = OpenAiConfig | AnthropicConfig | DemoConfig;

interface RemoteConfig {
  /** Names the provider in messages, in the catalogue and in replay state; unique. */
  readonly id: string;
  /** Without it: the vendor's own address. */
  readonly baseUrl?: string;
  readonly apiKey: string;
  /** How the key is sent; the vendor's own way without it. */
  readonly auth?: AuthStyle;
  /** Further request headers; a name that an adapter sets too wins over the adapter's value. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Without it: the built-in list of the vendor's own address. */
  readonly models?: readonly ModelConfig[];
  /** Bounds for this provider; they replace the caller's. */
  readonly limits?: Partial<ModelLimits>;
}

export type AuthStyle = "bearer" | "x-api-key" | "api-key" | "none";

/** OpenAI chat completions, from whichever vendor. */
export interface OpenAiConfig extends RemoteConfig {
  readonly kind: "openai";
  readonly options?: OpenAiOptions;
}

/** What differs between the vendors of this format. Defaults are those of the address. */
export interface OpenAiOptions {
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens";
  /** Send `prompt_cache_key`; only where the vendor knows it, others refuse it. */
  readonly promptCacheKey?: boolean;
  /** Ask for a usage chunk by `stream_options`. */
  readonly streamUsage?: boolean;
  /** Send `reasoning_effort` when the client asks for an effort and the model thinks. */
  readonly reasoningEffort?: boolean;
  /**
   * Give a vendor's own reasoning back in the field in which it came; `omit` for one that refuses it, `required` for one that
   * refuses an assistant message without.
   */
  readonly reasoningReplay?: "field" | "required" | "omit";
}

/** Anthropic messages, from whichever vendor. */
export interface AnthropicConfig extends RemoteConfig {
  readonly kind: "anthropic";
  readonly options?: AnthropicOptions;
}

export interface AnthropicOptions {
  /** Life of what the cache marks keep; `off` sends no marks. */
  readonly cache?: "5m" | "1h" | "off";
  /** Ask for tool arguments as they are written instead of value by value. */
  readonly eagerToolInput?: boolean;
}

/** The built-in scripted model: no network, no key. */
export interface DemoConfig {
  readonly id: string;
  readonly kind: "demo";
  /** Pause between two pieces of text (ms). */
  readonly paceMs?: number;
}

/** A model that a provider offers. What is absent comes from the built-in catalogue, or from cautious defaults. */
export interface ModelConfig {
  /** The name that clients use; unique among all providers. */
  readonly id: string;
  /** The vendor's own name; `id` without it. */
  readonly upstream?: string;
  readonly displayName?: string;
  /** Tokens. */
  readonly contextWindow?: number;
  /** Tokens. */
  readonly maxOutputTokens?: number;
  readonly images?: boolean;
  readonly thinking?: ThinkingStyle | boolean;
  readonly aliases?: readonly string[];
}

/**
 * How a model is asked to think.
 * - `adaptive`: Anthropic; it decides by itself, and an effort steers it.
 * - `budget`: Anthropic; a number of tokens, only when an effort is asked for.
 * - `effort`: OpenAI; `reasoning_effort`.
 * - `effortWithoutTools`: OpenAI; the chat endpoint takes an effort only when no tools are offered, and wants `none` with them.
 * - `none`: not at all.
 */
export type ThinkingStyle = "adaptive" | "budget" | "effort" | "effortWithoutTools" | "none";
