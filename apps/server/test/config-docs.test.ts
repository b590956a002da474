import fs from "node:fs";
import { fileURLToPath } from "node:url";
import { defaultSettings } from "@chartroom/conversation";
import { GATEWAY_LIMITS } from "@chartroom/gateway";
import { describe, expect, it } from "vitest";
import { defaultDrainMs } from "../src/config/limits.ts";
import { loadConfig } from "../src/config/load.ts";
import { configJsonSchema } from "../src/config/schema.ts";
import { folderWith } from "./config-folder.ts";

const doc = (name: string): string => fileURLToPath(new URL(`../../../docs/${name}`, import.meta.url));
const read = (name: string): string => fs.readFileSync(doc(name), "utf8");

/** What a limit is when nobody configures it. */
const { model, ...same } = defaultSettings;
const defaults: Readonly<Record<string, number>> = {
  ...same,
  modelIdleMs: model.idleMs,
  modelHeadersMs: model.headersMs,
  transportWaitMs: GATEWAY_LIMITS.waitMs,
  drainMs: defaultDrainMs,
};

type Schema = { readonly [key: string]: unknown };

/** Every name of a setting, at any depth. */
function names(schema: Schema): readonly string[] {
  const properties = Object.entries((schema["properties"] ?? {}) as Record<string, Schema>);
  const inner = ["items", "additionalProperties"]
    .map((key) => schema[key])
    .filter((value): value is Schema => typeof value === "object" && value !== null);
  const either = ["oneOf", "anyOf"].flatMap((key) => (schema[key] ?? []) as readonly Schema[]);
  return [
    ...properties.flatMap(([name, value]) => [name, ...names(value)]),
    ...[...inner, ...either].flatMap((one) => names(one)),
  ];
}

describe("docs/chartroom.schema.json", () => {
  it("is what the configuration is read by (else: npm run --silent chartroom -- schema > docs/chartroom.schema.json)", () => {
    expect(JSON.parse(read("chartroom.schema.json"))).toEqual(configJsonSchema());
  });

  it("names each limit that there is", () => {
    const limits = (configJsonSchema()["properties"] as Record<string, Schema>)["limits"]!;
    expect(Object.keys(limits["properties"] as object).toSorted()).toEqual(Object.keys(defaults).toSorted());
  });
});

describe("docs/chartroom.example.yaml", () => {
  const text = read("chartroom.example.yaml");
  const env = {
    ADA_TOKEN: "a".repeat(16),
    ANTHROPIC_API_KEY: "k",
    GATEWAY_SECRET: "g",
  };

  it("is a valid configuration, whose limits are the defaults", () => {
    const folder = folderWith({});
    fs.mkdirSync(`${folder}/secrets`);
    fs.writeFileSync(`${folder}/secrets/bob.token`, "b".repeat(16));
    fs.writeFileSync(`${folder}/secrets/gateway.key`, "k");
    fs.writeFileSync(`${folder}/chartroom.yaml`, text);
    const config = loadConfig({ folder, env });
    const bare = loadConfig({ folder: folderWith({}), env: {} });
    expect(config).toMatchObject({
      host: bare.host,
      port: bare.port,
      settings: bare.settings,
      drainMs: bare.drainMs,
      logLevel: bare.logLevel,
    });
    expect(config.gatewayLimits).toEqual({
      heartbeatMs: GATEWAY_LIMITS.heartbeatMs,
      waitMs: GATEWAY_LIMITS.waitMs,
      retentionMs: GATEWAY_LIMITS.retentionMs,
    });
  });

  it("names every setting", () => {
    const missing = names(configJsonSchema()).filter((name) => !new RegExp(`^[#\\s-]*${name}:`, "mu").test(text));
    expect(missing).toEqual([]);
  });
});

describe("docs/operations.md", () => {
  it("lists every limit with its default", () => {
    const rows = [...read("operations.md").matchAll(/^\| `(\w+)` \| ([\d.]+) \|/gmu)];
    expect(Object.fromEntries(rows.map(([, name, value]) => [name, Number(value)]))).toEqual(defaults);
  });
});
