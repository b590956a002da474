import https from "node:https";
import { describe, expect, onTestFinished, vi } from "vitest";
import { test } from "../support/database.ts";
import { selfSigned } from "../support/gateway/certificate.ts";
import { person } from "../support/person.ts";
import { hang, say, scriptedModels } from "../support/scripted-provider.ts";
import { startTestServer } from "../support/server.ts";

/** A turn on a server whose model waits in the middle of its answer. */
async function inTheMiddle(url: string, drainMs: number, gate: Promise<void>) {
  const models = scriptedModels(hang(["half"], gate, say(" and half")));
  const server = await startTestServer({ databaseUrl: url, models: models.directory, config: { limits: { drainMs } } });
  const ada = await person(server.url, { retries: 0 });
  onTestFinished(() => ada.leave());
  const conversation = await ada.conversation();
  const shown = Promise.withResolvers<void>();
  const result = ada.say(conversation, "begin", (event) => event.type === "text" && shown.resolve());
  await shown.promise;
  return { server, ada, conversation, result };
}

describe("a server that is asked to stop", () => {
  test("takes no new Run, lets one end that ends in time, and then is gone", async ({ url }) => {
    const gate = Promise.withResolvers<void>();
    const { server, ada, result } = await inTheMiddle(url, 20_000, gate.promise);
    const stopped = server.stop();
    await vi.waitFor(async () => {
      expect((await fetch(`${server.url}/readyz`)).status).toBe(503);
    });
    expect(await ada.say(await ada.conversation(), "anybody?")).toMatchObject({ error: { code: "unavailable" } });
    gate.resolve();
    expect(await result).toMatchObject({ outcome: "completed", text: "half and half" });
    await stopped;
    expect(await ada.say(await ada.conversation(), "anybody?")).toMatchObject({ error: { kind: "unreachable" } });
  });

  test("tells the client of one that does not to come back, and leaves the conversation free", async ({
    url,
    node,
  }) => {
    const { server, conversation, result } = await inTheMiddle(url, 300, new Promise(() => undefined));
    const stopped = server.stop();
    expect(await result).toMatchObject({ outcome: "failed", error: { code: "unavailable", retryable: true } });
    await stopped;
    const view = await node.store.inspect(conversation.id as never);
    expect(view).toMatchObject({ owner: undefined, runs: [{ status: "running" }] });
  });
});

describe("a server with a certificate", () => {
  test("speaks TLS and plain HTTP on its port", async ({ url }) => {
    const { cert, key } = selfSigned();
    const server = await startTestServer({
      databaseUrl: url,
      config: { listen: { tls: { cert: "cert.pem", key: "key.pem" } } },
      files: { "cert.pem": cert, "key.pem": key },
    });
    onTestFinished(() => server.stop());
    expect(server.url).toBe(`https://127.0.0.1:${server.port}`);
    const status = await new Promise((resolve, reject) => {
      https.get(`${server.url}/readyz`, { ca: cert }, ({ statusCode }) => resolve(statusCode)).once("error", reject);
    });
    expect(status).toBe(200);
    expect((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status).toBe(200);
  });
});
