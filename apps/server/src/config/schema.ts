import { z } from "zod";

/** `env:NAME` or `file:PATH`: a secret itself never stands in the file. */
const secret = z
  .string()
  .regex(/^(?:env:[A-Za-z_][A-Za-z0-9_]*|file:.+)$/u, "a secret is env:NAME or file:PATH, never the value itself")
  .meta({ description: "Where the secret is: env:NAME or file:PATH." });

const model = z
  .strictObject({
    id: z.string().min(1).describe("The id by which clients ask for it."),
    upstreamModel: z.string().min(1).optional().describe("The vendor's own name; default: the id."),
    displayName: z.string().min(1).optional(),
    aliases: z.array(z.string().min(1)).default([]),
    contextWindow: z.int().min(1_000).optional().describe("Tokens."),
    maxOutputTokens: z.int().min(1).optional().describe("Tokens."),
    supportsImages: z.boolean().optional(),
    supportsThinking: z.boolean().optional(),
  })
  .describe("One model of a provider.");

const provider = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/u, "lower-case letters, digits and dashes"),
  kind: z
    .enum(["openai", "anthropic"])
    .describe("openai: chat completions, any compatible base URL. anthropic: messages."),
  baseUrl: z.url({ protocol: /^https?$/u }).optional(),
  apiKey: secret.optional(),
  headers: z.record(z.string(), z.string()).optional().describe("Sent with each request; no secrets."),
  models: z.array(model).optional().describe("Default: the built-in list of the kind."),
});

const token = z.strictObject({
  member: z.string().regex(/^[A-Za-z0-9._@-]{1,64}$/u),
  token: secret,
  team: z
    .string()
    .regex(/^[A-Za-z0-9._@-]{1,64}$/u)
    .default("team"),
  roles: z.array(z.enum(["member", "admin"])).default(["member"]),
});

const ms = z
  .int()
  .min(1)
  .max(2 ** 31 - 1);

const limits = z
  .strictObject({
    passivateMs: ms,
    prepareMs: ms,
    modelMs: ms,
    modelIdleMs: ms,
    ackMs: ms,
    callMs: ms,
    parkedRunTtlMs: ms,
    heartbeatIntervalMs: ms,
    heartbeatJitterRatio: z.number().min(0).max(0.5),
    outputRetentionMs: ms,
    maxOpenRuns: z.int().min(1),
    maxOpenRunsPerMember: z.int().min(1),
    maxAttempts: z.int().min(1).max(20),
    maxSteps: z.int().min(1),
    drainMs: ms,
  })
  .partial()
  .describe("Bounds, in milliseconds unless the name says otherwise; docs/operations.md lists the defaults.");

/** `chartroom.yaml`. */
export const configSchema = z.strictObject({
  listen: z
    .strictObject({
      host: z.string().min(1).default("127.0.0.1"),
      port: z.int().min(0).max(65_535).default(7788),
      tls: z
        .strictObject({ cert: z.string().min(1), key: z.string().min(1) })
        .optional()
        .describe("Paths of PEM files."),
      publicUrl: z.url().optional().describe("What clients are told; default: the listening address."),
    })
    .default({ host: "127.0.0.1", port: 7788 }),
  data: z.string().min(1).default(".chartroom").describe("The data folder; CHARTROOM_DATA goes before it."),
  database: secret
    .optional()
    .describe("URL of a Postgres to use instead of the built-in one; DATABASE_URL goes before it."),
  tokens: z.array(token).default([]).describe("With tokens, every request must bring one."),
  providers: z.array(provider).default([]),
  defaultModel: z.string().min(1).optional(),
  demoModel: z.boolean().default(true).describe("Offer the built-in scripted model."),
  limits: limits.default({}),
  log: z
    .strictObject({ level: z.enum(["debug", "info", "warn", "error", "silent"]).default("warn") })
    .default({ level: "warn" }),
});

export type ConfigFile = z.output<typeof configSchema>;
