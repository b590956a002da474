import { defineCommand } from "citty";
import { createModelDirectory } from "@chartroom/providers";
import { systemClock } from "../time.ts";
import { configArgs, configOf } from "./shared.ts";

export const modelsCommand = defineCommand({
  meta: { name: "models", description: "List the models that clients would see" },
  args: { ...configArgs, json: { type: "boolean", description: "One JSON array" } },
  run({ args }) {
    const config = configOf(args);
    const directory = createModelDirectory({
      providers: config.providers,
      clock: systemClock,
      ...(config.defaultModel === undefined ? {} : { defaultModel: config.defaultModel }),
    });
    const models = directory
      .list()
      .map(({ id, displayName, provider, contextWindow }) => ({
        id,
        displayName,
        provider,
        contextWindow,
        isDefault: id === directory.defaultModel.id,
      }));
    if (args.json) process.stdout.write(`${JSON.stringify(models, undefined, 2)}\n`);
    else
      for (const model of models)
        process.stdout.write(
          `${model.id}${model.isDefault ? " (default)" : ""}  ${model.displayName}  ${model.provider}  ${model.contextWindow} tokens\n`,
        );
  },
});
