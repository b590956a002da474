import { type ChildProcess, spawn } from "node:child_process";
import fs from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Stage } from "../../test/clients.ts";
import { CERTIFICATE, type FakeRun, type FakeServer } from "../../test/fake-server.ts";

const main = fileURLToPath(new URL("../main.ts", import.meta.url));

// each test starts programs
vi.setConfig({ testTimeout: 60_000 });

let stage: Stage;
beforeEach(async () => {
  stage = await Stage.open();
});
afterEach(() => stage.close());

function begin(server: FakeServer, args: string[], env: NodeJS.ProcessEnv = {}, transport: "h1" | "h2" = "h2") {
  const { CHARTROOM_URL: _url, CHARTROOM_TOKEN: _token, CHARTROOM_MODEL: _model, ...rest } = process.env;
  const child = spawn(
    process.execPath,
    [
      "--disable-warning=ExperimentalWarning",
      main,
      "chat",
      "--url",
      server.url[transport],
      "--transport",
      transport,
      ...args,
    ],
    {
      cwd: stage.folder,
      env: { ...rest, CHARTROOM_CLIENT_DATA: path.join(stage.base, "data"), ...env },
      stdio: ["pipe", "pipe", "pipe"],
    },
  );
  return { child, done: ended(child) };
}

async function ended(child: ChildProcess) {
  const [out, err, code] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    new Promise<number | null>((resolve) => child.once("exit", resolve)),
  ]);
  return { out, err, code, lines: out.split("\n").filter((line) => line !== "") };
}

/** Edits a file and runs a command, as a server would ask for. */
async function work(run: FakeRun): Promise<void> {
  await run.next("runRequest");
  const write = { path: "a.txt", fileText: "new\n", toolCallId: "call_w" };
  await run.exec(1, { execId: "call_w", message: { case: "writeArgs", value: write } });
  const command = { command: "cat a.txt; echo $CHARTROOM_TOKEN", toolCallId: "call_s" };
  await run.exec(2, { execId: "call_s", message: { case: "shellStreamArgs", value: command } });
  run.text("Done.");
  run.turnEnded();
  run.end();
}

describe.each(["h1", "h2"] as const)("one message over %s", (transport) => {
  it("as JSON lines, everything allowed", async () => {
    const server = await stage.serve(work);
    const { done, child } = begin(
      server,
      ["--yes", "--json", "--prompt", "Edit"],
      { CHARTROOM_TOKEN: "secret" },
      transport,
    );
    child.stdin?.end();
    const { lines, err, code } = await done;
    expect([err, code]).toEqual(["", 0]);
    const events = lines.map((line) => JSON.parse(line) as { type: string });
    expect(events.map(({ type }) => type)).toEqual([
      "turn.started",
      "exec.started",
      "exec.completed",
      "exec.started",
      "exec.completed",
      "text",
      "turn.ended",
      "result",
    ]);
    expect(events.at(-1)).toMatchObject({ outcome: "completed", text: "Done." });
    expect(await stage.text("a.txt")).toBe("new\n");
    expect(server.runs[0]?.headers["authorization"]).toBe("Bearer secret");
    const said = server.runs[0]?.received.flatMap(({ message }) =>
      message.case === "execClientMessage" && message.value.message.case === "shellResult"
        ? [message.value.message.value]
        : [],
    );
    expect(said).toMatchObject([{ result: { value: { stdout: "new\n\n" } } }]);
  });
});

describe("one message", () => {
  it("as text for people", async () => {
    const server = await stage.serve(work);
    const { done } = begin(server, ["--yes", "--prompt", "Edit"]);
    expect(await done).toMatchObject({ out: "Done.\n  100 in · 20 out\n", err: "", code: 0 });
  });

  it("without --yes and without a terminal changes nothing, and says why", async () => {
    const server = await stage.serve(work);
    const { done } = begin(server, ["--json", "--prompt", "Edit"]);
    const { lines, code } = await done;
    expect(code).toBe(0);
    expect(lines.filter((line) => line.includes("exec.completed"))).toEqual([
      expect.stringContaining('"kind":"write","toolCallId":"call_w","outcome":"rejected"'),
      expect.stringContaining('"kind":"shellStream","toolCallId":"call_s","outcome":"rejected"'),
    ]);
    await expect(stage.text("a.txt")).rejects.toThrow("ENOENT");
    const reasons = server.runs[0]?.received.flatMap(({ message }) =>
      message.case === "execClientMessage" && message.value.message.case === "writeResult"
        ? [message.value.message.value]
        : [],
    );
    expect(reasons).toMatchObject([
      { result: { value: { reason: "Nobody is there to ask; start with --yes to allow it." } } },
    ]);
  });

  it("from standard input", async () => {
    const server = await stage.serve(async (run) => {
      const request = await run.next("runRequest");
      expect(request.action?.action).toMatchObject({ value: { userMessage: { text: "two\nlines" } } });
      run.turnEnded();
      run.end();
    });
    for (const args of [[], ["--prompt", "-"]]) {
      const { done, child } = begin(server, args);
      child.stdin?.end("two\nlines\n");
      expect(await done).toMatchObject({ code: 0, err: "" });
    }
  });

  it("that fails exits with 1 and shows why", async () => {
    const server = await stage.serve((run) =>
      run.end({ code: "PROVIDER_REFUSED", title: "Refused", detail: "Not that.", retryable: false }),
    );
    const { done } = begin(server, ["--prompt", "x"]);
    expect(await done).toMatchObject({ code: 1, out: expect.stringContaining("✗ Refused\n  Not that.\n") });
  });

  it("to a server that is not there exits with 3", async () => {
    const server = await stage.serve(() => undefined);
    await server.close();
    expect(await begin(server, ["--prompt", "x"]).done).toMatchObject({
      code: 3,
      out: "",
      err: expect.stringContaining("Server unreachable"),
    });
    const { done } = begin(server, ["--prompt", "x", "--model", "m", "--retries", "0", "--json"]);
    expect(await done).toMatchObject({ code: 3, out: expect.stringContaining('"outcome":"failed"') });
  });

  it("that is interrupted once is cancelled and exits with 130; twice, it leaves at once", async () => {
    const server = await stage.serve(async (run) => {
      await run.next("runRequest");
      run.text("...");
      await run.next("conversationAction");
      if (server.runs.length === 1) run.end({ code: "CANCELLED", title: "x", detail: "", retryable: false });
    });
    const once = begin(server, ["--json", "--prompt", "x"]);
    once.child.stdout?.once("data", () => once.child.kill("SIGINT"));
    expect(await once.done).toMatchObject({ code: 130, out: expect.stringContaining('"outcome":"cancelled"') });
    const twice = begin(server, ["--json", "--prompt", "x"]);
    twice.child.stdout?.on("data", (data: Buffer) => {
      if (data.toString().includes('"type":"text"')) twice.child.kill("SIGINT");
      // another signal, because one that comes again at once is the same press of a key
      if (data.toString().includes("cancelling")) twice.child.kill("SIGTERM");
    });
    expect(await twice.done).toMatchObject({ code: 130 });
  });
});

describe("wrong use exits with 2 and a word about it", () => {
  it.each([
    [["--nonsense"], "unknown option --nonsense"],
    [["--folder", "/no/such/folder", "--prompt", "x"], "--folder /no/such/folder is not a folder"],
    [["--ca", "/no/such.pem", "--mcp", "/no/such.json", "--prompt", "x"], "/no/such.json"],
    [["--resume", "--prompt", "x"], "there is no conversation of"],
    [["--resume", "c-9", "--prompt", "x"], "there is no conversation c-9 of"],
    [["--prompt", "-"], "there is nothing to say"],
  ])("%j", async (args, complaint) => {
    const server = await stage.serve(() => undefined);
    const { done, child } = begin(server, args);
    child.stdin?.end();
    expect(await done).toMatchObject({ code: 2, out: "", err: expect.stringContaining(complaint) });
  });
});

it("--help", async () => {
  const server = await stage.serve(() => undefined);
  expect(await begin(server, ["--help"]).done).toMatchObject({
    code: 0,
    out: expect.stringContaining("Usage:"),
    err: "",
  });
});

it("a conversation goes on in another start, over TLS", async () => {
  const server = await stage.serve(
    async (run) => {
      const request = await run.next("runRequest");
      if (server.runs.length === 1) run.send({ case: "conversationCheckpointUpdate", value: { readPaths: ["seen"] } });
      else expect(request.conversationState?.readPaths).toEqual(["seen"]);
      run.turnEnded();
      run.end();
    },
    { name: "", transport: "h2", tls: true },
  );
  await fs.writeFile(path.join(stage.base, "ca.pem"), CERTIFICATE);
  const ca = ["--ca", path.join(stage.base, "ca.pem")];
  expect(await begin(server, [...ca, "--json", "--prompt", "one"]).done).toMatchObject({ code: 0 });
  expect(await begin(server, [...ca, "--json", "--resume", "--prompt", "two"]).done).toMatchObject({ code: 0 });
  const [first, second] = server.runs.map((run) => run.received[0]?.message.value as { conversationId?: string });
  expect(second?.conversationId).toBe(first?.conversationId);
  expect(await begin(server, [...ca, "--resume"]).done).toMatchObject({
    code: 2,
    err: expect.stringContaining("no unfinished turn"),
  });
});

it("MCP servers that are configured are offered; one that does not start is named", async () => {
  const script = fileURLToPath(new URL("../../test/mcp-server.mjs", import.meta.url));
  const config = {
    mcpServers: { tracker: { command: process.execPath, args: [script] }, bad: { command: "/no/such" } },
  };
  await fs.writeFile(path.join(stage.base, "mcp.json"), JSON.stringify(config));
  const server = await stage.serve(async (run) => {
    const request = await run.next("runRequest");
    expect(request.mcpTools?.mcpTools.map(({ name }) => name)).toContain("tracker-echo");
    run.turnEnded();
    run.end();
  });
  const { done } = begin(server, ["--mcp", path.join(stage.base, "mcp.json"), "--prompt", "x"]);
  expect(await done).toMatchObject({ code: 0, err: expect.stringContaining("MCP server bad did not start") });
});
