import { fc } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { readArguments } from "./arguments.ts";

describe("readArguments", () => {
  it.each([
    ["a valid object, byte for byte", ' {"b": 1.0,\n"a":"\\u00e9"} ', ' {"b": 1.0,\n"a":"\\u00e9"} '],
    ["nothing", "", "{}"],
    ["white space", " \n", "{}"],
    ["null", "null", "{}"],
    ["JSON in a string", '"{\\"a\\":1}"', '{"a":1}'],
    ["the same object twice", '{"a":1}{"a":1}', '{"a":1}'],
    [
      "the same object three times, spelled differently",
      '{"a":1,"b":2} {"b":2,"a":1}\n{"a":1, "b":2}',
      '{"a":1,"b":2}',
    ],
    ["an empty object before the real one", '{}{"a":1}', '{"a":1}'],
    ["two empty objects", "{}{}", "{}"],
    ["a Windows path", '{"path":"C:\\Users\\me"}', '{"path":"C:\\\\Users\\\\me"}'],
    ["a regular expression", '{"pattern":"\\d+\\.\\w"}', '{"pattern":"\\\\d+\\\\.\\\\w"}'],
    ["a short unicode escape", '{"a":"\\u12"}', '{"a":"\\\\u12"}'],
    ["a raw line break", '{"a":"x\ny\tz"}', '{"a":"x\\u000ay\\u0009z"}'],
    ["a trailing comma", '{"a":[1,2,],}', '{"a":[1,2]}'],
    ["a comma inside a string", '{"a":",}",}', '{"a":",}"}'],
  ])("%s", (_, text, expected) => {
    expect(readArguments(text)).toEqual({ ok: true, text: expected });
  });

  it.each([
    ["cut in a value", '{"a":'],
    ["cut in a string", '{"a":"b'],
    ["cut behind a backslash", '{"a":"b\\'],
    ["two different objects", '{"a":1}{"a":2}'],
    ["an object and half of it again", '{"a":1}{"a"'],
    ["an array", "[1]"],
    ["a number", "3"],
    ["a string of text", '"hello"'],
    ["text around it", 'Here: {"a":1}'],
    ["a brace too many", '{"a":1}}'],
    ["single quotes", "{'a':1}"],
  ])("is no call: %s", (_, text) => {
    expect(readArguments(text).ok).toBe(false);
  });

  const object = fc.dictionary(fc.string(), fc.jsonValue());

  it("never touches valid JSON of an object", () => {
    fc.assert(
      fc.property(object, (value) => {
        const text = JSON.stringify(value, undefined, 1);
        expect(readArguments(text)).toEqual({ ok: true, text });
      }),
    );
  });

  it("accepts nothing that would not be JSON of an object", () => {
    const almost = fc.jsonValue().map((value) => JSON.stringify(value).slice(1));
    fc.assert(
      fc.property(fc.oneof(fc.string(), almost), (text) => {
        const read = readArguments(text);
        const value: unknown = read.ok ? JSON.parse(read.text) : {};
        expect(value !== null && typeof value === "object" && !Array.isArray(value)).toBe(true);
      }),
    );
  });

  it("never accepts a cut", () => {
    const full = object.filter((value) => Object.keys(value).length > 0).map((value) => JSON.stringify(value));
    fc.assert(
      fc.property(full, fc.nat(), (text, at) => {
        expect(readArguments(text.slice(0, 1 + (at % (text.length - 1)))).ok).toBe(false);
      }),
    );
  });
});
