import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { eventually } from "../../test/eventually.ts";
import { systemClock } from "../system.ts";
import { childEnvironment, shellProgram } from "./environment.ts";
import { type BackgroundEnd, type ShellRequest, Shells } from "./shells.ts";

vi.setConfig({ testTimeout: 30_000 });

let folder: string;
let shells: Shells;
const never = new AbortController().signal;

beforeEach(() => {
  folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "shells-")));
  shells = new Shells(systemClock, path.join(folder, "terminals"));
});
afterEach(() => {
  shells.close();
  fs.rmSync(folder, { recursive: true });
});

function request(command: string, rest: Partial<ShellRequest> = {}): ShellRequest {
  return {
    command,
    cwd: folder,
    timeoutMs: 0,
    onTimeout: "background",
    hardTimeoutMs: 0,
    thresholdBytes: 40_000,
    stdin: false,
    background: false,
    toolCallId: "call_1",
    title: command,
    ...rest,
  };
}

/** Runs a command and hears it until a text comes. */
function heard(command: string, text: string, rest: Partial<ShellRequest> = {}, signal = never) {
  let said = "";
  const first = Promise.withResolvers<void>();
  const outcome = shells.run(request(command, rest), signal, (_channel, more) => {
    said += more;
    if (said.includes(text)) first.resolve();
  });
  return { heard: first.promise, outcome, said: () => said };
}

async function untilGone(pid: number): Promise<void> {
  await eventually(() => isGone(pid)).toBe(true);
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // one that ended and that nobody waited for is gone as well
    return fs.readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return true;
  }
}

describe("a command in front", () => {
  it("says what it says and how it ended", async () => {
    const run = heard("echo out; echo err >&2; exit 3", "out");
    expect(await run.outcome).toMatchObject({
      kind: "exit",
      code: 3,
      signal: "",
      stdout: { text: "out\n" },
      stderr: { text: "err\n" },
      location: undefined,
    });
    expect(run.said().split("\n").toSorted()).toEqual(["", "err", "out"]);
  });

  it("runs in its folder, without input", async () => {
    expect(await heard("pwd; cat", "").outcome).toMatchObject({ code: 0, stdout: { text: `${folder}\n` } });
  });

  it("that a signal ended has a code that says so", async () => {
    expect(await heard("kill -KILL $$", "").outcome).toMatchObject({ kind: "exit", code: 137, signal: "SIGKILL" });
  });

  it("that cannot start is a typed error", async () => {
    expect(await heard("true", "", { cwd: path.join(folder, "missing") }).outcome).toMatchObject({
      kind: "spawnError",
    });
  });

  it("is stopped with all that it started", async () => {
    const stop = new AbortController();
    const run = heard("sleep 1000 & echo pid=$!; wait", "\n", {}, stop.signal);
    await run.heard;
    const pid = Number(/pid=(\d+)/.exec(run.said())?.[1]);
    stop.abort();
    expect(await run.outcome).toMatchObject({ kind: "aborted", why: "user", code: 130 });
    await untilGone(pid);
  });

  it("is stopped by force when it does not listen", async () => {
    const stop = new AbortController();
    const run = heard("trap '' TERM; echo ready; while :; do sleep 0.1; done", "ready", {}, stop.signal);
    await run.heard;
    stop.abort();
    expect(await run.outcome).toMatchObject({ kind: "aborted" });
  });

  it("ends although a program that it left behind holds its output; that one ends with the client", async () => {
    const run = heard("sleep 1000 & echo pid=$!", "pid=");
    expect(await run.outcome).toMatchObject({ kind: "exit", code: 0, stdout: { text: run.said() } });
    const pid = Number(/pid=(\d+)/.exec(run.said())?.[1]);
    expect(isGone(pid)).toBe(false);
    shells.close();
    await untilGone(pid);
  });

  it("is stopped at its time limit when it may not go on", async () => {
    expect(await heard("sleep 1000", "", { timeoutMs: 50, onTimeout: "stop" }).outcome).toMatchObject({
      kind: "aborted",
      why: "timeout",
      code: 124,
    });
  });
});

describe("a command in the background", () => {
  it("goes there at its time limit, writes to its file and reports its end", async () => {
    const ended = Promise.withResolvers<BackgroundEnd>();
    shells.onBackgroundEnd(ended.resolve);
    const gate = path.join(folder, "gate");
    const run = heard(`echo early; until [ -e ${gate} ]; do sleep 0.02; done; echo late; exit 5`, "early", {
      timeoutMs: 200,
    });
    const outcome = await run.outcome;
    if (outcome.kind !== "background") throw new Error(outcome.kind);
    expect(outcome).toMatchObject({ why: "timeout", shell: { toolCallId: "call_1" } });
    expect(shells.background).toEqual([outcome.shell]);
    fs.writeFileSync(gate, "");
    expect(await ended.promise).toEqual({ shell: outcome.shell, code: 5, aborted: false });
    expect(fs.readFileSync(outcome.shell.file, "utf8")).toBe("early\nlate\n");
    expect(run.said()).toBe("early\n");
    expect(shells.background).toEqual([]);
  });

  it("starts there at once, can be typed into and be stopped", async () => {
    const ended = Promise.withResolvers<BackgroundEnd>();
    shells.onBackgroundEnd(ended.resolve);
    const outcome = await shells.run(
      request("read line; echo got $line; sleep 1000", { background: true, stdin: true }),
      never,
      () => undefined,
    );
    if (outcome.kind !== "background") throw new Error(outcome.kind);
    expect(shells.type(outcome.shell.id, "hello\n")).toEqual({ ok: true, before: 0 });
    await eventually(() => fs.readFileSync(outcome.shell.file, "utf8")).toBe("got hello\n");
    expect(shells.stop(outcome.shell.id)).toBe(true);
    expect(await ended.promise).toMatchObject({ aborted: true });
    expect(shells.type(outcome.shell.id, "x")).toEqual({ ok: false });
    expect(shells.stop(99)).toBe(false);
  });

  it("is moved there by the name of its tool call", async () => {
    const run = heard("echo ready; sleep 1000", "ready", { toolCallId: "call_7" });
    await run.heard;
    expect(shells.toBackground("call_8")).toBe(false);
    expect(shells.toBackground("call_7")).toBe(true);
    expect(await run.outcome).toMatchObject({ kind: "background", why: "request" });
  });

  it("is stopped when the client closes", async () => {
    const outcome = await shells.run(request("sleep 1000", { background: true }), never, () => undefined);
    if (outcome.kind !== "background") throw new Error(outcome.kind);
    expect(isGone(outcome.shell.pid)).toBe(false);
    shells.close();
    await untilGone(outcome.shell.pid);
  });
});

describe("what a command sees", () => {
  it("is the user's environment without this client's token and without a pager", () => {
    const env = childEnvironment({
      HOME: "/h",
      CHARTROOM_TOKEN: "t",
      npm_lifecycle_event: "chat",
      npm_config_registry: "r",
    });
    expect(env).toMatchObject({ HOME: "/h", PAGER: "cat", npm_config_registry: "r" });
    expect(env).not.toHaveProperty("CHARTROOM_TOKEN");
    expect(env).not.toHaveProperty("npm_lifecycle_event");
  });

  it("runs in a POSIX shell even when the user's own is another", () => {
    expect(shellProgram({ SHELL: "/usr/bin/fish" })).toMatch(/\/(bash|sh)$/);
    expect(shellProgram({ SHELL: "/bin/sh" })).toBe("/bin/sh");
  });
});
