/** Everything that is wrong with a configuration, at once. */
export interface ConfigProblem {
  /** Where, as `providers[0].apiKey`; empty for the file as a whole. */
  readonly path: string;
  readonly reason: string;
}

/** The configuration is not valid. Its text names every problem with its path, and no value. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly ConfigProblem[];

  constructor(file: string | undefined, problems: readonly ConfigProblem[]) {
    super(
      [
        file === undefined ? "The configuration is not valid:" : `${file} is not valid:`,
        ...problems.map(({ path, reason }) => `  ${path === "" ? "(the whole file)" : path}: ${reason}`),
      ].join("\n"),
    );
    this.problems = problems;
  }
}

export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, part) =>
      typeof part === "number" ? `${text}[${part}]` : text === "" ? String(part) : `${text}.${String(part)}`,
    "",
  );
}
