import type { ModelDirectory, ModelId, ModelInfo, ModelProvider, ModelRequest } from "@chartroom/domain";
import { requestBody } from "@chartroom/providers";
import { type Answer, say } from "../../support/scripted-provider.ts";

/** The adapters whose exact bytes are compared. */
export const ADAPTERS = ["openai", "anthropic"] as const;
export type Adapter = (typeof ADAPTERS)[number];

/** A request as it came, and as each adapter sends it. */
export interface Sent {
  readonly request: ModelRequest;
  /** A call without tools that writes a summary. */
  readonly summary: boolean;
  readonly bytes: Readonly<Record<Adapter, string>>;
}

export interface HistoryModels {
  readonly directory: ModelDirectory;
  /** All requests, oldest first. */
  readonly sent: readonly Sent[];
  /** Those of turns alone. */
  readonly turns: readonly Sent[];
  /** Those that write a summary. */
  readonly summaries: readonly Sent[];
  /** Puts answers behind those that wait; the last one is given again and again. */
  answer(...answers: readonly Answer[]): void;
  /** Puts answers to summaries in a row of their own; the last one is given again and again. */
  summarize(...answers: readonly Answer[]): void;
}

export interface ModelSpec {
  readonly id: string;
  readonly window?: number;
  readonly images?: boolean;
  /** Another provider than `scripted`: reasoning of the one is none of the other's. */
  readonly provider?: string;
  /** Its vendor refuses an assistant message without reasoning. */
  readonly requiresThinking?: boolean;
}

/** Models whose answers a test writes; the first is the default. */
export function historyModels(
  answers: readonly Answer[] = [],
  specs: readonly ModelSpec[] = [{ id: "demo-model" }],
): HistoryModels {
  let queue = [...answers];
  let summaries: Answer[] = [say("What was said so far.")];
  const sent: Sent[] = [];
  const infos = specs.map(infoOf);
  const demanding = new Set(specs.flatMap((spec) => (spec.requiresThinking ? [infoOf(spec).provider] : [])));
  const take = (row: Answer[]): Answer => (row.length > 1 ? row.shift() : row[0]) ?? say("Yes.");
  const providers = new Map(
    infos.map(({ provider }): [string, ModelProvider] => [
      provider,
      {
        id: provider,
        requiresThinking: demanding.has(provider),
        stream(request, _limits, signal) {
          const summary = request.tools.length === 0;
          sent.push(sentOf(request, summary, demanding.has(provider)));
          return take(summary ? summaries : queue)(request, signal);
        },
      },
    ]),
  );
  const [first] = infos;
  return {
    directory: {
      resolve(asked) {
        const model = ["", "default"].includes(asked) ? first : infos.find(({ id }) => id === asked);
        const provider = model && providers.get(model.provider);
        return model && provider && { model, provider };
      },
      list: () => infos,
      defaultModel: first!,
    },
    sent,
    get turns() {
      return sent.filter(({ summary }) => !summary);
    },
    get summaries() {
      return sent.filter(({ summary }) => summary);
    },
    answer: (...next) => void (queue = [...next]),
    summarize: (...next) => void (summaries = [...next]),
  };
}

function infoOf({ id, window = 200_000, images = true, provider = "scripted" }: ModelSpec): ModelInfo {
  return {
    id: id as ModelId,
    displayName: id,
    provider,
    upstreamModel: id,
    contextWindow: window,
    maxOutputTokens: 8_000,
    supportsImages: images,
    supportsThinking: true,
    aliases: [],
  };
}

/** Its bytes are written when they are asked for. */
function sentOf(request: ModelRequest, summary: boolean, requiresThinking: boolean): Sent {
  let bytes: Sent["bytes"] | undefined;
  return {
    request,
    summary,
    get bytes() {
      return (bytes ??= bytesOf(request, requiresThinking));
    },
  };
}

/** What each adapter would send to a vendor that thinks in a budget (Anthropic) or by effort (OpenAI). */
function bytesOf(request: ModelRequest, requiresThinking: boolean): Sent["bytes"] {
  const { id, provider } = request.model;
  const shared = { id: provider, baseUrl: "http://127.0.0.1", apiKey: "none" };
  return {
    openai: requestBody(
      {
        ...{ ...shared, kind: "openai", models: [{ id, thinking: "effort" }] },
        options: { reasoningReplay: requiresThinking ? "required" : "field" },
      },
      request,
    ),
    anthropic: requestBody({ ...shared, kind: "anthropic", models: [{ id, thinking: "budget" }] }, request),
  };
}
