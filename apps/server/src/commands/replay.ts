import { defineCommand } from "citty";
import { replay, type ReplayDifference } from "@chartroom/conversation";
import { exitCodes } from "../failure.ts";
import { stateText } from "../show/timeline.ts";
import { visitConversation } from "../visit.ts";
import { configArgs, configOf, conversationArg, jsonArg, print, printJson, refuseUnknown } from "./shared.ts";

const args = { ...conversationArg, ...jsonArg, ...configArgs } as const;

export const replayCommand = defineCommand({
  meta: {
    name: "replay",
    description: "Run a conversation's recorded events through the chart again; they must reach the same states",
  },
  args,
  async run({ args: given }) {
    refuseUnknown(given, args);
    const result = await visitConversation(configOf(given), given.conversation, ({ view }) => replay(view));
    if (!result.ok) process.exitCode = exitCodes.failed;
    if (given.json) printJson(result.ok ? result : { ok: false, ...describe(result.difference) });
    else if (result.ok)
      print(
        `${result.events} events of ${result.activations} activations reach the recorded states` +
          (result.state === undefined ? "." : `; the last one is ${stateText(result.state)}.`),
      );
    else print(differenceText(result.difference));
  },
});

function describe({ reason, row, recorded, reached }: ReplayDifference) {
  return {
    reason,
    fence: row?.fence ?? null,
    seq: row?.seq ?? null,
    event: row?.event.type ?? null,
    at: row === undefined ? null : new Date(row.at).toISOString(),
    recorded: recorded === undefined ? null : stateText(recorded),
    reached: reached === undefined ? null : stateText(reached),
  };
}

function differenceText(difference: ReplayDifference): string {
  const { reason, fence, seq, event, at, recorded, reached } = describe(difference);
  return [
    `The replay goes another way: ${reason}.`,
    ...(event === null ? [] : [`  row       fence ${fence}, number ${seq}, ${event}, ${at}`]),
    ...(recorded === null ? [] : [`  recorded  ${recorded}`]),
    ...(reached === null ? [] : [`  reached   ${reached}`]),
  ].join("\n");
}
