/** Everything that is wrong with a configuration, at once. */
export interface ConfigProblem {
  /** Where, as `providers[0].apiKey`; empty for the file itself. */
  readonly path: string;
  readonly reason: string;
}

export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[];

  constructor(file: string, problems: readonly ConfigProblem[]) {
    super(
      [
        `${file} is not valid:`,
        ...problems.map(({ path, reason }) => `  ${path === "" ? "(file)" : path}: ${reason}`),
      ].join("\n"),
    );
    this.name = "ConfigError";
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
