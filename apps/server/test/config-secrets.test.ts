import fs from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { folderWith, load, problems } from "./config-folder.ts";

const provider = (apiKey: string): string => `providers:\n  - { id: one, kind: openai, apiKey: "${apiKey}" }\n`;
const keyOf = (config: ReturnType<typeof load>): unknown => (config.providers[0] as { apiKey?: unknown }).apiKey;

describe("a secret", () => {
  it("comes from the environment or from a file beside the configuration, without the line's end", () => {
    expect(keyOf(load(provider("env:KEY"), { KEY: "sk-1\n" }))).toBe("sk-1");
    expect(keyOf(load(provider("file:key.txt"), {}, { "key.txt": "sk-2\n" }))).toBe("sk-2");
    const other = folderWith({ key: "sk-3" });
    expect(keyOf(load(provider(`file:${path.join(other, "key")}`)))).toBe("sk-3");
  });

  it.each(["sk-live", "$KEY", "env:", "env:1X", "env:A B", "file:", "vault:x", ""])("%j is refused", (value) => {
    expect(problems(provider(value))).toEqual([
      "providers[0].apiKey: a secret is env:NAME or file:PATH, never the value itself",
    ]);
  });

  it("that is not there, or empty, is refused by the name of its source", () => {
    expect(problems(provider("env:KEY"))).toEqual(["providers[0].apiKey: the environment variable KEY is not set"]);
    expect(problems(provider("env:KEY"), { KEY: "  " })).toEqual([
      "providers[0].apiKey: the environment variable KEY is not set",
    ]);
    expect(problems(provider("file:none"))).toEqual(["providers[0].apiKey: the file none cannot be read"]);
    expect(problems(provider("file:e"), {}, { e: "\n" })).toEqual(["providers[0].apiKey: the file e is empty"]);
  });

  it("holds for the database and for headers that carry keys", () => {
    expect(problems("database: postgres://user:password@host/db\n")).toEqual([
      "database: a secret is env:NAME or file:PATH, never the value itself",
    ]);
    const headers = (text: string) =>
      `providers:\n  - { id: one, kind: openai, apiKey: env:KEY, headers: { ${text} } }\n`;
    for (const name of ["Authorization", "x-api-key", "api-key", "cookie", "X-Gateway-Token", "my-secret"])
      expect(problems(headers(`${name}: marked`), { KEY: "k" })).toEqual([
        `providers[0].headers.${name}: a secret is env:NAME or file:PATH, never the value`,
      ]);
    const config = load(headers('x-gateway-token: "env:GATE", x-team: red'), { KEY: "k", GATE: "g" });
    expect(config.providers[0]).toMatchObject({ headers: { "x-gateway-token": "g", "x-team": "red" } });
    expect(problems(headers('x-team: "env:GATE"'), { KEY: "k" })).toEqual([
      "providers[0].headers.x-team: the environment variable GATE is not set",
    ]);
  });

  it("is not part of an address", () => {
    const yaml =
      "providers:\n  - { id: one, kind: openai, baseUrl: 'https://user:marked@host/v1', models: [{ id: m }] }\n";
    expect(problems(yaml)).toEqual(["providers[0].baseUrl: no user or password in an address: use apiKey or headers"]);
  });
});

describe("tokens", () => {
  const long = "0123456789abcdef";

  it("give each member a hash to look up, a team and roles", () => {
    const yaml =
      "tokens:\n  - { member: ada, token: env:A }\n  - { member: bob, token: env:B, team: red, roles: [admin] }\n";
    expect(load(yaml, { A: `${long}a`, B: `${long}b` }).tokens).toEqual([
      { member: "ada", team: "team", roles: ["member"], token: `${long}a` },
      { member: "bob", team: "red", roles: ["admin"], token: `${long}b` },
    ]);
  });

  it("are refused when they are short, shared, not for a header, or nobody's", () => {
    const yaml = "tokens:\n  - { member: ada, token: env:A }\n  - { member: bob, token: env:B }\n";
    expect(problems(yaml, { A: "short", B: long })).toEqual(["tokens[0].token: shorter than 16 characters"]);
    expect(problems(yaml, { A: long, B: long })).toEqual(["tokens[1].token: the same token as another entry's"]);
    expect(problems(yaml, { A: `${long} x`, B: long })).toEqual([
      "tokens[0].token: blanks or characters that are not ASCII",
    ]);
    expect(problems("tokens:\n  - { token: env:A }\n", { A: long })[0]).toMatch(/^tokens\[0\]\.member: /u);
    expect(problems("tokens:\n  - { member: 'a b', token: env:A }\n", { A: long })).toEqual([
      "tokens[0].member: letters, digits or ._@-, at most 64",
    ]);
    expect(problems("tokens: env:A\n")).toEqual(["tokens: a list"]);
  });

  it("may have one member with several tokens", () => {
    const yaml = "tokens:\n  - { member: ada, token: env:A }\n  - { member: ada, token: env:B }\n";
    expect(load(yaml, { A: `${long}a`, B: `${long}b` }).tokens.map(({ member }) => member)).toEqual(["ada", "ada"]);
  });
});

describe("a file of secrets", () => {
  it("is not followed into a folder", () => {
    const folder = folderWith({});
    fs.mkdirSync(path.join(folder, "dir"));
    expect(problems(provider(`file:${path.join(folder, "dir")}`))[0]).toMatch(/cannot be read$/u);
  });
});
