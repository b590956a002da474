import { describe, expect, it } from "vitest";
import { authentication } from "../src/auth.ts";

const headers =
  (given: Readonly<Record<string, string>>) =>
  (name: string): string | undefined =>
    given[name];

describe("without tokens", () => {
  const who = authentication([]);
  const called = (host: string) => who(headers({ host }));

  it.each(["127.0.0.1:7788", "localhost:7788", "localhost", "[::1]:7788", "chartroom.localhost:1"])(
    "a caller at %s is the local member",
    (host) => {
      expect(called(host)).toMatchObject({ ok: true, value: { member: "local" } });
      expect(who(headers({ ":authority": host }))).toMatchObject({ ok: true });
    },
  );

  it.each(["rebound.example:7788", "127.0.0.1.example", "", "a b", "user@127.0.0.1@x"])(
    "a page that reaches loopback as %j is nobody",
    (host) => {
      expect(called(host)).toMatchObject({ ok: false, error: { code: "UNAUTHENTICATED" } });
    },
  );

  it("a client that names no host is the local member, as is one at the public address", () => {
    expect(who(headers({}))).toMatchObject({ ok: true });
    const open = authentication([], "https://chartroom.example");
    expect(open(headers({ host: "chartroom.example" }))).toMatchObject({ ok: true });
    expect(open(headers({ host: "other.example" }))).toMatchObject({ ok: false });
  });
});

describe("with tokens", () => {
  const who = authentication([
    { member: "ada", team: "red", roles: ["admin"], token: "token-of-ada-0123" },
    { member: "bob", team: "red", roles: ["member"], token: "token-of-bob-0123" },
  ]);
  const bearing = (authorization: string) => who(headers({ authorization, host: "127.0.0.1" }));

  it("a bearer token tells the member, its team and roles", () => {
    expect(bearing("Bearer token-of-ada-0123")).toEqual({
      ok: true,
      value: { member: "ada", team: "red", roles: ["admin"] },
    });
    expect(bearing("bearer token-of-bob-0123")).toMatchObject({ value: { member: "bob" } });
  });

  it.each([
    "",
    "Bearer",
    "Bearer token-of-ada-012",
    "Bearer token-of-ada-01234",
    "Basic token-of-ada-0123",
    "token-of-ada-0123",
  ])("%j is nobody, on loopback too", (authorization) => {
    expect(bearing(authorization)).toMatchObject({ ok: false, error: { code: "UNAUTHENTICATED" } });
  });
});
