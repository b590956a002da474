import { defineCommand } from "citty";
import type { Config } from "../config/load.ts";
import { type Diagnosis, examine } from "../doctor.ts";
import { exitCodes } from "../failure.ts";
import { openModels } from "../models.ts";
import { visitConversation } from "../visit.ts";
import { table } from "../table.ts";
import { configArgs, configOf, conversationArg, jsonArg, print, printJson, refuseUnknown } from "./shared.ts";

const args = { ...conversationArg, ...jsonArg, ...configArgs } as const;

export const doctorCommand = defineCommand({
  meta: {
    name: "doctor",
    description: "List what is wrong with a conversation's history, and how it is healed on its way to a model",
  },
  args,
  async run({ args: given }) {
    refuseUnknown(given, args);
    const findings = await findingsOf(configOf(given), given.conversation);
    if (findings.length > 0) process.exitCode = exitCodes.failed;
    if (given.json) return printJson({ conversationId: given.conversation, healthy: findings.length === 0, findings });
    if (findings.length === 0) return print("The history is in order.");
    print(
      table(
        ["PROBLEM", "MESSAGE", "CALL", "WHAT IS DONE ABOUT IT"],
        findings.map(({ kind, message, call, healing }) => [kind, message ?? "", call ?? "", healing]),
      ),
    );
  },
});

async function findingsOf(config: Config, conversation: string): Promise<readonly Diagnosis[]> {
  const models = openModels(config);
  try {
    return await visitConversation(config, conversation, (visit) => examine(visit, models));
  } finally {
    await models.close();
  }
}
