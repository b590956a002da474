/** Bounds and limits of the conversations; milliseconds unless a name says otherwise. */
export interface ConversationSettings {
  readonly restoreMs: number;
  readonly passivateMs: number;
  /** A parked Run in which nothing works leaves memory after so long. */
  readonly passivateParkedMs: number;
  readonly prepareMs: number;
  readonly modelMs: number;
  readonly interruptMs: number;
  /** A commit port retries in place for `storeRetryMs`; the chart's own bound lies behind that. */
  readonly commitMs: number;
  readonly storeRetryMs: number;
  readonly ackMs: number;
  /** Longer than `storeRetryMs` too: what came in last is written first. */
  readonly closeMs: number;
  readonly openingMs: number;
  readonly claimMs: number;
  readonly callMs: number;
  readonly parkedRunTtlMs: number;
  readonly heartbeatIntervalMs: number;
  /** 0 … 0.5: a beat comes after interval × (1 ± ratio). */
  readonly heartbeatJitterRatio: number;
  readonly outputRetentionMs: number;
  readonly flushPartialMs: number;
  readonly maxOpenRuns: number;
  readonly maxOpenRunsPerMember: number;
  readonly maxAttempts: number;
  readonly maxSteps: number;
  readonly retryBaseMs: number;
  readonly retryMaxMs: number;
  readonly model: { readonly idleMs: number; readonly headersMs: number; readonly totalMs: number };
  /** Wait of a late transport, or of a blob or context that the client must send. */
  readonly clientReplyMs: number;
  readonly sweepMs: number;
}

export const defaultSettings: ConversationSettings = {
  restoreMs: 10_000,
  passivateMs: 600_000,
  passivateParkedMs: 60_000,
  prepareMs: 60_000,
  modelMs: 1_800_000,
  interruptMs: 10_000,
  commitMs: 40_000,
  storeRetryMs: 30_000,
  ackMs: 30_000,
  closeMs: 40_000,
  openingMs: 60_000,
  claimMs: 30_000,
  callMs: 86_400_000,
  parkedRunTtlMs: 900_000,
  heartbeatIntervalMs: 5_000,
  heartbeatJitterRatio: 0.1,
  outputRetentionMs: 600_000,
  flushPartialMs: 1_000,
  maxOpenRuns: 4_096,
  maxOpenRunsPerMember: 64,
  maxAttempts: 4,
  maxSteps: 200,
  retryBaseMs: 500,
  retryMaxMs: 30_000,
  model: { idleMs: 120_000, headersMs: 120_000, totalMs: 1_800_000 },
  clientReplyMs: 30_000,
  sweepMs: 5_000,
};

/** Every wrong value at once, as `path: reason`; empty when all are right. */
export function settingsProblems(s: ConversationSettings): readonly string[] {
  const problems: string[] = [];
  for (const [name, value] of Object.entries(s)) {
    if (typeof value !== "number" || name === "heartbeatJitterRatio") continue;
    if (!Number.isInteger(value) || value <= 0 || value > 2 ** 31 - 1)
      problems.push(`${name}: a whole number from 1 to 2147483647`);
  }
  if (!(s.heartbeatJitterRatio >= 0 && s.heartbeatJitterRatio <= 0.5)) problems.push("heartbeatJitterRatio: 0 to 0.5");
  if (s.parkedRunTtlMs <= s.heartbeatIntervalMs * (1 + s.heartbeatJitterRatio))
    problems.push("parkedRunTtlMs: longer than the longest heartbeat delay");
  if (s.commitMs <= s.storeRetryMs) problems.push("commitMs: longer than storeRetryMs");
  if (s.closeMs <= s.storeRetryMs) problems.push("closeMs: longer than storeRetryMs");
  if (s.maxOpenRunsPerMember > s.maxOpenRuns) problems.push("maxOpenRunsPerMember: at most maxOpenRuns");
  return problems;
}
