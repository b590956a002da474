import { fromJson } from "@bufbuild/protobuf";
import { agent } from "@chartroom/protocol";
import { describe, expect } from "vitest";
import { test as base } from "../support/database.ts";
import type { StreamDialect } from "../support/gateway/agent-client.ts";
import { call, say, type ScriptedModels, scriptedModels } from "../support/scripted-provider.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { WireClient, type WireTransport } from "../support/wire-client.ts";
import { type Exchange, exchanges, type Step } from "./exchange.ts";
import { Player } from "./played/player.ts";
import { SCRIPTS } from "./played/scripts.ts";

interface Place {
  readonly server: TestServer;
  readonly models: ScriptedModels;
}

const test = base.extend<{ place: Place }>({
  place: [
    async ({ url }, use) => {
      const models = scriptedModels();
      const limits = { maxAttempts: 2, retryBaseMs: 10, retryMaxMs: 10 };
      const server = await startTestServer({ databaseUrl: url, models: models.directory, config: { limits } });
      await use({ server, models });
      await server.stop();
    },
    { scope: "file" },
  ],
});

function playerOf(exchange: Exchange, { server, models }: Place, transport: WireTransport, dialect: StreamDialect) {
  models.answer(...(SCRIPTS[exchange.id] ?? []));
  const client = new WireClient(server.port, { transport, dialect });
  return { client, player: new Player(exchange, client) };
}

const find = (id: string): Exchange => exchanges.find((exchange) => exchange.id === id)!;
const WAYS = [
  ["Run over HTTP/2, Connect", "run", "connect"],
  ["RunSSE and BidiAppend over HTTP/1.1, Connect", "sse", "connect"],
  ["Run over HTTP/2, gRPC-Web", "run", "grpcWeb"],
  ["RunSSE and BidiAppend over HTTP/1.1, gRPC-Web", "sse", "grpcWeb"],
] as const;

/** A client has what the server of an example gave it. */
function keepBlob(client: WireClient, { from, message }: Step): void {
  if (from !== "server" || message === undefined) return;
  const { message: body } = fromJson(agent.AgentServerMessageSchema, message);
  const write = body.case === "kvServerMessage" ? body.value.message : undefined;
  if (write?.case === "setBlobArgs")
    client.blobs.set(Buffer.from(write.value.blobId).toString("hex"), write.value.blobData);
}

/** The rules of comparison stand at `Player` and in `played/compare.ts`. */
describe.each(WAYS)("the example exchanges over %s", (_, transport, dialect) => {
  const whole = exchanges
    .filter(({ id }) => id !== "subagent-task")
    .map((exchange) => [exchange.id, exchange] as const);
  test.for(whole)("%s", async ([, exchange], { place }) => {
    const { client, player } = playerOf(exchange, place, transport, dialect);
    await player.play();
    client.close();
    expect(place.server.conversations.openRuns).toBe(0);
  });

  test("reconnect, its second half on a server that never saw the conversation: blobs are fetched, and the open call is issued again with the same tool call id", async ({
    place,
  }) => {
    const exchange = find("reconnect");
    const { client, player } = playerOf(exchange, place, transport, dialect);
    place.models.answer(say("It holds x."));
    for (const step of exchange.steps) keepBlob(client, step);
    // the id of the call stands in the state that the client brings
    player.keepId("call_read_8");
    // this server has not shown its card yet
    player.allow("interactionUpdate.toolCallStarted");
    await player.play(({ n }) => n >= 10);
    expect(player.kinds.filter((kind) => kind === "kvServerMessage.getBlobArgs").length).toBeGreaterThan(0);
    const told = place.models.requests.at(-1)?.messages;
    const results = told?.flatMap((message) => (message.role === "tool" ? message.results : [])) ?? [];
    expect(results).toMatchObject([{ callId: "call_read_8", isError: false }]);
    client.close();
  });

  test("subagent-task, the child's half: a Run whose parent this server does not know", async ({ place }) => {
    const { client, player } = playerOf(find("subagent-task"), place, transport, dialect);
    await player.play(({ n }) => n >= 4 && n <= 9);
    client.close();
  });

  test("subagent-task, the parent's half as far as it goes: the Task tool comes with a later room, until then the call is a tool error and the Run goes on", async ({
    place,
  }) => {
    const exchange = find("subagent-task");
    const { client, player } = playerOf(exchange, place, transport, dialect);
    place.models.answer(
      call({ name: "Task", args: { description: "Find config", prompt: "Find where the config is loaded" } }),
      say("Config is loaded in src/config.ts."),
    );
    await player.play(({ n }) => n === 1 || n >= 14);
    expect(player.kinds).toContain("interactionUpdate.toolCallCompleted");
    const told = place.models.requests.at(-1)?.messages.at(-1);
    expect(told).toMatchObject({ role: "tool", results: [{ toolName: "Task", isError: true }] });
    expect(player.kinds.filter((kind) => kind.startsWith("execServerMessage"))).toEqual([]);
    client.close();
  });
});
