import { describe, expect, onTestFinished } from "vitest";
import { test } from "../support/database.ts";
import { type PeerKind, peerOf } from "../support/gateway/peer.ts";
import { say, scriptedModels } from "../support/scripted-provider.ts";
import { startTestServer } from "../support/server.ts";
import { expectFinished } from "../support/wire-checks.ts";
import { WireClient } from "../support/wire-client.ts";

const json = { "content-type": "application/json" };
const kinds: readonly PeerKind[] = ["h1", "h2c"];
const CALLS = [
  "/agent.v1.AgentService/GetUsableModels",
  "/aiserver.v1.AiService/AvailableModels",
  "/aiserver.v1.NetworkService/IsConnected",
];

describe.each(kinds)("a whole server without tokens, over %s", (kind) => {
  test("answers every unary call of a caller at its loopback address, and none at another name", async ({ url }) => {
    const server = await startTestServer({ databaseUrl: url });
    onTestFinished(() => server.stop());
    const peer = peerOf(kind, server.port, "", "");
    onTestFinished(() => peer.close());
    for (const path of CALLS) {
      const reply = await peer.send("POST", path, json, "{}");
      expect([path, reply.status]).toEqual([path, 200]);
      const rebound = { [kind === "h1" ? "host" : ":authority"]: `rebound.example:${server.port}` };
      const refused = await peer.send("POST", path, { ...json, ...rebound }, "{}");
      expect([path, refused.status]).toEqual([path, 401]);
    }
  });
});

test("a client that runs over HTTP/2 at the host that it is told of is served there (TR-11)", async ({ url }) => {
  const server = await startTestServer({ databaseUrl: url, models: scriptedModels(say("Served.")).directory });
  onTestFinished(() => server.stop());
  const peer = peerOf("h1", server.port, "", "");
  onTestFinished(() => peer.close());
  const reply = await peer.send("POST", "/aiserver.v1.ServerConfigService/GetServerConfig", json, "{}");
  const { agentUrlConfig } = JSON.parse(reply.body.toString()) as { agentUrlConfig: Record<string, string> };
  for (const host of [agentUrlConfig["agentUrl"], agentUrlConfig["agentnUrl"]]) {
    const { hostname, port, protocol } = new URL(host ?? "");
    expect([hostname, protocol]).toEqual(["127.0.0.1", "http:"]);
    const person = new WireClient(Number(port), { transport: "run" });
    onTestFinished(() => person.close());
    const stream = person.stream();
    await stream.send(person.runRequest("Where are you?"));
    await stream.down.over();
    expectFinished(stream.down);
    expect(stream.down.text).toBe("Served.");
  }
});

test("what nobody expected of a call is in the log, without a word of what was thrown", async ({ url }) => {
  const { directory } = scriptedModels();
  let breaks = false;
  const models: typeof directory = {
    ...directory,
    list: () => {
      if (breaks) throw new Error("marked-content");
      return directory.list();
    },
  };
  const server = await startTestServer({ databaseUrl: url, models });
  onTestFinished(() => server.stop());
  const peer = peerOf("h2c", server.port, "", "");
  onTestFinished(() => peer.close());
  breaks = true;
  const reply = await peer.send("POST", CALLS[0] ?? "", json, "{}");
  expect(reply.status).toBe(500);
  const [error, ...more] = server.events.filter(({ type }) => type === "gateway.error");
  expect(error).toMatchObject({ message: expect.stringMatching(/^Error at .*open-server\.test\.ts/u) });
  expect(more).toEqual([]);
  expect(JSON.stringify(error) + reply.body.toString()).not.toContain("marked");
});
