import { describe, expect, it } from "vitest";
import { openRun, type OpenRun, runBounds, runIn, type RunState, runStates } from "./test/run-chart.ts";
import { specTable } from "./test/spec-table.ts";

const bounds: Readonly<Record<Exclude<RunState, "cls">, number>> = {
  opn: runBounds.openingLimit,
  act: runBounds.streamIdleLimit,
  prk: runBounds.parkMs,
  clm: runBounds.claimLimit,
};

const rows: Readonly<Record<string, (run: OpenRun, state: Exclude<RunState, "cls">) => void>> = {
  "transport.attached": (run) => run.send({ type: "transport.attached" }),
  "transport.lost": (run) => run.lose(),
  claim: (run) => run.send({ type: "claim" }),
  "replay.finished": (run) => run.send({ type: "replay.finished" }),
  evict: (run) => run.send({ type: "evict" }),
  "settings.changed": (run) => run.send({ type: "settings.changed", parkDeadline: 2 * runBounds.parkMs }),
  close: (run) => run.send({ type: "close", reason: "turn-end" }),
  beat: (run) => run.send({ type: "beat" }),
  "tool.boundary": (run) => run.boundary(),
  "bytes.received": (run) => run.send({ type: "bytes.received" }),
  "the bound passes": (run, state) => {
    const before = run.state;
    run.clock.increment(bounds[state] - 1);
    expect(run.state).toBe(before);
    run.clock.increment(1);
  },
  "an unknown event": (run) => run.send({ type: "no.such.event" } as never),
};

const table = specTable("cursor-run.spec.md", "2 States × events");
const columns = (["served", "consumed"] as const).flatMap((direction) =>
  (["opn", "act", "prk", "clm"] as const).map((state) => ({ name: `${direction} ${state}`, direction, state })),
);

/** What the chart does, in the words of the table. */
function cellOf(label: string, { direction, state }: (typeof columns)[number]): string {
  const row = rows[label];
  if (!row) throw new Error("no such row");
  const run = runIn(state, direction);
  const before = { unhandled: run.unhandled.length, reentered: run.reentered.length, context: { ...run.context } };
  row(run, state);
  expect(run.errors).toEqual([]);
  if (run.state !== runStates[state])
    return (Object.keys(runStates) as RunState[]).find((short) => runStates[short] === run.state) ?? run.state;
  if (run.unhandled.length > before.unhandled) {
    expect(run.context, "an event that nobody takes changes nothing").toEqual(before.context);
    return "·";
  }
  return run.reentered.length > before.reentered ? "↻" : "=";
}

describe("the states × events table of cursor-run.spec.md", () => {
  it("has a row for each that is tested here, and a column for each state of each direction", () => {
    expect(table.map(({ label }) => label)).toEqual(Object.keys(rows));
    for (const { cells } of table) expect(Object.keys(cells)).toEqual(columns.map(({ name }) => name));
  });

  it.each(table)("$label", ({ label, cells }) => {
    expect(Object.fromEntries(columns.map((column) => [column.name, cellOf(label, column)]))).toEqual(cells);
  });

  it("a restored Run is parked at once", () => {
    expect(openRun({ restored: true }).state).toBe("parked");
  });
});
