import { describe, expect, it } from "vitest";
import { agent, execClientMessage } from "@chartroom/protocol";
import { answer, AT, context, play } from "../../test/support.ts";

type Reply = Parameters<ReturnType<typeof play>["reply"]>[0];
const event = (value: object): Reply => ({ case: "shellStream", value: { event: value } }) as Reply;
const stdout = (data: string) => event({ case: "stdout", value: { data } });
const stderr = (data: string) => event({ case: "stderr", value: { data } });
const exit = (value: object = {}) => event({ case: "exit", value });
const shellResult = (value: object): Reply => ({ case: "shellResult", value });

function begun(args: Parameters<typeof play>[1] = { command: "npm test" }, where: Parameters<typeof play>[2] = {}) {
  const game = play("Shell", args, where);
  game.begin();
  return game;
}
const askedOf = (game: ReturnType<typeof play>) => {
  const { message } = game.execs()[0]!.exec;
  if (message.case !== "shellStreamArgs") throw new Error("no shell stream");
  return message.value;
};
const deltasOf = (game: ReturnType<typeof play>) =>
  game.updates().flatMap((update) => {
    const delta = update.case === "toolCallDelta" ? update.value.toolCallDelta?.delta : undefined;
    return delta?.case === "shellToolCallDelta" ? [delta.value.delta] : [];
  });

describe("Shell", () => {
  it("counts the output once when a client on a new stream tells it from its beginning", () => {
    const game = begun();
    game.reply(event({ case: "start", value: {} }));
    game.reply(stdout("one\n"));
    game.reply(event({ case: "start", value: {} }));
    game.reply(stdout("one\ntw"));
    game.reply(stdout("o\n"));
    game.reply(exit());
    expect(deltasOf(game).map(({ value }) => value?.content)).toEqual(["one\n", "tw", "o\n"]);
    expect(game.result().text).toContain("one\ntwo\n");
    expect(game.result().text.match(/one/gu)).toHaveLength(1);
  });

  it("asks for a stream with its arguments filled (example 3)", () => {
    const game = begun(
      { command: "npm test 2>&1 | tee out.log", description: "Run the tests", block_until_ms: 30000.0 },
      { context: context({ adminCommandDenylist: ["rm"] }) },
    );
    expect(game.types()).toEqual(["update", "exec"]);
    const asked = askedOf(game);
    expect(asked).toMatchObject({
      command: "npm test 2>&1 | tee out.log",
      workingDirectory: "/ws/demo",
      timeout: 30_000,
      timeoutBehavior: agent.TimeoutBehavior.BACKGROUND,
      hardTimeout: 86_400_000,
      toolCallId: "call_1",
      simpleCommands: ["npm", "tee"],
      hasInputRedirect: false,
      hasOutputRedirect: false,
      parsingResult: {
        parsingFailed: false,
        executableCommands: [
          { name: "npm", args: [{ type: "word", value: "test" }], fullText: "npm test" },
          { name: "tee", args: [{ type: "word", value: "out.log" }], fullText: "tee out.log" },
        ],
        hasRedirects: true,
        hasCommandSubstitution: false,
        allRedirectsAreDevNull: false,
        redirects: [{ operator: ">&", destinationFds: [2], targetNodeType: "word", targetText: "1" }],
      },
      fileOutputThresholdBytes: 40_000n,
      closeStdin: true,
      conversationId: "conv-0001",
      adminCommandDenylist: ["rm"],
      description: "Run the tests",
      isBackground: false,
      skipApproval: false,
    });
    expect(asked.requestedSandboxPolicy).toBeUndefined();
    expect(game.updates()[0]).toMatchObject({
      case: "toolCallStarted",
      value: { toolCall: { tool: { case: "shellToolCall", value: { args: asked, description: "Run the tests" } } } },
    });
  });

  it.each([
    ["cat < in", true, false, false],
    ["ls > /dev/null", false, true, true],
    ["ls &>> out", false, true, false],
    ["cat <> f", true, false, false],
    ["ls 2>&1", false, false, false],
  ])("tells what %j redirects", (command, input, output, devNull) => {
    expect(askedOf(begun({ command }))).toMatchObject({
      hasInputRedirect: input,
      hasOutputRedirect: output,
      parsingResult: { hasRedirects: true, allRedirectsAreDevNull: devNull },
    });
  });

  it.each([
    ["case x in x) rm -r y;; esac", "/bin/bash"],
    ["ls", "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe"],
    ["ls", "pwsh"],
    ["ls", "/usr/bin/fish"],
  ])("does not pretend to understand %j for %s", (command, shell) => {
    const { env } = context();
    const asked = askedOf(begun({ command }, { context: context({ env: { ...env!, shell } }) }));
    expect(asked).toMatchObject({ simpleCommands: [], parsingResult: { parsingFailed: true, executableCommands: [] } });
  });

  it("asks for what it needs beyond a sandbox", () => {
    const { INSECURE_NONE, WORKSPACE_READWRITE } = agent.SandboxPolicy_Type;
    const { env } = context();
    const sandboxed = { context: context({ env: { ...env!, sandboxEnabled: true } }) };
    const policy = (permissions: string[], where = {}) =>
      askedOf(begun({ command: "a", required_permissions: permissions }, where)).requestedSandboxPolicy;
    expect(policy(["all"])).toMatchObject({ type: INSECURE_NONE, networkAccess: true });
    expect(policy(["full_network"])).toMatchObject({ type: WORKSPACE_READWRITE, networkAccess: true });
    expect(policy([], sandboxed)).toMatchObject({ type: WORKSPACE_READWRITE, networkAccess: false });
    expect(policy(["full_network", "all"], sandboxed)).toMatchObject({ type: INSECURE_NONE });
    expect(policy([])).toBeUndefined();
  });

  it("sends a command that should not be waited for to the background at once", () => {
    expect(askedOf(begun({ command: "npm run dev", block_until_ms: 0 })).timeout).toBe(1);
    expect(askedOf(begun({ command: "a", working_directory: "sub" }, {})).workingDirectory).toBe("/ws/demo/sub");
    expect(askedOf(begun({ command: "a" }, { context: undefined })).workingDirectory).toBe("");
  });

  it("shows output while it comes, and gives it in that order", () => {
    const game = begun();
    game.reply(event({ case: "start", value: {} }));
    game.reply(stdout("1 passing\n"));
    game.reply(stderr("a warning\n"));
    game.reply(stdout("2 passing\n"));
    expect(game.types()).toEqual(["update", "exec", "renew", "renew", "update", "renew", "update", "renew", "update"]);
    expect(deltasOf(game)).toMatchObject([
      { case: "stdout", value: { content: "1 passing\n" } },
      { case: "stderr", value: { content: "a warning\n" } },
      { case: "stdout", value: { content: "2 passing\n" } },
    ]);
    game.reply(exit({ cwd: "/ws/demo/sub", localExecutionTimeMs: 812 }));
    expect(game.result()).toMatchObject({
      isError: false,
      text: "Exit code: 0\nDuration: 812 ms\nWorking directory: /ws/demo/sub\n\n1 passing\na warning\n2 passing\n",
    });
    expect(game.completed().tool).toMatchObject({
      case: "shellToolCall",
      value: {
        result: {
          result: {
            case: "success",
            value: {
              command: "npm test",
              workingDirectory: "/ws/demo/sub",
              stdout: "1 passing\n2 passing\n",
              stderr: "a warning\n",
              interleavedOutput: "1 passing\na warning\n2 passing\n",
              executionTime: 812,
              localExecutionTimeMs: 812,
            },
          },
        },
      },
    });
  });

  it("ignores the result and the close that follow the exit", () => {
    const game = begun();
    game.reply(exit());
    expect(game.reply(shellResult({ result: { case: "success", value: { stdout: "again" } } }), "shell")).toEqual([]);
    expect(game.control({ kind: "close", execId: 1 }, "shell")).toEqual([]);
    expect(game.effects.filter(({ type }) => type === "settled")).toHaveLength(1);
    expect(game.result().text).toBe("Exit code: 0\nDuration: 10 ms\nWorking directory: /ws/demo\n\n(no output)");
  });

  it("tells a failed command, one that was stopped, and a code that only looks large", () => {
    const failed = begun();
    failed.reply(stderr("no such test"));
    failed.reply(exit({ code: 2, outputLocation: { filePath: "/t/1.txt", sizeBytes: 90_000n, lineCount: 700n } }));
    expect(failed.result()).toMatchObject({
      isError: true,
      text: "Exit code: 2\nDuration: 20 ms\nWorking directory: /ws/demo\nFull output: /t/1.txt (90000 bytes, 700 lines)\n\nno such test",
    });
    const stopped = begun();
    stopped.reply(exit({ code: 130, aborted: true, abortReason: agent.ShellAbortReason.USER_ABORT }));
    expect(stopped.result().text).toContain("Exit code: 130");
    expect(stopped.result().text).toContain("The command was stopped by the user.");
    expect(stopped.completed().tool).toMatchObject({
      value: { result: { result: { case: "failure", value: { aborted: true, exitCode: 130 } } } },
    });
    const limit = begun();
    limit.reply(exit({ code: 0, aborted: true, abortReason: agent.ShellAbortReason.TIMEOUT }));
    expect(limit.result()).toMatchObject({ isError: true });
    expect(limit.result().text).toContain("stopped at its time limit");
    const negative = begun();
    negative.reply(exit({ code: 4_294_967_295 }));
    expect(negative.result().text).toContain("Exit code: -1");
  });

  it("TL-10: cuts one line of 8,193 bytes of Chinese on character borders, and the stream goes on", () => {
    const line = "汉".repeat(2731);
    const game = begun();
    game.reply(stdout(line));
    game.reply(stdout("\nnext\n"));
    const contents = deltasOf(game).map((delta) => delta.value?.content ?? "");
    expect(contents.map((content) => new TextEncoder().encode(content).byteLength)).toEqual([4095, 4095, 3, 6]);
    expect(contents.join("")).toBe(`${line}\nnext\n`);
    game.reply(exit());
    expect(game.result().text).toContain(`${line}\nnext\n`);
  });

  it("TL-11: gives the model the same as the interface where output is no text", () => {
    const game = begun();
    // what the codec makes of the byte 0xFF, and half a surrogate pair that it let through
    for (const data of ["a\ufffdb", "c\ud800d"]) {
      const reply = answer({ case: "shellStream", value: { event: { case: "stdout", value: { data: "" } } } });
      const { message } = execClientMessage(reply);
      if (message.case === "shellStream" && message.value.event.case === "stdout")
        message.value.event.value.data = data;
      game.take(game.execution.reply("shell", reply, AT));
    }
    game.reply(exit());
    expect(deltasOf(game)).toMatchObject([{ value: { content: "a\ufffdb" } }, { value: { content: "c\ufffdd" } }]);
    expect(game.result().text).toContain("a\ufffdbc\ufffdd");
    expect(game.completed().tool).toMatchObject({
      value: { result: { result: { value: { stdout: "a\ufffdbc\ufffdd" } } } },
    });
  });

  it("TL-20: ends with the same card when the command goes to the background", () => {
    const game = begun({ command: "npm run dev" });
    game.reply(stdout("listening\n"));
    game.reply(
      event({
        case: "backgrounded",
        value: { shellId: 7, pid: 4242, msToWait: 30_000, reason: agent.ShellBackgroundReason.TIMEOUT },
      }),
    );
    expect(game.result()).toMatchObject({
      isError: false,
      text: "The command still runs. It went to the background after 30000 ms (shell 7, pid 4242). Its output goes on in a file in /ws/terminals. You are told when it ends.\n\nOutput so far:\nlistening\n",
    });
    expect(game.completed()).toMatchObject({
      toolCallId: "call_1",
      tool: {
        value: {
          result: {
            isBackground: true,
            terminalsFolder: "/ws/terminals",
            pid: 4242,
            result: { case: "success", value: { shellId: 7, pid: 4242, stdout: "listening\n" } },
          },
        },
      },
    });
    const asked = begun({ command: "npm run dev" });
    asked.reply(
      event({ case: "backgrounded", value: { shellId: 1, reason: agent.ShellBackgroundReason.USER_REQUEST } }),
    );
    expect(asked.result().text).toContain("because the user asked for it (shell 1)");
  });

  it.each([
    [
      { case: "rejected", value: { reason: "not now" } },
      "rejected",
      "The command was rejected and did not run: not now",
    ],
    [
      { case: "permissionDenied", value: { error: "admin" } },
      "permissionDenied",
      "Permission denied; the command did not run: admin",
    ],
    [
      { case: "sandboxUnsupported", value: { reason: "no seccomp" } },
      "spawnError",
      "The command could not be started: the client cannot run it in a sandbox (no seccomp)",
    ],
  ])("takes the event %j as the end", (value, variant, text) => {
    const game = begun();
    game.reply(event(value));
    expect(game.result()).toMatchObject({ isError: true, text });
    expect(game.completed().tool).toMatchObject({ value: { result: { result: { case: variant } } } });
  });

  it.each([
    [
      { result: { case: "success", value: { stdout: "out\n", stderr: "err\n", executionTime: 5 } } },
      false,
      "Exit code: 0\nDuration: 5 ms\n\nout\nerr\n",
    ],
    [{ result: { case: "success", value: { stdout: "out", stderr: "err" } } }, false, "Exit code: 0\n\nout\nerr"],
    [{ result: { case: "success", value: { stdout: "o", interleavedOutput: "both" } } }, false, "Exit code: 0\n\nboth"],
    [
      { result: { case: "success", value: { outputHead: "first", outputTail: "last", elidedChars: 9 } } },
      false,
      "Exit code: 0\n\nfirst\n[… 9 characters left out …]\nlast",
    ],
    [
      { result: { case: "failure", value: { exitCode: 3, signal: "SIGKILL", stderr: "x" } } },
      true,
      "Exit code: 3 (SIGKILL)\n\nx",
    ],
    [{ result: { case: "timeout", value: { timeoutMs: 50 } } }, true, "The command was stopped after 50 ms."],
    [
      { result: { case: "rejected", value: { reason: "Tool not available" } } },
      true,
      "The command was rejected and did not run: Tool not available",
    ],
    [{ result: { case: "spawnError", value: { error: "ENOENT" } } }, true, "The command could not be started: ENOENT"],
    [{ result: { case: "permissionDenied", value: {} } }, true, "Permission denied; the command did not run."],
    [
      { result: { case: "success", value: { shellId: 4 } }, isBackground: true },
      false,
      "The command still runs. It went to the background (shell 4). You are told when it ends.\n\nOutput so far:\n(none)",
    ],
  ])("takes a plain result for an answer: %j", (value, isError, text) => {
    const game = begun();
    game.reply(shellResult(value));
    expect(game.result()).toMatchObject({ isError, text });
    const sent = value.result.case;
    expect(game.completed().tool).toMatchObject({ value: { result: { result: { case: sent } } } });
  });

  it("goes on at an event that a newer client has, and at an empty answer ends", () => {
    const game = begun();
    expect(game.reply(event({ case: undefined }))).toEqual([{ type: "renew" }]);
    game.reply(shellResult({}));
    expect(game.result()).toMatchObject({ isError: true });
    expect(game.result().text).toContain("no result for this tool");
  });

  it("keeps what was printed when the client gives up", () => {
    const game = begun();
    game.reply(stdout("half "));
    game.control({ kind: "throw", execId: 1, message: "window closed" }, "shell");
    expect(game.result()).toMatchObject({ isError: true, text: "window closed\n\nOutput so far:\nhalf " });
    expect(game.completed().tool).toMatchObject({
      value: { result: { result: { case: "failure", value: { exitCode: -1, stdout: "half " } } } },
    });
    const silent = begun();
    silent.control({ kind: "throw", execId: 1, message: "unsupported" }, "shell");
    expect(silent.result().text).toBe("unsupported");
    expect(silent.completed().tool).toMatchObject({
      value: { result: { result: { case: "spawnError", value: { error: "unsupported" } } } },
    });
  });

  it("is closed as aborted when it is interrupted, with what it printed (example 6)", () => {
    const game = begun({ command: "sleep 60" });
    game.reply(stdout("zzz"));
    game.interrupt("user-message");
    expect(game.types().slice(-2)).toEqual(["abort", "settled"]);
    expect(game.result()).toMatchObject({ isError: true, interrupted: "user-message" });
    expect(game.result().text).toBe(
      "Tool interrupted: the user sent a new message while it ran. There is no result. It may have taken effect in part: check before doing it again.\n\nOutput so far:\nzzz",
    );
    expect(game.completed().tool).toMatchObject({
      value: {
        result: {
          result: {
            case: "failure",
            value: { aborted: true, exitCode: 130, stdout: "zzz", abortReason: agent.ShellAbortReason.USER_ABORT },
          },
        },
      },
    });
    expect(game.reply(exit({ code: 130, aborted: true }), "shell")).toEqual([]);
  });

  it("takes the words of hooks along, from the stream and from the answer", () => {
    const game = begun();
    game.reply(
      event({
        case: "hookContext",
        value: { hookAdditionalContexts: [{ hookEventName: "pre", content: "be careful" }] },
      }),
    );
    game.reply(exit(), "shell", { hookAdditionalContexts: [{ hookEventName: "post", content: "well done" }] });
    expect(game.result().text).toMatch(/\(no output\)\n\n\[hook pre\]\nbe careful\n\n\[hook post\]\nwell done$/);
    expect(game.completed().hookAdditionalContexts).toMatchObject([
      { content: "be careful" },
      { content: "well done" },
    ]);
  });

  it("keeps the sandbox that the command ran in", () => {
    const game = begun();
    game.reply(
      event({ case: "start", value: { sandboxPolicy: { type: agent.SandboxPolicy_Type.WORKSPACE_READWRITE } } }),
    );
    game.reply(exit());
    expect(game.completed().tool).toMatchObject({
      value: { result: { sandboxPolicy: { type: agent.SandboxPolicy_Type.WORKSPACE_READWRITE } } },
    });
  });
});
