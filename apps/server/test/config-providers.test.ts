import { describe, expect, it } from "vitest";
import { load, problems } from "./config-folder.ts";

describe("providers", () => {
  it("take the vendor's key of the environment at the vendor's own address", () => {
    const yaml = "providers:\n  - { id: a, kind: openai }\n  - { id: b, kind: anthropic }\n";
    expect(load(yaml, { OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "c" }).providers).toEqual([
      { id: "a", kind: "openai", apiKey: "o" },
      { id: "b", kind: "anthropic", apiKey: "c" },
      { id: "demo", kind: "demo" },
    ]);
    expect(problems(yaml)).toEqual([
      "providers[0].apiKey: the environment variable OPENAI_API_KEY is not set",
      "providers[1].apiKey: the environment variable ANTHROPIC_API_KEY is not set",
    ]);
  });

  it("send no key to an address of one's own unless one is configured", () => {
    const yaml =
      "providers:\n  - { id: local, kind: openai, baseUrl: 'http://127.0.0.1:11434/v1', models: [{ id: llama }] }\n";
    expect(load(yaml, { OPENAI_API_KEY: "not-for-this-one" }).providers[0]).toEqual({
      id: "local",
      kind: "openai",
      baseUrl: "http://127.0.0.1:11434/v1",
      apiKey: "",
      auth: "none",
      models: [{ id: "llama" }],
    });
  });

  it("pass on models, bounds and what differs between vendors", () => {
    const config = load(
      `
demoModel: false
defaultModel: fast
providers:
  - id: gate
    kind: anthropic
    baseUrl: https://gate.example/anthropic
    apiKey: env:KEY
    auth: bearer
    limits: { idleMs: 1000 }
    options: { cache: 1h }
    models:
      - { id: big, upstream: claude-x, contextWindow: 200000, maxOutputTokens: 8000, images: true, thinking: adaptive, aliases: [fast] }
`,
      { KEY: "k" },
    );
    expect(config.defaultModel).toBe("fast");
    expect(config.providers).toEqual([
      {
        id: "gate",
        kind: "anthropic",
        baseUrl: "https://gate.example/anthropic",
        apiKey: "k",
        auth: "bearer",
        limits: { idleMs: 1000 },
        options: { cache: "1h" },
        models: [
          {
            id: "big",
            upstream: "claude-x",
            contextWindow: 200_000,
            maxOutputTokens: 8000,
            images: true,
            thinking: "adaptive",
            aliases: ["fast"],
          },
        ],
      },
    ]);
  });

  it("may have the scripted model with a pace, once", () => {
    expect(load("providers:\n  - { kind: demo, paceMs: 0 }\n").providers).toEqual([
      { id: "demo", kind: "demo", paceMs: 0 },
    ]);
    expect(load("providers:\n  - { kind: demo, id: toy }\n").providers).toEqual([{ id: "toy", kind: "demo" }]);
    expect(problems("providers:\n  - { kind: demo }\n  - { kind: demo }\n")[0]).toMatch(/^providers\[1\]/u);
    expect(problems("providers:\n  - { kind: demo, apiKey: env:KEY }\n")).toEqual([
      "providers[0].apiKey: there is no such setting",
    ]);
  });

  it.each([
    ["{ id: A, kind: openai, apiKey: env:KEY }", "providers[0].id"],
    ["{ id: a, kind: gemini, apiKey: env:KEY }", "providers[0].kind"],
    ["{ id: a }", "providers[0].kind"],
    ["{ id: a, kind: openai, apiKey: env:KEY, baseUrl: 'ftp://x', models: [{ id: m }] }", "providers[0].baseUrl"],
    ["{ id: a, kind: openai, apiKey: env:KEY, baseUrl: x, models: [{ id: m }] }", "providers[0].baseUrl"],
    ["{ id: a, kind: openai, apiKey: env:KEY, baseUrl: 'https://x/v1' }", "providers[0].models"],
    ["{ id: a, kind: openai, apiKey: env:KEY, models: [] }", "providers[0].models"],
    ["{ id: a, kind: openai, apiKey: env:KEY, models: [{ name: m }] }", "providers[0].models[0]"],
    ["{ id: a, kind: openai, apiKey: env:KEY, models: [{ id: m }, { id: m }] }", "providers[0].models[1]"],
    ["{ id: a, kind: openai, apiKey: env:KEY, models: [{ id: default }] }", "providers[0].models[0]"],
    ["{ id: a, kind: openai, apiKey: env:KEY, options: { cache: 5m } }", "providers[0].options.cache"],
    ["{ id: a, kind: openai, apiKey: env:KEY, auth: none }", "providers[0].auth"],
    ["{ id: a, kind: openai, apiKey: env:KEY, headers: { 'x y': z } }", "providers[0].headers"],
    ["{ id: a, kind: openai, apiKey: env:KEY, limits: { idleMs: -1 } }", "providers[0].limits.idleMs"],
    ["{ id: demo, kind: openai, apiKey: env:KEY }", "providers"],
    ["just words", "providers[0]"],
  ])("%s is refused", (entry, at) => {
    const told = problems(`providers:\n  - ${entry}\n`, { KEY: "k" });
    expect(told.length).toBeGreaterThan(0);
    for (const line of told) expect(line.startsWith(at)).toBe(true);
  });

  it("must have different names, with the place in the file though an earlier entry is broken", () => {
    const two = (first: string) =>
      `providers:\n  - ${first}\n  - { id: a, kind: openai, apiKey: env:KEY, models: [{ id: m }] }\n  - { id: a, kind: openai, apiKey: env:KEY, models: [{ id: m }] }\n`;
    const told = problems(two("{ id: b }"), { KEY: "k" });
    expect(told.map((line) => line.slice(0, line.indexOf(":")))).toEqual([
      "providers[0].kind",
      "providers[2].id",
      "providers[2].models[0]",
    ]);
  });

  it("must offer the default model", () => {
    expect(problems("defaultModel: nope\n")).toEqual(['defaultModel: there is no model "nope"']);
  });

  it("must be there when the demo model is off", () => {
    expect(problems("demoModel: false\n")).toEqual([
      "providers: no model: name a provider, or set OPENAI_API_KEY or ANTHROPIC_API_KEY",
    ]);
    expect(load("demoModel: false\n", { OPENAI_API_KEY: "k" }).providers.map(({ id }) => id)).toEqual(["openai"]);
  });
});
