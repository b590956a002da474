import { defineCommand } from "citty";
import { configJsonSchema } from "../config/schema.ts";
import { printJson, refuseUnknown } from "./shared.ts";

export const schemaCommand = defineCommand({
  meta: { name: "schema", description: "Print the JSON Schema of chartroom.yaml" },
  run({ args }) {
    refuseUnknown(args, {});
    printJson(configJsonSchema());
  },
});
