import { aiserver, unary, type Rpc } from "@chartroom/gateway/face";
import { answeredEmpty, endedAtOnce } from "./empty.ts";
import type { ApiOptions } from "./options.ts";

/** Remote switches: none is on, every number is its default (wire section 14). An empty configuration works. */
export function switches({ clock }: ApiOptions): readonly Rpc[] {
  const { method } = aiserver.AiService;
  const analytics = aiserver.AnalyticsService.method;
  return [
    unary(analytics.bootstrapStatsig, () => {
      const time = clock.now();
      const config = {
        feature_gates: {},
        dynamic_configs: {},
        layer_configs: {},
        has_updates: true,
        hash_used: "djb2",
        time,
      };
      return { config: JSON.stringify(config), generatedAtMs: BigInt(time) };
    }),
    unary(analytics.getFirstWindowStatsigDecision, () => ({ variant: "", reason: "local" })),
    unary(method.checkFeatureStatus, () => ({ enabled: false })),
    unary(method.checkFeatureStatusUnauthenticated, () => ({ enabled: false })),
    unary(method.checkFeaturesStatus, ({ featureNames }) => ({
      featureStatuses: featureNames.map((featureName) => ({ featureName, enabled: false })),
    })),
    unary(method.checkNumberConfig, () => ({ value: 0 })),
    unary(method.checkNumberConfigUnauthenticated, () => ({ value: 0 })),
    unary(method.checkNumberConfigs, ({ configNames }) => ({
      configs: configNames.map((configName) => ({ configName, value: 0 })),
    })),
  ];
}

/** Tab completion, off: a client that is told so asks no more (wire section 14). */
export function tabOff(): readonly Rpc[] {
  const { method } = aiserver.AiService;
  const cpp = aiserver.CppService.method;
  const files = aiserver.FileSyncService.method;
  return [
    unary(method.cppConfig, () => ({ isOn: false, isGhostText: false })),
    answeredEmpty(cpp.availableModels),
    answeredEmpty(cpp.recordCppFate),
    answeredEmpty(method.cppAppend),
    answeredEmpty(method.cppEditHistoryAppend),
    unary(method.cppEditHistoryStatus, () => ({ on: false })),
    answeredEmpty(method.refreshTabContext),
    unary(method.isCursorPredictionEnabled, () => ({ enabled: false })),
    endedAtOnce(method.streamCpp),
    endedAtOnce(method.streamNextCursorPrediction),
    unary(files.fSIsEnabledForUser, () => ({ enabled: false })),
    answeredEmpty(files.fSConfig),
  ];
}

/** What a client asks for beside its chats and finds empty here. */
export function nothingThere(): readonly Rpc[] {
  const { method } = aiserver.AiService;
  return [
    answeredEmpty(method.availableDocs),
    unary(method.knowledgeBaseList, () => ({ success: true, allResults: [] })),
    unary(method.checkQueuePosition, () => ({ position: 0, hitHardLimit: false })),
    answeredEmpty(method.checkUsageBasedPrice),
    answeredEmpty(method.getLastDefaultModelNudge),
    answeredEmpty(method.getDefaultModelNudgeData),
  ];
}
