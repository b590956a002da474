import { describe, expect, onTestFinished } from "vitest";
import { test } from "../support/database.ts";
import { append, run, runRequest, runSse } from "../support/gateway/agent-client.ts";
import { type PeerKind, peerOf } from "../support/gateway/peer.ts";
import { person } from "../support/person.ts";
import { say, scriptedModels } from "../support/scripted-provider.ts";
import { startTestServer } from "../support/server.ts";

const ADA = "token-of-ada-0123456789";
const BOB = "token-of-bob-0123456789";

describe("members", () => {
  test("cannot see, continue or attach to the conversation of another: it is not found", async ({ url }) => {
    const models = scriptedModels(say("for ada only"), say("again for ada"));
    const server = await startTestServer({
      databaseUrl: url,
      models: models.directory,
      config: {
        tokens: [
          { member: "ada", token: "env:ADA" },
          { member: "bob", token: "env:BOB" },
        ],
      },
      env: { ADA, BOB },
    });
    const ada = await person(server.url, { token: ADA });
    const bob = await person(server.url, { token: BOB });
    onTestFinished(async () => {
      ada.leave();
      bob.leave();
      await server.stop();
    });
    const conversation = await ada.conversation();
    const first = await ada.say(conversation, "hello");
    expect(first).toMatchObject({ outcome: "completed", text: "for ada only" });

    const stranger = await bob.conversation("default", conversation.id);
    expect(await bob.say(stranger, "let me in")).toMatchObject({
      outcome: "failed",
      text: "",
      error: { code: "not_found" },
    });
    expect(models.requests).toHaveLength(1);
    // a request id belongs to the member who used it: the same one of another member is another stream
    const peer = (kind: PeerKind, token: string) => {
      const made = peerOf(kind, server.port, "", token);
      onTestFinished(() => made.close());
      return made;
    };
    const down = runSse(peer("h1", BOB), first.requestId);
    const late = await append(
      peer("h1", BOB),
      first.requestId,
      0,
      runRequest({ conversationId: conversation.id, messageId: "m-1" }),
    );
    expect(late.status).toBe(200);
    expect(await down.over()).toMatchObject({ kind: "error", code: "not_found" });
    expect(down.texts).toEqual([]);
    const direct = run(peer("h2c", BOB), "bob-1");
    direct.send(runRequest({ conversationId: conversation.id, messageId: "m-2" }));
    expect(await direct.over()).toMatchObject({ kind: "error", code: "not_found" });
    expect(models.requests).toHaveLength(1);

    expect(await ada.say(conversation, "still there?")).toMatchObject({ outcome: "completed", text: "again for ada" });
  });

  test("without a token get nothing but /healthz", async ({ url }) => {
    const server = await startTestServer({
      databaseUrl: url,
      config: { tokens: [{ member: "ada", token: "env:ADA" }] },
      env: { ADA },
    });
    onTestFinished(() => server.stop());
    const status = async (method: string, path: string, token = ""): Promise<number> => {
      const peer = peerOf("h2c", server.port, "", token);
      const { status: told } = await peer.send(method, path, { "content-type": "application/proto" });
      peer.close();
      return told;
    };
    // a stream says it in its end, with status 200 (the Connect protocol)
    for (const token of ["", "wrong-token-0123456789"]) {
      const peer = peerOf("h2c", server.port, "", token);
      const streams = [run(peer, "r-1"), runSse(peer, "r-2"), runSse(peer, "r-3", "grpcWeb")];
      for (const stream of streams) {
        expect(await stream.over()).toMatchObject({ kind: "error", code: "unauthenticated" });
        expect(stream.messages).toEqual([]);
      }
      peer.close();
    }
    const calls = [
      "/agent.v1.AgentService/GetUsableModels",
      "/agent.v1.AgentService/NameAgent",
      "/aiserver.v1.BidiService/BidiAppend",
      "/no.such.Service/Call",
      "/auth/exchange_user_api_key",
    ];
    for (const path of calls) {
      expect([path, await status("POST", path)]).toEqual([path, 401]);
      expect([path, await status("POST", path, "wrong-token-0123456789")]).toEqual([path, 401]);
    }
    expect(await status("GET", "/readyz")).toBe(401);
    expect(await status("GET", "/metrics")).toBe(401);
    expect(await status("GET", "/metrics", ADA)).toBe(200);
    expect(await status("GET", "/healthz")).toBe(200);
    expect(await status("POST", "/agent.v1.AgentService/GetUsableModels", ADA)).toBe(200);
  });
});
