import { chartMutants } from "./charts.ts";
import { decisionMutants } from "./decisions.ts";
import { FENCE, ORDER, PREFIX } from "./faults.ts";
import { type Mutant, numbered } from "./mutant.ts";
import { namedMutants } from "./named.ts";
import { alter, named, type Operator } from "./operators.ts";
import { readSource } from "./source.ts";
import type { SuiteName } from "./suites.ts";
import { unfencedParts } from "./unfenced.ts";

/** A part of a file, and what is altered in it. */
interface Target {
  readonly file: string;
  /** Names of functions, methods or classes; none: the file. */
  readonly within?: readonly string[];
  readonly operators: readonly Operator[];
  readonly suites: readonly SuiteName[];
}

const CHARTS: readonly SuiteName[] = ["machines"];
const COMMANDS: readonly SuiteName[] = ["conversation", "command table", "lifecycle", "random schedules"];
const PORTS: readonly SuiteName[] = ["command table", "lifecycle", "random schedules"];
const STORE: readonly SuiteName[] = ["store contract", "two servers"];
const HISTORY: readonly SuiteName[] = ["history", "random histories", "history rooms"];

const TARGETS: readonly Target[] = [
  {
    file: "packages/conversation/src/commands/decide.ts",
    operators: ["conditions", "operands", "booleans"],
    suites: COMMANDS,
  },
  {
    file: "packages/conversation/src/activation/provide.ts",
    within: ["delays"],
    operators: ["properties"],
    suites: ["random schedules", "lifecycle"],
  },
  {
    file: "packages/conversation/src/ports/close-run.ts",
    within: ["closeRun"],
    operators: ["conditions", "operands", "statements"],
    suites: PORTS,
  },
  {
    file: "packages/cluster/src/output-log.ts",
    within: ["LocalOutputLog"],
    operators: ["conditions", "operands", "statements"],
    suites: ["cluster"],
  },
  {
    file: "packages/store/src/lease.ts",
    operators: ["conditions", "operands", "statements"],
    suites: ["lease", "two servers"],
  },
  {
    file: "packages/store/src/barrier.ts",
    within: ["statusAllows", "changeRun", "foldRunChanges", "foldCallChanges"],
    operators: ["conditions", "operands"],
    suites: ["store", "store contract"],
  },
  ...["relate", "opening", "context"].map((name): Target => ({
    file: `packages/history/src/${name}.ts`,
    operators: ["conditions", "operands"],
    suites: HISTORY,
  })),
];

/** Every mutant there is, made from the sources below `root`. */
export function allMutants(root: string): readonly Mutant[] {
  return numbered([
    ...chartMutants(
      root,
      "machines/conversation.machine.ts",
      ["fresh", "noWaiting", "isCurrent", "settledAll", "isWaiting"],
      CHARTS,
    ),
    ...chartMutants(root, "machines/cursor-run.machine.ts", [], CHARTS),
    ...decisionMutants(root, "packages/conversation/src/commands/decide.ts", COMMANDS),
    ...TARGETS.flatMap(({ file, within, operators, suites }) => {
      const source = readSource(root, file);
      const parts = within?.flatMap((name) => named(source, name)) ?? [source.program];
      return parts.flatMap((part) => alter(source, part, operators, suites));
    }),
    ...namedMutants(root, [...ORDER, ...FENCE, ...PREFIX]),
    ...unfencedParts(root, ["history", "runs", "inbox"], STORE),
  ]);
}
