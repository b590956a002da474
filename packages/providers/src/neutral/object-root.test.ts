import type { JsonObject } from "@chartroom/domain";
import { describe, expect, it } from "vitest";
import { objectRoot } from "./object-root.ts";

const string = { type: "string" };
const integer = { type: "integer" };

describe("objectRoot (TL-07)", () => {
  it("leaves an acceptable schema as it is, nested alternatives included", () => {
    const schema: JsonObject = {
      $schema: "x",
      additionalProperties: false,
      type: "object",
      properties: { a: { anyOf: [string, integer] } },
      required: ["a"],
    };
    expect(objectRoot(schema)).toBe(schema);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ["nothing", {}, { type: "object", properties: {} }],
    ["no properties", { type: "object" }, { type: "object", properties: {} }],
    [
      "a nullable root",
      { type: ["object", "null"], properties: { a: string } },
      { type: "object", properties: { a: string } },
    ],
    [
      "allOf: everything of every part",
      {
        description: "D.",
        allOf: [
          { properties: { a: string }, required: ["a"] },
          { properties: { b: integer }, required: ["b"] },
        ],
      },
      { type: "object", properties: { a: string, b: integer }, required: ["a", "b"], description: "D." },
    ],
    [
      "oneOf: all properties, required what each variant requires",
      {
        type: "object",
        description: "D.",
        properties: { id: string },
        required: ["id"],
        oneOf: [
          { properties: { a: string, c: string }, required: ["a", "c"] },
          { properties: { b: integer, c: string }, required: ["b", "c"] },
        ],
      },
      {
        type: "object",
        properties: { id: string, a: string, c: string, b: integer },
        required: ["id", "c"],
        description: "D. Give one of these sets of properties: {a, c} or {b, c}.",
      },
    ],
    [
      "anyOf with one variant and null",
      { anyOf: [{ type: "object", properties: { a: string }, required: ["a"] }, { type: "null" }] },
      { type: "object", properties: { a: string }, required: ["a"] },
    ],
    [
      "a property that the variants describe differently",
      {
        oneOf: [{ properties: { v: string } }, { properties: { v: integer } }, { properties: { v: string } }],
      },
      {
        type: "object",
        properties: { v: { anyOf: [string, integer] } },
        description: "Give one of these sets of properties: {v} or {v} or {v}.",
      },
    ],
    [
      "a root reference",
      { $ref: "#/$defs/Args", $defs: { Args: { type: "object", properties: { a: string }, required: ["a"] } } },
      {
        type: "object",
        properties: { a: string },
        required: ["a"],
        $defs: { Args: { type: "object", properties: { a: string }, required: ["a"] } },
      },
    ],
    [
      "if, else, not and enum at the root",
      { type: "object", properties: { a: string }, if: {}, else: {}, not: {}, enum: [{}] },
      { type: "object", properties: { a: string } },
    ],
    ["what is required but not described", { type: "object", required: ["ghost"] }, { type: "object", properties: {} }],
  ])("%s", (_, schema, expected) => {
    const text = JSON.stringify(objectRoot(schema));
    expect(text).toBe(JSON.stringify(expected));
    expect(JSON.stringify(objectRoot(structuredClone(schema)))).toBe(text);
  });

  it("ends on a schema that refers to itself", () => {
    expect(objectRoot({ $ref: "#" })).toEqual({ type: "object", properties: {} });
    expect(objectRoot({ allOf: [{ $ref: "#" }, { properties: { a: string } }] })).toMatchObject({
      properties: { a: string },
    });
  });
});
