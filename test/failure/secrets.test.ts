import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openAiStub } from "../support/openai-stub.ts";
import { person } from "../support/person.ts";
import { endLeftBehind, startServerProcess } from "../support/server.ts";

/** Each stands in one place that must not show: in a log line, an error, or what the database writes. */
const MARKED = {
  key: "marked-provider-key-4711",
  header: "marked-header-secret-4711",
  token: "marked-member-token-4711",
  prompt: "marked-prompt-4711",
  file: "marked-file-content-4711",
  answer: "marked-model-answer-4711",
  vendorError: "marked-vendor-error-4711",
};

/** All files below a folder that Postgres or the server write for people. */
function logsIn(folder: string): readonly string[] {
  return fs
    .readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.log(?:\.\d)?$/u.test(name))
    .map((name) => path.join(folder, name));
}

it("a debug log of whole turns holds no key, token, prompt, tool result or answer", { timeout: 120_000 }, async () => {
  const vendor = await openAiStub((request) => {
    const last = request.messages.at(-1);
    if (JSON.stringify(last).includes("fail please")) return { text: [MARKED.vendorError], cut: true };
    return last?.role === "tool"
      ? { text: [MARKED.answer] }
      : { text: ["Let me look."], calls: [{ name: "Read", args: { path: "note.txt" } }] };
  });
  const data = fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-data-"));
  fs.chmodSync(data, 0o755);
  const server = await startServerProcess({
    dataFolder: data,
    config: {
      log: { level: "debug" },
      limits: { maxAttempts: 1 },
      tokens: [{ member: "ada", token: "env:ADA_TOKEN" }],
      providers: [
        {
          id: "stub",
          kind: "openai",
          baseUrl: vendor.url,
          apiKey: "env:STUB_KEY",
          headers: { "x-gateway-secret": "env:STUB_HEADER" },
          models: [{ id: "stub-model" }],
        },
      ],
    },
    env: { STUB_KEY: MARKED.key, STUB_HEADER: MARKED.header, ADA_TOKEN: MARKED.token },
  });
  const ada = await person(server.url, { token: MARKED.token, files: { "note.txt": `${MARKED.file}\n` } });
  onTestFinished(async () => {
    ada.leave();
    await server.stop();
    await endLeftBehind(data);
    fs.rmSync(data, { recursive: true, force: true });
    await vendor.close();
  });

  const conversation = await ada.conversation();
  const result = await ada.say(conversation, `${MARKED.prompt}: what is in note.txt?`);
  expect(result).toMatchObject({ outcome: "completed" });
  expect(result.text).toContain(MARKED.answer);
  // everything that is to be hidden was really there
  expect(vendor.requests[0]).toMatchObject({ authorization: `Bearer ${MARKED.key}` });
  expect(vendor.requests[0]?.body).toContain(MARKED.prompt);
  expect(vendor.requests.at(-1)?.body).toContain(MARKED.file);
  const failed = await ada.say(conversation, `${MARKED.prompt}: fail please`);
  expect(failed).toMatchObject({ outcome: "failed" });
  const stranger = await person(server.url, { token: `${MARKED.token}-wrong` });
  expect(await stranger.client.models()).toMatchObject({ ok: false, failure: { code: "unauthenticated" } });
  stranger.leave();
  expect(await server.kill("SIGTERM")).toMatchObject({ code: 0 });

  const { stdout, stderr } = server.output;
  const lines = stderr
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as { readonly msg: string });
  expect(lines.map(({ msg }) => msg)).toEqual(expect.arrayContaining(["run.started", "tool.settled", "run.ended"]));
  const logs = logsIn(data).map((file) => fs.readFileSync(file, "utf8"));
  expect(logs.length).toBeGreaterThan(0);
  for (const text of [stdout, stderr, ...logs])
    for (const mark of Object.values(MARKED)) expect(text).not.toContain(mark);
});
