import { defineCommand } from "citty";
import { openModels } from "../models.ts";
import { table } from "../table.ts";
import { configArgs, configOf, jsonArg, print, printJson, refuseUnknown } from "./shared.ts";

const args = { ...configArgs, ...jsonArg };

export const modelsCommand = defineCommand({
  meta: { name: "models", description: "List the models that clients see" },
  args,
  async run({ args: given }) {
    refuseUnknown(given, args);
    const directory = openModels(configOf(given));
    const models = directory.list().map((model) => ({ ...model, isDefault: model.id === directory.defaultModel.id }));
    await directory.close();
    if (given.json) return printJson(models);
    print(
      table(
        ["MODEL", "NAME", "PROVIDER", "WINDOW", ""],
        models.map(({ id, displayName, provider, contextWindow, isDefault }) => [
          id,
          displayName,
          provider,
          `${contextWindow} tokens`,
          isDefault ? "default" : "",
        ]),
      ),
    );
  },
});
