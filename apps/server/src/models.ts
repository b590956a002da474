import { createModelDirectory, type OpenModelDirectory } from "@chartroom/providers";
import type { Config } from "./config/load.ts";
import { systemClock } from "./time.ts";

/** The models of a checked configuration. Whoever opens them closes them. */
export function openModels({
  providers,
  defaultModel,
}: Pick<Config, "providers" | "defaultModel">): OpenModelDirectory {
  const made = createModelDirectory(
    { providers, ...(defaultModel === undefined ? {} : { defaultModel }) },
    { clock: systemClock },
  );
  if (!made.ok) throw new Error(made.error.map(({ path, message }) => `${path}: ${message}`).join("; "));
  return made.value;
}
