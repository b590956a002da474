import { agent, aiserver, unary, type Rpc } from "@chartroom/gateway/face";
import { answeredEmpty } from "./empty.ts";

/** The clients' telemetry is taken and dropped: it is neither kept nor looked at (wire section 14). */
export function telemetry(): readonly Rpc[] {
  const { method } = aiserver.AiService;
  const analytics = aiserver.AnalyticsService.method;
  const metrics = aiserver.MetricsService.method;
  return [
    answeredEmpty(analytics.trackEvents),
    answeredEmpty(analytics.batch),
    unary(analytics.submitLogs, ({ logs }) => ({ success: true, logsProcessed: 0, logsDropped: logs.length })),
    answeredEmpty(metrics.reportIncrement),
    answeredEmpty(metrics.reportDecrement),
    answeredEmpty(metrics.reportDistribution),
    answeredEmpty(metrics.reportGauge),
    unary(aiserver.ToolCallEventService.method.submitToolCallEvents, ({ events }) => ({
      success: true,
      eventsProcessed: events.length,
    })),
    answeredEmpty(method.reportAiCodeChangeMetrics),
    answeredEmpty(method.reportClientNumericMetrics),
    answeredEmpty(method.reportProcessMetrics),
    answeredEmpty(method.reportProcessMetricsV2),
    answeredEmpty(method.reportAgentFeedback),
    answeredEmpty(method.reportCommitAiAnalytics),
    answeredEmpty(agent.AgentService.method.uploadLocalAgentRunToPromptQuality),
  ];
}
