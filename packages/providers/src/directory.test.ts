import { afterEach, describe, expect, it } from "vitest";
import { HandClock } from "../test/hand-clock.ts";
import type { ProviderConfig } from "./config.ts";
import { createModelDirectory, type ModelDirectoryConfig, type OpenModelDirectory } from "./directory.ts";

const openai: ProviderConfig = { id: "openai", kind: "openai", apiKey: "k" };
const anthropic: ProviderConfig = { id: "anthropic", kind: "anthropic", apiKey: "k" };
const demo: ProviderConfig = { id: "demo", kind: "demo" };

describe("createModelDirectory", () => {
  const opened: OpenModelDirectory[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((directory) => directory.close()));
  });
  const create = (config: ModelDirectoryConfig) => createModelDirectory(config, { clock: new HandClock() });
  const open = (config: ModelDirectoryConfig): OpenModelDirectory => {
    const made = create(config);
    if (!made.ok) throw new Error(JSON.stringify(made.error));
    opened.push(made.value);
    return made.value;
  };
  const problems = (config: ModelDirectoryConfig) => {
    const made = create(config);
    return made.ok ? [] : made.error;
  };

  it("keys alone are enough: built-in models with their facts, no two of one name", () => {
    const directory = open({ providers: [anthropic, openai, demo] });
    const names = directory.list().flatMap(({ id, aliases }) => [id as string, ...aliases]);
    expect(new Set(names).size).toBe(names.length);
    for (const model of directory.list()) {
      expect(directory.resolve(model.id)?.model).toBe(model);
      expect(directory.resolve(model.id)?.provider.id).toBe(model.provider);
      expect(model.maxOutputTokens).toBeLessThan(model.contextWindow);
    }
    expect(directory.defaultModel.id).toBe("claude-opus-5-5");
    expect(directory.resolve("opus")?.model.id).toBe("claude-opus-5-5");
  });

  it("default, auto and nothing are the default model; an unknown model is none", () => {
    const directory = open({ providers: [openai, demo], defaultModel: "demo" });
    for (const asked of ["default", "auto", ""]) expect(directory.resolve(asked)?.model.id).toBe("demo");
    expect(directory.resolve("gpt-2")).toBeUndefined();
    expect(directory.resolve("__proto__")).toBeUndefined();
  });

  it("a configured model goes over what is built in, and an unknown one gets cautious numbers", () => {
    const directory = open({
      providers: [
        {
          ...anthropic,
          models: [
            { id: "sonnet", upstream: "claude-sonnet-5-5", maxOutputTokens: 1_000, aliases: ["s"] },
            { id: "home-made", thinking: true },
          ],
        },
      ],
    });
    expect(directory.resolve("s")?.model).toEqual({
      id: "sonnet",
      displayName: "Claude Sonnet 5.5",
      provider: "anthropic",
      upstreamModel: "claude-sonnet-5-5",
      contextWindow: 1_000_000,
      maxOutputTokens: 1_000,
      supportsImages: true,
      supportsThinking: true,
      aliases: ["s"],
    });
    expect(directory.resolve("home-made")?.model).toMatchObject({
      contextWindow: 128_000,
      maxOutputTokens: 8_192,
      supportsImages: false,
      supportsThinking: true,
    });
  });

  it("tells everything that is wrong at once, with its place", () => {
    expect(
      problems({
        providers: [
          { ...openai, models: [{ id: "a", aliases: ["b"] }, { id: "b" }, { id: "auto" }] },
          { ...anthropic, id: "openai", baseUrl: "http://127.0.0.1:1" },
        ],
        defaultModel: "c",
      }),
    ).toEqual([
      { path: "providers[1].id", message: 'a provider "openai" was named before' },
      { path: "providers[0].models[1]", message: 'a model "b" was named before' },
      { path: "providers[0].models[2]", message: '"auto" stands for the default model' },
      { path: "providers[1].models", message: "name at least one model" },
      { path: "defaultModel", message: 'there is no model "c"' },
    ]);
    expect(problems({ providers: [] })).toEqual([{ path: "providers", message: "there is no model" }]);
  });
});
