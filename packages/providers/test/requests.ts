import type {
  ModelEvent,
  ModelId,
  ModelInfo,
  ModelLimits,
  ModelMessage,
  ModelRequest,
  ToolDefinition,
} from "@chartroom/domain";

export const limits: ModelLimits = { idleMs: 60_000, headersMs: 30_000, totalMs: 600_000 };

export const model: ModelInfo = {
  id: "m" as ModelId,
  displayName: "M",
  provider: "p",
  upstreamModel: "vendor-m-1",
  contextWindow: 200_000,
  maxOutputTokens: 8_192,
  supportsImages: true,
  supportsThinking: true,
  aliases: [],
};

export const tools: readonly ToolDefinition[] = [
  {
    name: "Read",
    description: "Reads a file.",
    inputSchema: {
      type: "object",
      properties: { path: { type: "string" }, limit: { type: "integer" } },
      required: ["path"],
    },
  },
  {
    name: "mcp.server/search",
    description: "Searches.",
    inputSchema: { anyOf: [{ type: "object", properties: { query: { type: "string" } }, required: ["query"] }] },
  },
];

export function request(rest: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model,
    system: "You are a test.",
    tools,
    messages: [user("Hello")],
    maxOutputTokens: 8_192,
    cacheKey: "conversation-1",
    ...rest,
  };
}

export function user(text: string): ModelMessage {
  return { role: "user", parts: [{ type: "text", text }] };
}

/** All events of a stream, in order. */
export async function collect(stream: AsyncIterable<readonly ModelEvent[]>): Promise<readonly ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const batch of stream) events.push(...batch);
  return events;
}

export function textOf(events: readonly ModelEvent[]): string {
  return events.map((event) => (event.type === "text" ? event.text : "")).join("");
}
