import path from "node:path";
import { defaultSettings } from "@chartroom/conversation";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../src/config/load.ts";
import { ConfigError } from "../src/config/problem.ts";
import { folderWith, load, problems, problemsOf } from "./config-folder.ts";

describe("without a file", () => {
  it("starts with the demo model on loopback, the data where it is started", () => {
    const folder = folderWith({});
    const config = loadConfig({ folder, env: {} });
    expect(config).toMatchObject({
      file: undefined,
      host: "127.0.0.1",
      port: 7788,
      tokens: [],
      dataFolder: path.join(folder, ".chartroom"),
      databaseUrl: undefined,
      providers: [{ id: "demo", kind: "demo" }],
      settings: defaultSettings,
      drainMs: 10_000,
      logLevel: "warn",
    });
  });

  it("takes a provider whose key alone is in the environment, before the demo model", () => {
    const kinds = (env: Record<string, string>) =>
      loadConfig({ folder: folderWith({}), env }).providers.map((provider) => provider.kind);
    expect(kinds({ OPENAI_API_KEY: "sk-1" })).toEqual(["openai", "demo"]);
    expect(kinds({ ANTHROPIC_API_KEY: "sk-2" })).toEqual(["anthropic", "demo"]);
    expect(kinds({ OPENAI_API_KEY: "sk-1", ANTHROPIC_API_KEY: "sk-2" })).toEqual(["anthropic", "openai", "demo"]);
    expect(kinds({ OPENAI_API_KEY: " " })).toEqual(["demo"]);
  });

  it("is refused where a file was asked for by name", () => {
    const folder = folderWith({});
    expect(problemsOf(() => loadConfig({ folder, env: {}, file: "other.yaml" }))).toEqual([": there is no such file"]);
    expect(problemsOf(() => loadConfig({ folder, env: { CHARTROOM_CONFIG: "other.yaml" } }))).toEqual([
      ": there is no such file",
    ]);
  });
});

describe("a file", () => {
  it("may be empty, and a section may be", () => {
    expect(load("").port).toBe(7788);
    expect(load("# nothing\nlimits:\nproviders:\n").providers).toHaveLength(1);
  });

  it("gives the data folder from its own place, the environment from where the server is started", () => {
    const folder = folderWith({ "chartroom.yaml": "data: rooms\n" });
    const elsewhere = folderWith({});
    const file = path.join(folder, "chartroom.yaml");
    expect(loadConfig({ folder: elsewhere, env: {}, file }).dataFolder).toBe(path.join(folder, "rooms"));
    expect(loadConfig({ folder: elsewhere, env: { CHARTROOM_DATA: "d" }, file }).dataFolder).toBe(
      path.join(elsewhere, "d"),
    );
  });

  it("gives way to the environment for port and database", () => {
    const yaml = "listen:\n  port: 4000\ndatabase: env:OTHER\n";
    const config = load(yaml, { CHARTROOM_PORT: "0", DATABASE_URL: "postgres://a/b", OTHER: "postgres://c/d" });
    expect(config).toMatchObject({ port: 0, databaseUrl: "postgres://a/b" });
    expect(load(yaml, { OTHER: "postgres://c/d" })).toMatchObject({ port: 4000, databaseUrl: "postgres://c/d" });
  });

  it("that is not YAML is refused with its line, without its text", () => {
    expect(problems("listen:\n  port: [1\nmarked-secret: x\n")).toEqual([
      expect.stringMatching(/^line \d: not YAML \(\w+\)$/u),
    ]);
    expect(problems("data: a\ndata: b\n")).toEqual(["line 2: not YAML (DUPLICATE_KEY)"]);
    expect(problems("- a\n- b\n")).toEqual([": a map of settings"]);
    expect(problems("data: *nowhere\n").length).toBe(1);
  });

  it("with settings that do not exist is refused, at every depth", () => {
    expect(problems("prot: 1\nlisten:\n  prot: 2\nlimits:\n  prepareMS: 3\n")).toEqual([
      "prot: there is no such setting",
      "listen.prot: there is no such setting",
      "limits.prepareMS: there is no such setting",
    ]);
  });

  it("tells everything that is wrong at once, in one readable text", () => {
    const yaml = `
listen: { host: 0.0.0.0, port: 70000 }
tokens:
  - { member: ada, token: env:NO_TOKEN }
providers:
  - { id: one, kind: openai, apiKey: sk-live-marked }
  - { id: two, kind: anthropic, apiKey: env:NO_KEY }
  - { id: three, kind: bedrock }
limits: { maxSteps: 0 }
log: { level: loud }
`;
    const told = problems(yaml);
    expect(told.map((line) => line.slice(0, line.indexOf(":")))).toEqual([
      "listen.port",
      "providers[0].apiKey",
      "providers[2].kind",
      "limits.maxSteps",
      "log.level",
      "tokens[0].token",
      "providers[1].apiKey",
    ]);
    const error = problemsText(yaml);
    expect(error.message.split("\n")[0]).toBe("chartroom.yaml is not valid:");
    expect(error.message).toContain("\n  tokens[0].token: the environment variable NO_TOKEN is not set\n");
    // the value that should not stand there is not repeated
    expect(error.message).not.toContain("sk-live-marked");
  });
});

function problemsText(yaml: string): ConfigError {
  try {
    load(yaml);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("nothing is wrong");
}

describe("a port of the environment", () => {
  it.each(["x", "-1", "65536", "1.5", "80 ", "0x50"])("%j is refused", (text) => {
    expect(problems("", { CHARTROOM_PORT: text })).toEqual(["CHARTROOM_PORT: a whole number from 0 to 65535"]);
  });
});

describe("limits", () => {
  it("replace the defaults one by one", () => {
    const { settings, gatewayLimits, drainMs } = load(
      "limits:\n  modelMs: 1000\n  modelIdleMs: 200\n  heartbeatIntervalMs: 50\n  drainMs: 7\n  transportWaitMs: 9\n  outputRetentionMs: 11\n",
    );
    expect(settings).toEqual({
      ...defaultSettings,
      modelMs: 1000,
      heartbeatIntervalMs: 50,
      outputRetentionMs: 11,
      model: { idleMs: 200, headersMs: 200, totalMs: 1000 },
    });
    expect(gatewayLimits).toEqual({ heartbeatMs: 50, waitMs: 9, retentionMs: 11 });
    expect(drainMs).toBe(7);
  });

  it.each([
    ["modelMs: 0", "limits.modelMs"],
    ["modelMs: 1.5", "limits.modelMs"],
    ["modelMs: 2147483648", "limits.modelMs"],
    ["heartbeatJitterRatio: 0.6", "limits.heartbeatJitterRatio"],
    ["maxOpenRunsPerMember: 5000", "limits.maxOpenRunsPerMember"],
    ["parkedRunTtlMs: 5000", "limits.parkedRunTtlMs"],
    ["commitMs: 1000", "limits.commitMs"],
    ["maxAttempts: 21", "limits.maxAttempts"],
  ])("%s is refused", (line, at) => {
    const told = problems(`limits:\n  ${line}\n`);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(new RegExp(`^${at.replace(".", "\\.")}: .+`, "u"));
  });
});
