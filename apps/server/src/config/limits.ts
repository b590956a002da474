import { type ConversationSettings, defaultSettings, settingsProblems } from "@chartroom/conversation";
import type { GatewayLimits } from "@chartroom/gateway";
import type { ConfigProblem } from "./problem.ts";
import type { ConfigFile } from "./schema.ts";

type Limits = ConfigFile["limits"];

export const defaultDrainMs = 10_000;

/** The bounds of the conversations: the defaults with what is configured in their place. */
export function settingsOf(limits: Limits, problems: ConfigProblem[]): ConversationSettings {
  const { drainMs: _, transportWaitMs: __, modelIdleMs, modelHeadersMs, ...same } = limits;
  const { model } = defaultSettings;
  const settings: ConversationSettings = {
    ...defaultSettings,
    ...(Object.fromEntries(
      Object.entries(same).filter(([, value]) => value !== undefined),
    ) as Partial<ConversationSettings>),
    model: {
      idleMs: modelIdleMs ?? model.idleMs,
      headersMs: modelHeadersMs ?? modelIdleMs ?? model.headersMs,
      totalMs: limits.modelMs ?? model.totalMs,
    },
  };
  for (const problem of settingsProblems(settings)) {
    const [name, reason] = problem.split(": ", 2);
    problems.push({ path: `limits.${name}`, reason: reason ?? "" });
  }
  return settings;
}

/** The gateway's part of the same bounds. */
export function gatewayLimitsOf(limits: Limits): Partial<GatewayLimits> {
  const { heartbeatIntervalMs, transportWaitMs, outputRetentionMs } = limits;
  return {
    ...(heartbeatIntervalMs === undefined ? {} : { heartbeatMs: heartbeatIntervalMs }),
    ...(transportWaitMs === undefined ? {} : { waitMs: transportWaitMs }),
    ...(outputRetentionMs === undefined ? {} : { retentionMs: outputRetentionMs }),
  };
}
