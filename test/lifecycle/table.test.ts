import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { STATES, TABLE, type Carrier, type Command, type Outcome, type Phase } from "./table.ts";
import { GIVING, giveCommand } from "./table-commands.ts";
import { CHECKS } from "./table-outcomes.ts";
import { stageIn } from "./table-stage.ts";

const cells = (Object.keys(TABLE) as Command[]).flatMap((command) =>
  (["A", "B"] as const satisfies readonly Carrier[]).flatMap((carrier) =>
    (Object.keys(STATES) as Phase[]).flatMap((phase) =>
      STATES[phase].map((state) => ({ command, carrier, state, outcome: TABLE[command][carrier][phase] })),
    ),
  ),
);
/** What no cell may lead to. */
const faults = ["chart.error", "chart.unhandled", "conversation.fenced", "store.unavailable"];
const elsewhere: readonly Outcome[] = ["gateway", "impossible"];

describe("the command table, cell by cell, on the real actor", () => {
  for (const { command, carrier, state, outcome } of cells) {
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
      const trial = { command, stage, state, given, receipt, runsBefore, droppedBefore, callsBefore, atOnce };
      expect(stage.room.events.filter(({ type }) => faults.includes(type))).toEqual([]);
      await CHECKS[outcome]({ ...trial, marker: giving.marker ?? "", runs: await stage.runs() });
    });
  }

  test("has no cell that nobody looks at but those of another layer, or of no message", () => {
    const left = cells.filter(({ outcome }) => elsewhere.includes(outcome));
    expect(new Set(left.map(({ command, carrier }) => `${command} · ${carrier}`))).toEqual(
      new Set(["toolResult · A", "toolResult, late · A", "prewarm · B", "heartbeat · A", "heartbeat · B"]),
    );
  });
});
