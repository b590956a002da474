import type { ConversationId, DomainEvent, RunId } from "@chartroom/domain";
import { describe, expect, it } from "vitest";
import { eventMetrics } from "./metrics.ts";

const conversationId = "c1" as ConversationId;
const runId = "r1" as RunId;
const at = { conversationId, runId };

async function series(events: readonly DomainEvent[]): Promise<ReadonlyMap<string, number>> {
  const metrics = eventMetrics();
  for (const event of events) metrics.listener(event);
  const lines = (await metrics.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const cut = line.lastIndexOf(" ");
      return [line.slice(0, cut), Number(line.slice(cut + 1))];
    }),
  );
}

const tool = (name: string): DomainEvent => ({ type: "tool.settled", ...at, tool: name, error: false, durationMs: 20 });

describe("metrics", () => {
  it("count what broke a prefix, and the tokens that this cost, by cause", async () => {
    const found = await series([
      { type: "prefix.broken", ...at, cause: "edit", tokensLost: 100 },
      { type: "prefix.broken", ...at, cause: "edit", tokensLost: 20 },
      { type: "prefix.broken", ...at, cause: "compaction", tokensLost: 7 },
    ]);
    expect(found.get('chartroom_prefix_breaks_total{cause="edit"}')).toBe(2);
    expect(found.get('chartroom_prefix_tokens_lost_total{cause="edit"}')).toBe(120);
    expect(found.get('chartroom_prefix_tokens_lost_total{cause="compaction"}')).toBe(7);
  });

  it("measure Runs, Steps and tool calls in seconds, and tokens by kind", async () => {
    const usage = { inputTokens: 10, cacheReadTokens: 4 };
    const found = await series([
      {
        type: "run.ended",
        ...at,
        outcome: { kind: "failed", code: "PROVIDER_TIMEOUT" },
        steps: 1,
        durationMs: 1_500,
        usage: {},
      },
      { type: "step.ended", ...at, step: 1, usage, durationMs: 300, outcome: "completed" },
      tool("read"),
    ]);
    expect(found.get('chartroom_run_seconds_sum{outcome="failed",code="PROVIDER_TIMEOUT"}')).toBe(1.5);
    expect(found.get('chartroom_step_seconds_bucket{le="0.25",outcome="completed"}')).toBe(0);
    expect(found.get('chartroom_step_seconds_bucket{le="0.5",outcome="completed"}')).toBe(1);
    expect(found.get('chartroom_tool_call_seconds_count{tool="read",error="false"}')).toBe(1);
    expect(found.get('chartroom_tokens_total{kind="input"}')).toBe(10);
    expect(found.get('chartroom_tokens_total{kind="cache_read"}')).toBe(4);
    expect(found.has('chartroom_tokens_total{kind="output"}')).toBe(false);
  });

  it("count events that a state does not know, by name", async () => {
    const event = { type: "chart.unhandled", conversationId, event: "tool.settled", state: "idle" } as const;
    expect((await series([event, event])).get('chartroom_chart_unhandled_total{event="tool.settled"}')).toBe(2);
  });

  it("have a bounded number of series, whatever names models make up for tools", async () => {
    const found = await series(Array.from({ length: 1_000 }, (_, index) => tool(`tool-${index}`)));
    const counts = [...found].filter(([name]) => name.startsWith("chartroom_tool_call_seconds_count"));
    expect(counts).toHaveLength(201);
    expect(found.get('chartroom_tool_call_seconds_count{tool="other",error="false"}')).toBe(800);
  });

  it("hold no id", async () => {
    const found = await series([
      { type: "conversation.activated", conversationId, member: "ann" as never, fence: 1, restored: true },
      { type: "run.claimed", ...at },
      { type: "history.related", ...at, relation: "stale" },
      { type: "history.healed", ...at, kinds: ["orphanResult"], count: 1 },
      { type: "rpc.unserved", path: "/secret/path" },
    ]);
    const own = [...found.keys()].filter((name) => name.startsWith("chartroom_"));
    expect(own).toEqual(
      expect.arrayContaining([
        'chartroom_conversation_activations_total{restored="true"}',
        'chartroom_run_streams_total{event="claimed"}',
        'chartroom_history_relations_total{relation="stale"}',
        'chartroom_history_healed_total{kind="orphanResult"}',
        "chartroom_rpcs_unserved_total",
      ]),
    );
    expect(own.join("\n")).not.toMatch(/c1|r1|ann|secret/);
  });

  it("read a gauge when somebody scrapes", async () => {
    const metrics = eventMetrics();
    let open = 1;
    metrics.gauge("runs_open", "Runs that have not ended", () => open);
    open = 3;
    expect(await metrics.text()).toContain("chartroom_runs_open 3\n");
  });
});
