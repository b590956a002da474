import type { ConversationView, RunRow } from "@chartroom/domain";
import { activeStates, drawAscii } from "../chart/index.ts";
import { layouts } from "../chart/layouts.ts";
import { table } from "../table.ts";
import { describeModelCall, describeTraces, modelCallsText } from "./model-calls.ts";
import { stateText, timeline, type TimelineRow } from "./timeline.ts";

/** A stored conversation as data for scripts: ids, states, counts and times; no content. */
export function describeConversation(view: ConversationView) {
  const { conversationId, member, owner, fence, head, parent, messages, chart } = view;
  const traces = describeTraces(view);
  return {
    conversationId,
    member,
    state: chart ? stateText(chart.value) : null,
    chart: chart ?? null,
    owner: owner ?? null,
    fence,
    head: head ?? null,
    messages,
    parent: parent ?? null,
    runs: view.runs.map((run) => describeRun(run, traces[run.runId])),
    modelCalls: view.modelCalls.map(describeModelCall),
    timeline: timeline(view.journal),
  };
}

type Described = ReturnType<typeof describeConversation>;

function describeRun(run: RunRow, trace: Readonly<Record<string, string | number | boolean>> = {}) {
  const { runId, kind, status, modelId, requestId, generation, traceId, acceptedAt, endedAt, delivered } = run;
  return {
    runId,
    kind,
    status,
    failureCode: run.failureCode ?? null,
    modelId,
    requestId,
    generation,
    wireRunIds: run.wireRunIds,
    traceId,
    acceptedAt: new Date(acceptedAt).toISOString(),
    endedAt: endedAt === undefined ? null : new Date(endedAt).toISOString(),
    tookMs: endedAt === undefined ? null : endedAt - acceptedAt,
    delivered,
    trace,
  };
}

/** The same for people. */
export function conversationText(view: ConversationView, withChart: boolean): string {
  const told = describeConversation(view);
  return [
    head(told),
    runs(told),
    modelCallsText(told.modelCalls),
    events(told.timeline),
    ...(withChart ? [`Chart\n\n${chart(view)}`] : []),
  ].join("\n");
}

function head({ conversationId, member, state, owner, fence, messages, parent }: Described): string {
  const lines = [
    `Conversation  ${conversationId}`,
    `Member        ${member}`,
    `State         ${state ?? "none stored yet"}`,
    `Owner         ${owner === null ? "none" : `node ${owner}`}, fence ${fence}`,
    `Messages      ${messages}`,
    ...(parent === null
      ? []
      : [`Parent        ${parent.parentConversationId}, Run ${parent.parentRunId}, call ${parent.parentToolCallId}`]),
  ];
  return `${lines.join("\n")}\n`;
}

function runs({ runs: all }: Described): string {
  if (all.length === 0) return "No Run yet.\n";
  return table(
    ["RUN", "KIND", "OUTCOME", "MODEL", "BEGAN", "TOOK", "DELIVERED", "CLIENT'S STATE"],
    all.map((run) => [
      run.runId,
      run.kind,
      run.failureCode === null ? run.status : `${run.status} ${run.failureCode}`,
      run.modelId,
      run.acceptedAt,
      run.tookMs === null ? "" : `${run.tookMs} ms`,
      run.delivered ? "yes" : "no",
      String(run.trace["history.relation"] ?? ""),
    ]),
  );
}

function events(rows: readonly TimelineRow[]): string {
  if (rows.length === 0) return "No event yet.\n";
  return table(
    ["TIME", "EVENT", "STATE", ""],
    rows.map(({ at, event, from, to, detail }) => [
      at,
      event,
      from === to ? to : `${from} → ${to}`,
      Object.entries(detail)
        .map(([name, value]) => `${name}=${detailText(name, value)}`)
        .join(" "),
    ]),
  );
}

/** Deadlines are moments, 0 is none. */
function detailText(name: string, value: string | number | boolean | null): string {
  if (typeof value !== "number" || !name.endsWith("Deadline")) return String(value);
  return value === 0 ? "none" : new Date(value).toISOString();
}

function chart({ chart: stored }: ConversationView): string {
  const layout = layouts.conversation;
  return drawAscii(layout, stored ? activeStates(layout, stored.value) : [], { currentOnly: true });
}
