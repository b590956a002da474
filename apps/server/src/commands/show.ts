import fs from "node:fs";
import path from "node:path";
import { type ArgsDef, defineCommand } from "citty";
import type { ConversationView } from "@chartroom/domain";
import { activeStates, drawChart } from "../chart/index.ts";
import { layouts } from "../chart/layouts.ts";
import { CommandError, exitCodes } from "../failure.ts";
import { conversationText, describeConversation } from "../show/conversation.ts";
import { visitConversation } from "../visit.ts";
import {
  configArgs,
  configOf,
  conversationArg,
  jsonArg,
  print,
  printJson,
  refuseUnknown,
  userFolder,
} from "./shared.ts";

const args = {
  ...conversationArg,
  chart: {
    type: "enum",
    options: ["ascii", "svg", "none"],
    default: "ascii",
    description: "How to draw its chart with the current state; svg is printed alone",
  },
  out: { type: "string", description: "With --chart svg: the file to write", valueHint: "FILE" },
  ...jsonArg,
  ...configArgs,
} satisfies ArgsDef;

export const showCommand = defineCommand({
  meta: { name: "show", description: "Show a stored conversation: its Runs, its timeline, its chart" },
  args,
  async run({ args: given }) {
    refuseUnknown(given, args);
    if (given.out !== undefined && given.chart !== "svg")
      throw new CommandError("chartroom: --out goes with --chart svg", exitCodes.usage);
    const view = await visitConversation(configOf(given), given.conversation, (visit) => visit.view);
    if (given.chart === "svg") return writeSvg(view, given.out);
    if (given.json) printJson(describeConversation(view));
    else print(conversationText(view, given.chart === "ascii"));
  },
});

function writeSvg({ chart }: ConversationView, out: string | undefined): void {
  const layout = layouts.conversation;
  const svg = drawChart(layout, chart ? activeStates(layout, chart.value) : []);
  if (out === undefined) return print(svg);
  const file = path.resolve(userFolder(), out);
  fs.writeFileSync(file, svg);
  print(`The chart is in ${file}.`);
}
