import { describe, expect, it } from "vitest";
import { boolean, choice, integer, list, optional, string } from "./field.ts";
import { parseArguments, unwrapArguments } from "./parse.ts";
import { shape } from "./shape.ts";

const example = shape({
  path: string("Where."),
  limit: optional(integer("How many.", { min: 1, max: 10 })),
  deep: optional(boolean("Deep.")),
  mode: optional(choice(["a", "b"], "Which.")),
  paths: optional(list(string("One."), "Some.", { min: 1, max: 2 })),
});

describe("shape", () => {
  it("gives a JSON schema with its keys in the order of the declaration", () => {
    expect(JSON.stringify(example.schema)).toBe(
      '{"type":"object","properties":{"path":{"type":"string","description":"Where."},"limit":{"type":"integer","minimum":1,"maximum":10,"description":"How many."},"deep":{"type":"boolean","description":"Deep."},"mode":{"type":"string","enum":["a","b"],"description":"Which."},"paths":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":2,"description":"Some."}},"required":["path"],"additionalProperties":false}',
    );
  });

  it("TL-13: takes an integer that is written as a float or as text", () => {
    expect(example.read(JSON.parse('{"path":"a","limit":3.0}'))).toEqual({ ok: true, value: { path: "a", limit: 3 } });
    expect(example.read({ path: "a", limit: "3.0" })).toEqual({ ok: true, value: { path: "a", limit: 3 } });
    expect(example.read({ path: "a", limit: 3.5 }).ok).toBe(false);
    expect(example.read({ path: "a", limit: "three" }).ok).toBe(false);
  });

  it("is lenient where the meaning is plain", () => {
    expect(example.read({ path: "a", deep: "true", paths: "x", limit: null, unknown: 1 })).toEqual({
      ok: true,
      value: { path: "a", deep: true, paths: ["x"] },
    });
  });

  it("tells every problem by the name of its argument", () => {
    expect(example.read({ limit: 11, deep: "yes", mode: "c", paths: ["a", 2] })).toEqual({
      ok: false,
      problems: [
        "path is missing",
        "limit must be a whole number from 1 to 10",
        "deep must be true or false",
        "mode must be one of a, b",
        "paths[1] must be a string",
      ],
    });
    expect(example.read({ path: "a", paths: ["a", "b", "c"] })).toEqual({
      ok: false,
      problems: ["paths must have 1 to 2 elements"],
    });
  });

  it("reads for a card what can be read", () => {
    expect(example.some({ path: "a", limit: "many" })).toEqual({ path: "a" });
  });

  it("does not take inherited properties for arguments", () => {
    const odd = shape({ toString: string("Odd.") });
    expect(odd.read({}).ok).toBe(false);
    expect(odd.declares("valueOf")).toBe(false);
  });
});

describe("parseArguments", () => {
  const parse = (text: string, argumentError?: string) =>
    parseArguments({ arguments: text, ...(argumentError !== undefined && { argumentError }) });

  it("takes an object, no text at all, and an object that is encoded twice", () => {
    expect(parse('{"a":1}')).toEqual({ ok: true, value: { a: 1 } });
    expect(parse("  ")).toEqual({ ok: true, value: {} });
    expect(parse('"{\\"a\\":1}"')).toEqual({ ok: true, value: { a: 1 } });
  });

  it.each(["[1]", "1", "null", '"text"', '{"a":', '{"a":1}{"a":1}'])("refuses %s", (text) => {
    expect(parse(text).ok).toBe(false);
  });

  it("gives the argument error of the record", () => {
    expect(parse("{}", "cut off")).toEqual({ ok: false, problem: "cut off" });
  });

  it("refuses nesting that the other side need not decode", () => {
    expect(parse(`{"a":${"[".repeat(20)}${"]".repeat(20)}}`).ok).toBe(true);
    expect(parse(`{"a":${"[".repeat(30)}${"]".repeat(30)}}`).ok).toBe(false);
  });
});

describe("unwrapArguments", () => {
  const declares = (name: string) => name === "path";

  it("TL-14: takes off a wrapper, also beside a tool name, also as text", () => {
    expect(unwrapArguments({ arguments: { path: "a" } }, declares)).toEqual({ path: "a" });
    expect(unwrapArguments({ name: "Read", input: { path: "a" } }, declares)).toEqual({ path: "a" });
    expect(unwrapArguments({ args: '{"path":"a"}' }, declares)).toEqual({ path: "a" });
  });

  it("sees no wrapper beside a declared argument, among several, or in a plain value", () => {
    expect(unwrapArguments({ path: "a", arguments: { path: "b" } }, declares)).toBeUndefined();
    expect(unwrapArguments({ args: {}, input: {} }, declares)).toBeUndefined();
    expect(unwrapArguments({ args: "text" }, declares)).toBeUndefined();
  });
});
