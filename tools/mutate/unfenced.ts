import type { Mutant } from "./mutant.ts";
import { namedMutants } from "./named.ts";
import { readSource } from "./source.ts";
import type { SuiteName } from "./suites.ts";

const STATEMENT = "packages/store/src/commit.ts";

/** A part of a commit that asks for the conversation, but neither for the fence nor for the node. */
const UNFENCED = {
  what: "the conversation's row without the fence",
  file: STATEMENT,
  changes: [
    [
      "writeSeq)})",
      "writeSeq)}), anyone as (select id, owner_member, inbox_seq as base from conversation where id = ${lease.conversationId})",
    ],
  ],
  suites: [],
} as const;

/** The parts of a commit, each writing its table without the fence: its rows no longer depend on the row that the fence guards. */
export function unfencedParts(root: string, names: readonly string[], suites: readonly SuiteName[]): readonly Mutant[] {
  const [beside] = namedMutants(root, [UNFENCED]);
  if (!beside) return [];
  return names.flatMap((name) => {
    const file = `packages/store/src/parts/${name}.ts`;
    const { text } = readSource(root, file);
    return [...text.matchAll(/\b(?:from|using) (?<mine>mine,)/gu)].map(({ index, 0: found }) => {
      const table = /^.*(?:\b(?:insert into|update|delete from) (?<table>\w+)|, (?<part>offered) as)/su.exec(
        text.slice(0, index),
      )?.groups;
      return {
        id: `${file}: ${table?.["table"] ?? table?.["part"] ?? "?"} is written without the fence`,
        file,
        edits: [{ start: index + found.indexOf("mine,"), end: index + found.length, text: "anyone as mine," }],
        beside,
        suites,
      };
    });
  });
}
