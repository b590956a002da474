import { z } from "zod";

/** `env:NAME` or `file:PATH`: a secret itself never stands in the file. */
const REFERENCE = /^(?:env:[A-Za-z_][A-Za-z0-9_]*|file:.+)$/u;

const secret = z
  .string()
  .regex(REFERENCE, "a secret is env:NAME or file:PATH, never the value itself")
  .describe("Where the secret is: env:NAME, or file:PATH (from the folder of this file).");

/** Headers that carry keys. */
const KEY_HEADER = /^(?:authorization|proxy-authorization|cookie|(?:x-)?api-key|.*(?:token|secret).*)$/iu;

const headers = z
  .record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/u, "not a name of a header"), z.string())
  .superRefine((given, context) => {
    for (const [name, value] of Object.entries(given))
      if (KEY_HEADER.test(name) && !REFERENCE.test(value))
        context.addIssue({
          code: "custom",
          path: [name],
          message: "a secret is env:NAME or file:PATH, never the value",
        });
  })
  .describe("Sent with each request. A value env:NAME or file:PATH is read from there; keys must be.");

const thinking = z.union([z.boolean(), z.enum(["adaptive", "budget", "effort", "effortWithoutTools", "none"])]);

const model = z
  .strictObject({
    id: z.string().min(1).max(256).describe("The name by which clients ask for it; unique among all providers."),
    upstream: z.string().min(1).optional().describe("The vendor's own name; default: the id."),
    displayName: z.string().min(1).optional().describe("What people see; default: the id."),
    contextWindow: z.int().min(1_000).optional().describe("Tokens."),
    maxOutputTokens: z.int().min(1).optional().describe("Tokens."),
    images: z.boolean().optional().describe("Whether it takes pictures."),
    thinking: thinking.optional().describe("Whether, or how, it is asked to think."),
    aliases: z.array(z.string().min(1)).optional().describe("Further names."),
  })
  .describe("What is absent comes from the built-in catalogue, or from cautious defaults.");

const httpUrl = z
  .url({ protocol: /^https?$/u, error: "an address that begins with http:// or https://" })
  .refine((url) => !/^https?:\/\/[^/?#]*@/iu.test(url), "no user or password in an address: use apiKey or headers");

const ms = z
  .int()
  .min(1)
  .max(2 ** 31 - 1);

const id = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/u, "lower-case letters, digits and dashes, at most 32")
  .describe("Names the provider in lists and messages.");

const remote = {
  id,
  baseUrl: httpUrl.optional().describe("Default: the vendor's own address."),
  apiKey: secret
    .optional()
    .describe(
      "env:NAME or file:PATH. Default at the vendor's own address: env:OPENAI_API_KEY or env:ANTHROPIC_API_KEY.",
    ),
  auth: z
    .enum(["bearer", "x-api-key", "api-key", "none"])
    .optional()
    .describe("How the key is sent; default: the vendor's own way."),
  headers: headers.optional(),
  models: z.array(model).min(1).optional().describe("Default at the vendor's own address: the built-in list."),
  limits: z
    .strictObject({ idleMs: ms, headersMs: ms, totalMs: ms })
    .partial()
    .optional()
    .describe("Bounds of a call, in ms, in place of limits.modelIdleMs and limits.modelMs."),
};

const provider = z.discriminatedUnion("kind", [
  z
    .strictObject({
      kind: z.literal("openai"),
      ...remote,
      options: z
        .strictObject({
          maxTokensField: z.enum(["max_tokens", "max_completion_tokens"]),
          promptCacheKey: z.boolean().describe("Send prompt_cache_key."),
          streamUsage: z.boolean().describe("Ask for a usage chunk."),
          reasoningEffort: z.boolean().describe("Send reasoning_effort when a client asks for an effort."),
          reasoningReplay: z
            .enum(["field", "required", "omit"])
            .describe(
              "A vendor's own reasoning goes back to it; required: with every assistant message, empty or not.",
            ),
        })
        .partial()
        .optional()
        .describe("What differs between vendors of this format."),
    })
    .describe("OpenAI chat completions, from whichever vendor."),
  z
    .strictObject({
      kind: z.literal("anthropic"),
      ...remote,
      options: z
        .strictObject({
          cache: z.enum(["5m", "1h", "off"]).describe("Life of what the cache marks keep."),
          eagerToolInput: z.boolean().describe("Ask for tool arguments as they are written."),
        })
        .partial()
        .optional(),
    })
    .describe("Anthropic messages, from whichever vendor."),
  z
    .strictObject({
      kind: z.literal("demo"),
      id: id.default("demo"),
      paceMs: z.int().min(0).max(10_000).optional().describe("Pause between two pieces of text, in ms."),
    })
    .describe("The built-in scripted model, in place of the one that demoModel offers."),
]);

const NAME = /^[A-Za-z0-9._@-]{1,64}$/u;
const name = z.string().regex(NAME, "letters, digits or ._@-, at most 64");

const token = z.strictObject({
  member: name.describe("Whose it is; conversations belong to members."),
  token: secret,
  team: name.default("team"),
  roles: z.array(z.enum(["member", "admin"])).default(["member"]),
});

const limits = z
  .strictObject({
    passivateMs: ms.describe("An idle conversation leaves memory after so long."),
    passivateParkedMs: ms.describe("A Run that waits for its client leaves memory after so long."),
    restoreMs: ms.describe("Reading a conversation back into memory."),
    prepareMs: ms.describe("From a Run's beginning to its first model call."),
    modelMs: ms.describe("One model call."),
    modelIdleMs: ms.describe("A model call without a byte."),
    modelHeadersMs: ms.describe("A model call without an answer's head."),
    maxAttempts: z.int().min(1).max(20).describe("Attempts of one model call."),
    maxSteps: z.int().min(1).max(100_000).describe("Model calls of one Run."),
    retryBaseMs: ms.describe("The first pause between attempts; it doubles."),
    retryMaxMs: ms.describe("The longest pause between attempts."),
    interruptMs: ms.describe("Stopping a step for a message."),
    callMs: ms.describe("A tool call without a sign of life."),
    clientReplyMs: ms.describe("A blob or context that a client must send."),
    ackMs: ms.describe("A client's acknowledgements of a checkpoint's blobs."),
    closeMs: ms.describe("Telling a client the end of a Run; longer than storeRetryMs."),
    storeRetryMs: ms.describe("How long a write is tried again while the database is away."),
    commitMs: ms.describe("A write in all; longer than storeRetryMs."),
    flushPartialMs: ms.describe("Between two savings of text that is being streamed."),
    openingMs: ms.describe("A new Run without its stream."),
    claimMs: ms.describe("Replaying a Run to a stream that took it over."),
    parkedRunTtlMs: ms.describe("How long a Run waits for its client to come back."),
    heartbeatIntervalMs: ms.describe("Between two heartbeats on a stream."),
    heartbeatJitterRatio: z.number().min(0).max(0.5).describe("A heartbeat comes at interval × (1 ± ratio)."),
    transportWaitMs: ms.describe("A stream that waits for its Run."),
    outputRetentionMs: ms.describe("How long the output of an ended Run can be read again from memory."),
    maxOpenRuns: z.int().min(1).max(1_000_000).describe("Open Runs of this process."),
    maxOpenRunsPerMember: z.int().min(1).max(1_000_000).describe("Open Runs of one member."),
    sweepMs: ms.describe("Between two looks for conversations whose deadline has passed."),
    drainMs: ms.describe("How long open Runs may go on when the server is asked to stop."),
  })
  .partial()
  .describe("Bounds, in milliseconds unless the name says otherwise.");

const listen = z.strictObject({
  host: z.string().min(1).default("127.0.0.1").describe("Anything but loopback needs tokens."),
  port: z.int().min(0).max(65_535).default(7788).describe("0 takes a free one. CHARTROOM_PORT goes before it."),
  tls: z
    .strictObject({ cert: z.string().min(1), key: z.string().min(1) })
    .optional()
    .describe("Paths of PEM files, from the folder of this file: the certificate with its chain, and its key."),
  transport: z
    .enum(["auto", "http1", "http2"])
    .default("auto")
    .describe("How clients are told to run the agent: as they like, RunSSE over HTTP/1.1, or Run over HTTP/2."),
  publicUrl: httpUrl.optional().describe("What clients are told; default: the listening address."),
});

const log = z.strictObject({
  level: z.enum(["debug", "info", "warn", "error", "silent"]).default("warn"),
});

/** `chartroom.yaml`. */
export const configSchema = z.strictObject({
  listen: listen.default(listen.parse({})),
  data: z
    .string()
    .min(1)
    .optional()
    .describe(
      "The data folder, from the folder of this file; default: .chartroom where the server is started. CHARTROOM_DATA goes before it.",
    ),
  database: secret
    .optional()
    .describe("The URL of a Postgres to use instead of the built-in one. DATABASE_URL goes before it."),
  tokens: z.array(token).default([]).describe("With tokens, every request must bring one."),
  providers: z
    .array(provider)
    .default([])
    .describe("Without any: those whose key is in OPENAI_API_KEY or ANTHROPIC_API_KEY."),
  defaultModel: z.string().min(1).optional().describe("What clients get that name no model; default: the first one."),
  demoModel: z.boolean().default(true).describe("Offer the built-in scripted model."),
  limits: limits.default({}),
  log: log.default(log.parse({})).describe("Lines of JSON on standard error."),
});

export type ConfigFile = z.output<typeof configSchema>;
export type ProviderEntry = z.output<typeof provider>;
export type TokenEntry = z.output<typeof token>;

/** The JSON Schema of `chartroom.yaml`, for editors. */
export function configJsonSchema(): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(configSchema, { io: "input" }) as Record<string, unknown>;
  return { $schema, title: "chartroom.yaml", description: "Configuration of a Chartroom server.", ...rest };
}
