import path from "node:path";
import { describe, expect, it, vi } from "vitest";
import { readMachine } from "../charts/extractor.ts";
import { mutate, type Mutant } from "./mutant.ts";
import { judge } from "./report.ts";
import { readSource } from "./source.ts";
import { EXPLAINED } from "./survivors.ts";
import { allMutants } from "./targets.ts";

const root = path.resolve(import.meta.dirname, "../..");
const mutants = allMutants(root);
const ids = new Set(mutants.map(({ id }) => id));

describe("the mutants that are made of the sources", () => {
  it("have an id each, and each of them is a program that differs", () => {
    expect(ids.size).toBe(mutants.length);
    const texts = new Map<string, string>();
    const read = (file: string): string => {
      const text = texts.get(file) ?? readSource(root, file).text;
      texts.set(file, text);
      return text;
    };
    for (const mutant of mutants) expect(() => mutate(mutant, read)).not.toThrow();
  });

  it("alter every guard of both charts where it is made and where it is used", () => {
    for (const file of ["machines/conversation.machine.ts", "machines/cursor-run.machine.ts"]) {
      const { text } = readSource(root, file);
      const { transitions } = readMachine(file, text);
      const guarded = transitions.filter(({ guard }) => guard !== null);
      const dropped = mutants.filter(({ id }) => id.startsWith(`${file}: `) && id.includes("without its guard"));
      expect(guarded.length).toBeGreaterThan(5);
      expect(dropped).toHaveLength(guarded.length);
      // a guard with parameters is named with them
      const names = new Set(guarded.map(({ guard }) => guard?.replace(/\(.*$/u, "")));
      for (const name of names)
        for (const value of ["true", "false"]) {
          const constant = [...ids].filter(
            (id) => id.startsWith(`${file}: guard ${name}: `) && id.endsWith(` is ${value}`),
          );
          expect(constant, `${name} is ${value}`).not.toEqual([]);
        }
    }
  });

  it("hold what is explained as a survivor", () => {
    expect(Object.keys(EXPLAINED).filter((id) => !ids.has(id))).toEqual([]);
  });
});

describe("the verdict", () => {
  const made = ["a", "b"].map((id): Mutant => ({ id, file: "x.ts", edits: [], suites: [] }));
  const said = (verdicts: Parameters<typeof judge>[1], explained: Record<string, string>, all = true) => {
    const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
    const code = judge(made, verdicts, explained, all);
    const last = String(log.mock.calls.at(-1)?.[0]);
    log.mockRestore();
    return [code, last];
  };

  it("is good when all were killed, or each survivor is explained", () => {
    expect(said([{ id: "a", killed: true }], {}, false)).toEqual([0, "1 killed, 0 survived (0 explained)"]);
    const both = [
      { id: "a", killed: true },
      { id: "b", killed: false },
    ];
    expect(said(both, { b: "why" })).toEqual([0, "1 killed, 1 survived (1 explained)"]);
  });

  it("is bad for a survivor that nothing explains, for an explanation without a survivor, and for nothing", () => {
    expect(said([{ id: "b", killed: false }], {})).toEqual([1, "0 killed, 1 survived (0 explained)"]);
    expect(said([{ id: "a", killed: true }], { a: "why" })[0]).toBe(1);
    expect(said([{ id: "a", killed: true }], { c: "why" })[0]).toBe(1);
    expect(said([{ id: "a", killed: true }], { c: "why" }, false)[0]).toBe(0);
    expect(said([], {})[0]).toBe(1);
  });
});
