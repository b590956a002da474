import { fileURLToPath } from "node:url";
import { fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { TimeoutBehavior } from "@chartroom/protocols/agent";
import fs from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Bench } from "../../test/tools.ts";
import { McpServers } from "../mcp/servers.ts";
import { systemClock } from "../system.ts";
import { absentUser } from "./consent.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.open();
});
afterEach(() => bench.close());

const shell = (command: string, rest: object = {}) => ({
  case: "shellStreamArgs" as const,
  value: { command, toolCallId: "call_1", ...rest },
});

describe("a command as a stream", () => {
  it("starts, speaks, exits, gives its whole result, and closes", async () => {
    const messages = await bench.ended(bench.start(shell("echo hi"), { id: 7, execId: "call_1" }));
    expect(messages).toMatchObject([
      { id: 7, execId: "call_1", shellStream: { start: {} } },
      { id: 7, execId: "call_1", shellStream: { stdout: { data: "hi\n" } } },
      { id: 7, execId: "call_1", shellStream: { exit: { cwd: bench.folder.root } } },
      {
        id: 7,
        execId: "call_1",
        shellResult: { success: { command: "echo hi", stdout: "hi\n" } },
        localExecutionTimeMs: expect.any(Number),
      },
      { streamClose: { id: 7 } },
    ]);
    expect(bench.log).toEqual(["started shellStream", "finished shellStream success"]);
  });

  it("has its exit code, and is a failure when that is not 0", async () => {
    expect(await bench.run(shell("echo no >&2; exit 3"))).toMatchObject([
      { shellStream: { start: {} } },
      { shellStream: { stderr: { data: "no\n" } } },
      { shellStream: { exit: { code: 3 } } },
      { shellResult: { failure: { exitCode: 3, stderr: "no\n" } } },
    ]);
  });

  it("is stopped by an abort and still says so", async () => {
    const id = bench.start(shell("echo ready; sleep 1000"));
    await bench.until((message) => message.case === "execClientMessage" && said(message) === "ready\n");
    bench.executions.abort(id + 1);
    bench.executions.abort(id);
    expect(await bench.ended(id)).toMatchObject([
      {},
      {},
      { shellStream: { exit: { code: 130, aborted: true, abortReason: "SHELL_ABORT_REASON_USER_ABORT" } } },
      { shellResult: { failure: { aborted: true, stdout: "ready\n" } } },
      { streamClose: { id } },
    ]);
  });

  it("ends at its time limit, or goes on in the background", async () => {
    expect(await bench.run(shell("sleep 1000", { timeout: 50 }))).toMatchObject([
      {},
      { shellStream: { exit: { code: 124, aborted: true, abortReason: "SHELL_ABORT_REASON_TIMEOUT" } } },
      {},
    ]);
    const background = { timeout: 50, timeoutBehavior: TimeoutBehavior.BACKGROUND };
    expect(await bench.run(shell("echo early; sleep 1000", background))).toMatchObject([
      {},
      { shellStream: { stdout: { data: "early\n" } } },
      {
        shellStream: {
          backgrounded: {
            shellId: 2,
            msToWait: 50,
            pid: expect.any(Number),
            reason: "SHELL_BACKGROUND_REASON_TIMEOUT",
          },
        },
      },
      { shellResult: { success: { shellId: 2 }, isBackground: true } },
    ]);
    expect(bench.shells.background).toHaveLength(1);
  });

  it("with much output names the file that has all of it", async () => {
    const messages = await bench.run(shell("seq 1 2000", { fileOutputThresholdBytes: 1000n }));
    const [exit, result] = (messages as object[]).slice(-2) as [never, never];
    const { outputLocation } = (exit as { shellStream: { exit: { outputLocation: { filePath: string } } } }).shellStream
      .exit;
    expect(await fs.readFile(outputLocation.filePath, "utf8")).toBe(
      `${Array.from({ length: 2000 }, (_, i) => i + 1).join("\n")}\n`,
    );
    expect(result).toMatchObject({
      shellResult: { success: { elidedChars: expect.any(Number), outputHead: expect.stringMatching(/^1\n2\n/) } },
    });
    expect(await bench.run({ case: "readArgs", value: { path: outputLocation.filePath, offset: -1 } })).toMatchObject({
      readResult: { success: { content: "2000\n" } },
    });
  });

  it("does not run outside the folder, nor when the user refuses", async () => {
    const refused = (value: object) => [{ shellStream: { rejected: value } }, { shellResult: { rejected: value } }];
    expect(await bench.run(shell("touch x", { workingDirectory: "/tmp" }))).toMatchObject(
      refused({ reason: "working directory: the path leads out of the folder" }),
    );
    const terminals = { workingDirectory: `${bench.base}/terminals` };
    expect(await bench.run(shell("touch x", terminals))).toMatchObject(
      refused({ reason: "working directory: it is not in the folder" }),
    );
    await bench.close();
    bench = await Bench.open(absentUser);
    expect(await bench.run(shell("touch x"))).toMatchObject(refused({ reason: "The user refused this." }));
    await expect(bench.text("x")).rejects.toThrow("ENOENT");
  });

  it("that cannot start fails as a shell would say it", async () => {
    await bench.write("dir/a", "");
    expect(await bench.run(shell("true", { workingDirectory: "dir/a" }))).toMatchObject([
      { shellStream: { start: {} } },
      { shellStream: { stderr: {} } },
      { shellStream: { exit: { code: 127 } } },
      { shellResult: { spawnError: {} } },
    ]);
  });
});

describe("commands in other forms", () => {
  it("with one result", async () => {
    expect(await bench.run({ case: "shellArgs", value: { command: "echo hi" } })).toMatchObject({
      shellResult: { success: { stdout: "hi\n" } },
    });
    expect(await bench.run({ case: "miniSweAgentBashArgs", value: { command: "exit 1" } })).toMatchObject({
      miniSweAgentBashResult: { failure: { exitCode: 1 } },
    });
  });

  it("in the background, typed into, and moved there", async () => {
    const spawn = { command: "cat", enableWriteShellStdinTool: true };
    expect(await bench.run({ case: "backgroundShellSpawnArgs", value: spawn })).toMatchObject({
      backgroundShellSpawnResult: { success: { shellId: 1, pid: expect.any(Number) } },
    });
    expect(await bench.run({ case: "writeShellStdinArgs", value: { shellId: 1, chars: "x\n" } })).toMatchObject({
      writeShellStdinResult: { success: { shellId: 1 } },
    });
    expect(await bench.run({ case: "writeShellStdinArgs", value: { shellId: 9, chars: "x" } })).toMatchObject({
      writeShellStdinResult: { error: {} },
    });
    const id = bench.start(shell("echo ready; sleep 1000", { toolCallId: "call_9" }));
    await bench.until((message) => message.case === "execClientMessage" && said(message) === "ready\n");
    expect(await bench.run({ case: "forceBackgroundShellArgs", value: { toolCallId: "call_9" } })).toMatchObject({
      forceBackgroundShellResult: { status: "FORCE_BACKGROUND_SHELL_STATUS_ACCEPTED" },
    });
    expect(await bench.ended(id)).toContainEqual(
      expect.objectContaining({ shellStream: expect.objectContaining({ backgrounded: expect.anything() }) }),
    );
  });
});

describe("MCP", () => {
  const args = { name: "tracker-echo", providerIdentifier: "tracker", toolName: "echo" };
  const text = { text: fromJson(ValueSchema, "hi") };

  it("calls a tool of a configured server", async () => {
    const script = fileURLToPath(new URL("../../test/mcp-server.mjs", import.meta.url));
    const config = { name: "tracker", command: process.execPath, args: [script], env: {}, cwd: undefined };
    bench.mcp = await McpServers.start([config], bench.folder.root, systemClock);
    expect(await bench.run({ case: "mcpArgs", value: { ...args, args: text } })).toEqual({
      mcpResult: { success: { content: [{ text: { text: "hi" } }], structuredContent: { said: "hi" } } },
    });
    expect(await bench.run({ case: "mcpArgs", value: { ...args, smartModeApprovalOnly: true } })).toEqual({
      mcpResult: { approved: {} },
    });
    expect(await bench.run({ case: "mcpArgs", value: { ...args, name: "x", toolName: "nothing" } })).toMatchObject({
      mcpResult: { toolNotFound: { name: "x", availableTools: ["tracker-echo", "tracker-peek", "tracker-hang"] } },
    });
    expect(await bench.run({ case: "mcpArgs", value: { ...args, name: "x", providerIdentifier: "y" } })).toEqual({
      mcpResult: { serverNotFound: { name: "y", availableServers: ["tracker"] } },
    });
    expect(await bench.run({ case: "listMcpResourcesExecArgs", value: {} })).toMatchObject({
      listMcpResourcesExecResult: { success: { resources: [{ uri: "note://1", server: "tracker" }] } },
    });
    expect(await bench.run({ case: "readMcpResourceExecArgs", value: { server: "tracker", uri: "note://1" } })).toEqual(
      {
        readMcpResourceExecResult: { success: { uri: "note://1", text: "a note" } },
      },
    );
    expect(await bench.run({ case: "mcpStateExecArgs", value: {} })).toMatchObject({
      mcpStateExecResult: { success: { servers: [{ serverName: "tracker", status: "connected" }] } },
    });
  });

  it("without servers no tool is found", async () => {
    expect(await bench.run({ case: "mcpArgs", value: args })).toEqual({
      mcpResult: { toolNotFound: { name: "tracker-echo" } },
    });
    expect(await bench.run({ case: "readMcpResourceExecArgs", value: { server: "x", uri: "u" } })).toEqual({
      readMcpResourceExecResult: { notFound: { uri: "u" } },
    });
  });
});

describe("every request is answered", () => {
  it("small ones", async () => {
    expect(await bench.run({ case: "diagnosticsArgs", value: { path: "a.ts" } })).toEqual({
      diagnosticsResult: { success: { path: "a.ts" } },
    });
    expect(await bench.run({ case: "requestContextArgs", value: {} })).toEqual({
      requestContextResult: { success: { requestContext: { cloudRule: "context" } } },
    });
    const request = { request: { case: "preToolUse" as const, value: {} } };
    expect(await bench.run({ case: "executeHookArgs", value: { request } })).toEqual({
      executeHookResult: { response: { preToolUse: {} } },
    });
    expect(await bench.run({ case: "shellAllowlistPrecheckArgs", value: { command: "ls" } })).toEqual({
      shellAllowlistPrecheckResult: {},
    });
    expect(await bench.run({ case: "subagentArgs", value: {} })).toEqual({
      subagentResult: { error: { error: "no subagents here" } },
    });
  });

  it("what this client does not do, and what it does not even know, with a throw", async () => {
    const id = bench.start({ case: "computerUseArgs", value: {} });
    expect(await bench.ended(id)).toMatchObject([{ throw: { id, error: "this client does not do computerUseArgs" } }]);
    const unknown = bench.start({ case: undefined });
    expect(await bench.ended(unknown)).toMatchObject([{ throw: { id: unknown } }]);
    expect(bench.log).toEqual([
      "started computerUse",
      "finished computerUse thrown",
      "started unknown",
      "finished unknown thrown",
    ]);
  });

  it("several at once, each under its own id", async () => {
    await bench.write("a", "A");
    await bench.write("b", "B");
    const slow = bench.start(shell("sleep 0.2; echo slow"));
    const ids = ["a", "b"].map((path) => bench.start({ case: "readArgs", value: { path } }));
    const results = await Promise.all([...ids, slow].map((id) => bench.ended(id)));
    expect(results.map(([first]) => first)).toMatchObject([
      { readResult: { success: { content: "A" } } },
      { readResult: { success: { content: "B" } } },
      { shellStream: { start: {} } },
    ]);
  });
});

describe("TR-06: when the stream drops and the server asks again", () => {
  it("a command that runs is taken over with all that it said, and runs once", async () => {
    const command = "echo x >> runs; echo early; until [ -e gate ]; do sleep 0.02; done; echo late";
    bench.start(shell(command), { id: 3, execId: "call_1" });
    await bench.until((message) => message.case === "execClientMessage" && said(message) === "early\n");
    bench.executions.detach();
    bench.connect();
    const id = bench.start(shell(command), { id: 1, execId: "call_1" });
    await bench.write("gate", "");
    expect(await bench.ended(id)).toMatchObject([
      { id: 1, shellStream: { start: {} } },
      { id: 1, shellStream: { stdout: { data: "early\n" } } },
      { id: 1, shellStream: { stdout: { data: "late\n" } } },
      { id: 1, shellStream: { exit: {} } },
      { id: 1, shellResult: { success: { stdout: "early\nlate\n" } } },
      { streamClose: { id: 1 } },
    ]);
    expect(await bench.text("runs")).toBe("x\n");
    expect(bench.streams[0]?.filter((message) => message.case === "execClientMessage")).toHaveLength(2);
  });

  it("a result that got lost is given again, not made again", async () => {
    const args = { case: "writeArgs" as const, value: { path: "a", fileText: "1", toolCallId: "call_2" } };
    await bench.ended(bench.start(args));
    await bench.write("a", "changed meanwhile");
    bench.connect();
    expect(await bench.run(args)).toMatchObject({ writeResult: { success: { path: "a" } } });
    expect(await bench.text("a")).toBe("changed meanwhile");
  });

  it("on the same stream, and once the server has the result, it is a new action", async () => {
    await bench.write("a", "1");
    const args = { case: "readArgs" as const, value: { path: "a", toolCallId: "call_3" } };
    await bench.run(args);
    await bench.write("a", "2");
    expect(await bench.run(args)).toMatchObject({ readResult: { success: { content: "2" } } });
    bench.executions.settled("call_3");
    await bench.write("a", "3");
    bench.connect();
    expect(await bench.run(args)).toMatchObject({ readResult: { success: { content: "3" } } });
  });

  it("an id that comes again for another call is another action", async () => {
    await bench.write("a", "A");
    const nameless = { case: "readArgs" as const, value: { path: "a" } };
    await bench.ended(bench.start(nameless, { id: 1, execId: "" }));
    await bench.write("a", "B");
    bench.connect();
    const id = bench.start(nameless, { id: 1, execId: "" });
    expect(await bench.ended(id)).toMatchObject([{ readResult: { success: { content: "B" } } }, {}]);
  });
});

describe("while an action runs", () => {
  it("heartbeats name it, and a cancel tells what it said", async () => {
    const id = bench.start(shell("echo ready; sleep 1000", { workingDirectory: "." }));
    await bench.until((message) => message.case === "execClientMessage" && said(message) === "ready\n");
    bench.executions.heartbeat();
    expect(bench.sent.at(-1)).toMatchObject({
      case: "execClientControlMessage",
      value: { message: { case: "heartbeat", value: { id } } },
    });
    expect(bench.executions.open).toEqual([{ kind: "shellStream", toolCallId: "call_1" }]);
    expect(bench.executions.resolutions()).toMatchObject([
      {
        toolCallId: "call_1",
        resolution: {
          case: "shellResult",
          value: { result: { case: "failure", value: { stdout: "ready\n", exitCode: 130, aborted: true } } },
        },
      },
    ]);
    bench.executions.abortAll();
    await bench.ended(id);
    expect(bench.executions.open).toEqual([]);
    expect(bench.executions.resolutions()).toEqual([]);
    const before = bench.sent.length;
    bench.executions.heartbeat();
    expect(bench.sent).toHaveLength(before);
  });
});

function said(message: { case: string; value: unknown }): string | undefined {
  const { event } = (message.value as { message: { value: { event?: { value: { data?: string } } } } }).message.value;
  return event?.value.data;
}
