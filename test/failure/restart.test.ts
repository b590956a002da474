import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openAiStub, type StubAnswer } from "../support/openai-stub.ts";
import { person } from "../support/person.ts";
import { endLeftBehind, runProgram, type ServerProcess, startServerProcess } from "../support/server.ts";

/** A server with a built-in Postgres and a stub as its vendor, that can be killed and started again at the same address. */
async function town(answer: Parameters<typeof openAiStub>[0]) {
  const vendor = await openAiStub(answer);
  const data = fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-data-"));
  fs.chmodSync(data, 0o755);
  let server: ServerProcess | undefined;
  onTestFinished(async () => {
    await server?.stop();
    await endLeftBehind(data);
    fs.rmSync(data, { recursive: true, force: true });
    await vendor.close();
  });
  const settings = {
    dataFolder: data,
    config: {
      providers: [
        { id: "stub", kind: "openai", baseUrl: vendor.url, apiKey: "env:STUB_KEY", models: [{ id: "stub-model" }] },
      ],
    },
    env: { STUB_KEY: "stub-key" },
  };
  return {
    vendor,
    settings,
    async start(): Promise<ServerProcess> {
      server = await startServerProcess({ ...settings, ...(server ? { port: server.port } : {}) });
      return server;
    },
  };
}

const says = (...text: string[]): StubAnswer => ({ text });

describe.each(["h1", "h2"] as const)(
  "a server that is killed with -9, with a client over %s",
  { timeout: 120_000 },
  (transport) => {
    it("goes on with the same conversation and its history after a restart", async () => {
      const { vendor, settings, start } = await town((request) =>
        says(`answer ${request.messages.filter(({ role }) => role === "user").length}`),
      );
      const first = await start();
      const ada = await person(first.url, { transport });
      onTestFinished(() => ada.leave());
      const conversation = await ada.conversation();
      expect(await ada.say(conversation, "remember the word quartz")).toMatchObject({ outcome: "completed" });
      // a turn in which nothing is wrong leaves no line
      expect(first.output.stderr).toBe("");
      await first.kill("SIGKILL");

      const second = await start();
      const result = await ada.say(conversation, "which word?");
      expect(result).toMatchObject({ outcome: "completed", conversation: conversation.id });
      const [before, after] = vendor.requests
        .slice(-2)
        .map(({ body }) => (JSON.parse(body) as { messages: unknown[] }).messages);
      expect(JSON.stringify(after)).toContain("remember the word quartz");
      // the prompt of the first turn is, byte for byte, the beginning of the second one's
      expect(after?.slice(0, before?.length)).toEqual(before);

      const shown = await runProgram(["show", conversation.id, "--json"], settings);
      expect(JSON.parse(shown.stdout)).toMatchObject({
        conversationId: conversation.id,
        runs: [{ status: "completed" }, { status: "completed" }],
      });
      const replayed = await runProgram(["replay", conversation.id], settings);
      expect(replayed).toMatchObject({ code: 0, stderr: "" });
      const examined = await runProgram(["doctor", conversation.id], settings);
      expect(examined).toMatchObject({ code: 0, stdout: "The history is in order.\n" });
      // looking needs no server, and leaves none
      await second.kill("SIGTERM");
      const without = await runProgram(["replay", conversation.id, "--json"], settings);
      expect(without).toMatchObject({ code: 0, stderr: "" });
      expect(JSON.parse(without.stdout)).toMatchObject({ ok: true, activations: 2, state: "idle" });
      expect(fs.existsSync(path.join(settings.dataFolder, "postgres", "data", "postmaster.pid"))).toBe(false);
    });

    it("carries on the turn that it was in, and the client sees its end once", async () => {
      const hold = Promise.withResolvers<void>();
      let calls = 0;
      const { start } = await town(() => {
        calls++;
        return calls === 1 ? { text: ["half a ", "never sent"], before: hold.promise } : says("the whole answer");
      });
      onTestFinished(() => hold.resolve());
      const first = await start();
      const ada = await person(first.url, { transport });
      onTestFinished(() => ada.leave());
      const conversation = await ada.conversation();
      const restarted = Promise.withResolvers<void>();
      const ends: string[] = [];
      const result = await ada.say(conversation, "begin", (event) => {
        if (event.type === "text" && event.text.includes("half") && calls === 1)
          void first
            .kill("SIGKILL")
            .then(start)
            .then(() => restarted.resolve(), restarted.reject);
        if (event.type === "turn.ended") ends.push(event.type);
      });
      await restarted.promise;
      expect(result).toMatchObject({ outcome: "completed" });
      expect(result.text).toContain("the whole answer");
      expect(ends).toHaveLength(1);
      expect(calls).toBe(2);
    });
  },
);
