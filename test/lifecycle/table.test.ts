import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { STATES, TABLE, type Carrier, type Command, type Outcome, type Phase, type State } from "./table.ts";
import { GIVING, giveCommand } from "./table-commands.ts";
import { ALIKE, alsoTakenFor } from "./table-alike.ts";
import { CHECKS } from "./table-outcomes.ts";
import { stageIn } from "./table-stage.ts";

const cells = (Object.keys(TABLE) as Command[]).flatMap((command) =>
  (["A", "B"] as const satisfies readonly Carrier[]).flatMap((carrier) =>
    (Object.keys(STATES) as Phase[]).flatMap((phase) =>
      STATES[phase].map((state) => ({ command, carrier, phase, state, outcome: TABLE[command][carrier][phase] })),
    ),
  ),
);
/** What no cell may lead to. */
const faults = ["chart.error", "chart.unhandled", "conversation.fenced", "store.unavailable"];
const elsewhere: readonly Outcome[] = ["gateway", "impossible"];
/** For each entry of the table, by state: the other outcomes by which what happened could be called. */
const otherNames = new Map<string, Map<State, readonly Outcome[]>>();
const entryOf = (command: Command, carrier: Carrier, phase: Phase): string => `${command} · ${carrier} · ${phase}`;

describe("the command table, cell by cell, on the real actor", () => {
  for (const { command, carrier, phase, state, outcome } of cells) {
    if (outcome === "gateway" || outcome === "impossible") continue;
    test(`${command} · ${carrier} · ${state}: ${outcome}`, async ({ node }) => {
      const giving = GIVING[command];
      const stage = await stageIn(state, node, giving.first);
      const runsBefore = await stage.runs();
      const droppedBefore = stage.dropped.length;
      const callsBefore = stage.models.calls.length;
      const given = await giveCommand(stage, command, carrier, state);
      await stage.quiet();
      const atOnce = {
        modelStopped: state === "modeling" && stage.models.calls[callsBefore - 1]?.aborted === true,
        callAborted: stage.stream.downlink.kinds.includes("execServerControlMessage"),
      };
      await stage.finish();
      const receipt = await given.receipt;
      await stage.quiet();
      const before = { runsBefore, droppedBefore, callsBefore, atOnce };
      const met = { command, stage, state, given, receipt, marker: giving.marker ?? "", times: giving.times ?? 1 };
      const trial = { ...met, ...before, runs: await stage.runs() };
      expect(stage.room.events.filter(({ type }) => faults.includes(type))).toEqual([]);
      const others = await alsoTakenFor(trial, outcome);
      await CHECKS[outcome](trial);
      const entry = entryOf(command, carrier, phase);
      otherNames.set(entry, (otherNames.get(entry) ?? new Map<State, readonly Outcome[]>()).set(state, others));
    });
  }

  test("has no cell that nobody looks at but those of another layer, or of no message", () => {
    const left = cells.filter(({ outcome }) => elsewhere.includes(outcome));
    expect(new Set(left.map(({ command, carrier }) => `${command} · ${carrier}`))).toEqual(
      new Set(["toolResult · A", "toolResult, late · A", "prewarm · B", "heartbeat · A", "heartbeat · B"]),
    );
  });

  test("has no cell without an outcome but those of which the specification says nothing", () => {
    const open = cells.filter(({ outcome }) => outcome === "unspecified");
    expect(open.map(({ command, carrier, state }) => `${command} · ${carrier} · ${state}`)).toEqual([
      "knownMessage, completed undelivered · B · idle",
      "knownMessage, failed undelivered · B · idle",
      "knownMessage, delivered · B · idle",
      "summarize · B · idle",
    ]);
  });

  test("every entry that is altered, to any other outcome, fails in a state of its phase", () => {
    const looked = cells.filter(({ outcome }) => !elsewhere.includes(outcome));
    const unseen: Record<string, readonly Outcome[]> = {};
    for (const { command, carrier, phase, outcome } of looked) {
      const entry = entryOf(command, carrier, phase);
      const byState = otherNames.get(entry);
      expect([...(byState?.keys() ?? [])], `${entry} was tried`).toEqual(STATES[phase]);
      const [first = [], ...more] = [...(byState?.values() ?? [])];
      const everywhere = first.filter((other) => more.every((others) => others.includes(other)));
      if (everywhere.length > 0 && outcome !== "unspecified") unseen[entry] = everywhere;
    }
    expect(unseen).toEqual(Object.fromEntries(Object.entries(ALIKE).map(([entry, { as }]) => [entry, [as]])));
  });
});
