import { describe, expect, it } from "vitest";
import { widthOf } from "../ui/text.ts";
import { readTyped } from "./commands.ts";
import { EXIT, exitCodeOf } from "./exit.ts";
import { helpText } from "./help.ts";
import { parseOptions } from "./options.ts";

const parse = (line: string[], env: NodeJS.ProcessEnv = {}) => parseOptions(line, env, "/home/me");

function options(line: string[], env?: NodeJS.ProcessEnv) {
  const parsed = parse(line, env);
  if (parsed.kind !== "chat") throw new Error(JSON.stringify(parsed));
  return parsed.options;
}

describe("the command line", () => {
  it("has defaults for everything", () => {
    expect(options([])).toEqual({
      url: "http://127.0.0.1:7788",
      token: undefined,
      transport: "h2",
      grpcWeb: false,
      ca: undefined,
      model: undefined,
      mode: undefined,
      folder: "/home/me",
      prompt: undefined,
      json: false,
      yes: false,
      resume: undefined,
      mcp: undefined,
      retries: 10,
    });
  });

  it("takes options, and the environment behind them", () => {
    const env = { CHARTROOM_URL: "http://env:1", CHARTROOM_TOKEN: "t", CHARTROOM_MODEL: "m" };
    expect(options([], env)).toMatchObject({ url: "http://env:1", token: "t", model: "m" });
    const line = "--url https://h --token x --transport h1 --grpc-web --ca c.pem --model n --mode plan --folder ws";
    expect(
      options([...line.split(" "), "-p", "hi there", "--json", "-y", "--mcp", "/m.json", "--retries", "0"], env),
    ).toEqual({
      url: "https://h",
      token: "x",
      transport: "h1",
      grpcWeb: true,
      ca: "/home/me/c.pem",
      model: "n",
      mode: "plan",
      folder: "/home/me/ws",
      prompt: "hi there",
      json: true,
      yes: true,
      resume: undefined,
      mcp: "/m.json",
      retries: 0,
    });
  });

  it("--resume stands alone or with an id", () => {
    expect(options(["--resume"]).resume).toBe("");
    expect(options(["--resume", "--yes"])).toMatchObject({ resume: "", yes: true });
    expect(options(["--resume", "c-1"]).resume).toBe("c-1");
    expect(options(["--resume=c-1"]).resume).toBe("c-1");
  });

  it("a message may look like an option", () => {
    expect(options(["--prompt", "--yes is an option"])).toMatchObject({ prompt: "--yes is an option", yes: false });
    expect(options(["--prompt=-x"]).prompt).toBe("-x");
  });

  it("names every mistake", () => {
    expect(parse(["--foo", "word", "--url", "ftp://x", "--transport", "h3", "--mode", "x", "--retries", "-1"])).toEqual(
      {
        kind: "usage",
        errors: [
          "unknown option --foo",
          'what is "word"? A message goes behind --prompt',
          '--url must be an http or https address, not "ftp://x"',
          '--transport must be h2 or h1, not "h3"',
          '--mode must be agent, ask, plan, not "x"',
          '--retries must be a number from 0, not "-1"',
        ],
      },
    );
    expect(parse(["--json"])).toMatchObject({ errors: ["--json goes with --prompt"] });
    expect(parse(["--new", "--resume"])).toMatchObject({ errors: ["--new and --resume exclude each other"] });
    expect(parse(["--resume", "../x"])).toMatchObject({ errors: ['"../x" is no conversation id'] });
    expect(parse(["--folder"])).toMatchObject({ errors: ["--folder needs a value"] });
    expect(parse([], { CHARTROOM_TOKEN: "a\nb" })).toMatchObject({
      errors: ["the token has characters that no token has"],
    });
    expect(parse(["--token", "--yes"])).toMatchObject({ kind: "chat" });
  });

  it("--help is 80 columns wide and knows every option", () => {
    expect(parse(["--help"])).toEqual({ kind: "help" });
    expect(parse(["-h", "--foo"])).toEqual({ kind: "help" });
    const lines = helpText().split("\n");
    expect(lines.filter((line) => widthOf(line) > 80)).toEqual([]);
    expect(helpText()).toMatch(/--grpc-web[^]*--retries N[^]*-h, --help[^]*130 stopped/);
  });
});

describe("what is typed", () => {
  it.each([
    ["  ", { kind: "nothing" }],
    ["hello", { kind: "message", text: "hello" }],
    ["/etc/passwd is a file", { kind: "message", text: "/etc/passwd is a file" }],
    ["/new", { kind: "new" }],
    [" /quit ", { kind: "quit" }],
    ["/exit", { kind: "quit" }],
    ["/help", { kind: "help" }],
    ["/summarize", { kind: "summarize" }],
    ["/model", { kind: "model", id: undefined }],
    ["/model gpt-5:high", { kind: "model", id: "gpt-5:high" }],
    ["/mode", { kind: "mode", mode: undefined }],
    ["/mode ask", { kind: "mode", mode: "ask" }],
    ["/mode fly", { kind: "unknown", word: "mode fly" }],
    ["/resume c-1", { kind: "resume", id: "c-1" }],
    ["/nothing", { kind: "unknown", word: "nothing" }],
  ])("%j", (line, typed) => expect(readTyped(line)).toEqual(typed));
});

it("exit codes", () => {
  const failed = (kind: "server" | "unreachable") =>
    exitCodeOf({ outcome: "failed", error: { kind, code: "unknown", title: "", detail: "", retryable: false } });
  expect(exitCodeOf({ outcome: "completed" })).toBe(EXIT.ok);
  expect(exitCodeOf({ outcome: "cancelled" })).toBe(130);
  expect(failed("server")).toBe(1);
  expect(failed("unreachable")).toBe(3);
});
