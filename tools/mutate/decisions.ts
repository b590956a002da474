import type { Mutant } from "./mutant.ts";
import { placeOf } from "./operators.ts";
import { excerpt, keyOf, readSource, valueOf, walk } from "./source.ts";
import type { SuiteName } from "./suites.ts";

/** What takes the place of a word in a decision: the next one of its kind. */
const OTHERS: Readonly<Record<string, string>> = {
  now: "settle",
  settle: "border",
  border: "now",
  userMessage: "completion",
  completion: "userMessage",
  asyncAnswer: "userMessage",
  inject: "userMessage",
};

/** The command table as code: each decision that `decide` can give becomes another one, and each word of it another of its kind. */
export function decisionMutants(root: string, file: string, suites: readonly SuiteName[]): readonly Mutant[] {
  const source = readSource(root, file);
  const mutants: Mutant[] = [];
  walk(source.program, (node, around) => {
    if (node.type !== "ObjectExpression") return;
    const kind = valueOf(node, "kind");
    if (kind?.type !== "Literal") return;
    const place = placeOf(around);
    const branch = around.findLast((one) => one.type === "SwitchCase");
    const where = `${place}${branch ? ` case ${branch.test ? excerpt(source, branch.test) : "default"}` : ""}`;
    const add = (what: string, start: number, end: number, text: string): void => {
      mutants.push({ id: `${file}: ${where}: ${what}`, file, edits: [{ start, end, text }], suites });
    };
    const other = kind.value === "acknowledge" ? "finishedTurn" : "acknowledge";
    add(`${excerpt(source, node)} is ${other}`, node.start, node.end, `{ kind: "${other}" }`);
    for (const property of node.properties) {
      if (property.type !== "Property" || keyOf(property) === "kind") continue;
      walk(property.value, (word) => {
        const instead = word.type === "Literal" && typeof word.value === "string" ? OTHERS[word.value] : undefined;
        if (instead !== undefined)
          add(
            `${keyOf(property)} ${excerpt(source, word)} of ${excerpt(source, node, 50)} is ${instead}`,
            word.start,
            word.end,
            JSON.stringify(instead),
          );
      });
    }
  });
  return mutants;
}
