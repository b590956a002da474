import type { ModelEvent, ModelMessage, ModelRequest, ModelToolResult, ToolDefinition } from "@chartroom/domain";
import { describe, expect, it } from "vitest";
import { until } from "../../test/fake-vendor.ts";
import { HandClock } from "../../test/hand-clock.ts";
import { collect, limits, request, textOf, user } from "../../test/requests.ts";
import { demoProvider } from "./provider.ts";

const tool = (name: string): ToolDefinition => ({
  name,
  description: "",
  inputSchema: { type: "object", properties: {} },
});
const NATIVE = ["Shell", "Read", "Write", "StrReplace", "Delete", "Grep", "Glob", "ReadLints"].map(tool);

interface Asked {
  readonly name: string;
  readonly args: Readonly<Record<string, string>>;
}
type Answer = Partial<ModelToolResult> | string;

/** Plays a turn to its end against tools that answer by `answer`; tells the calls, and what was said after them. */
async function turn(prompt: string, answer: (call: Asked) => Answer, tools: readonly ToolDefinition[] = NATIVE) {
  const messages: ModelMessage[] = [
    user("<environment>\nShell: bash\n</environment>"),
    user("<turn>\nMode: agent\n</turn>"),
    user(prompt),
  ];
  const calls: Asked[] = [];
  for (let pass = 0; pass < 10; pass++) {
    const events = await play(request({ tools, messages }));
    const asked = callsOf(events);
    messages.push({ role: "assistant", blocks: [{ type: "text", text: textOf(events) }], calls: asked });
    if (asked.length === 0) return { calls, said: textOf(events) };
    const results = asked.map((call): ModelToolResult => {
      const one: Asked = { name: call.name, args: JSON.parse(call.arguments) as Asked["args"] };
      calls.push(one);
      const given = answer(one);
      return {
        callId: call.id,
        toolName: call.name,
        isError: false,
        text: "",
        ...(typeof given === "string" ? { text: given } : given),
      };
    });
    messages.push({ role: "tool", results });
  }
  throw new Error("the turn does not end");
}

const play = (one: ModelRequest): Promise<readonly ModelEvent[]> =>
  collect(
    demoProvider({ id: "demo", kind: "demo", paceMs: 0 }, new HandClock()).stream(
      one,
      limits,
      new AbortController().signal,
    ),
  );

function callsOf(events: readonly ModelEvent[]) {
  return events.flatMap((event) =>
    event.type === "call"
      ? [
          {
            id: event.providerId,
            name: event.name,
            arguments: events
              .map((more) => (more.type === "callArguments" && more.index === event.index ? more.text : ""))
              .join(""),
          },
        ]
      : [],
  );
}

const names = (calls: readonly Asked[]): readonly string[] => calls.map(({ name }) => name);

describe("the demo model", () => {
  it("reads the file that the prompt names, adds the quoted line to it, runs a command and sums up", async () => {
    const { calls, said } = await turn('Please append "second line" to notes.txt.', ({ name }) => {
      if (name === "Read") return "     1|first line\n     2|";
      return name === "Shell" ? " notes.txt | 2 ++" : "The file was changed.";
    });
    expect(calls).toEqual([
      { name: "Read", args: { path: "notes.txt" } },
      {
        name: "StrReplace",
        args: { path: "notes.txt", old_string: "first line", new_string: "first line\n\nsecond line" },
      },
      { name: "Shell", args: { command: "git diff --stat", description: expect.any(String) } },
    ]);
    expect(said).toContain("changed `notes.txt`");
    expect(said).toContain("notes.txt | 2 ++");
  });

  it("looks around when no file is named, and takes the README", async () => {
    const { calls } = await turn("Show me what you can do.", ({ name }) => {
      if (name === "Glob") return "docs/README.md\nZEBRA.md\nREADME.md\n\n[3 files of 9. Narrow the pattern.]";
      return name === "Read" ? "     1|# Title\n     2|\n     3|Text." : "ok";
    });
    expect(names(calls)).toEqual(["Glob", "Read", "StrReplace", "Shell"]);
    expect(calls[1]?.args).toEqual({ path: "README.md" });
    expect(calls[2]?.args).toMatchObject({
      old_string: "Text.",
      new_string: "Text.\n\nEdited by Chartroom's demo model.",
    });
  });

  it("writes a file of its own in an empty folder", async () => {
    const { calls } = await turn("Try something.", ({ name }) => (name === "Glob" ? "No files found." : "ok"));
    expect(names(calls)).toEqual(["Glob", "Write", "Shell"]);
    expect(calls[1]?.args["path"]).toBe("CHARTROOM.md");
  });

  it("changes nothing when no change is asked for", async () => {
    const { calls, said } = await turn("hello", ({ name }) => (name === "Glob" ? "README.md" : "     1|# Title"));
    expect(names(calls)).toEqual(["Glob", "Read", "Shell"]);
    expect(said).toContain("Ask me to add a line");
  });

  it.each([
    ["src/app.ts", "// Edited by Chartroom's demo model."],
    ["run.py", "# Edited by Chartroom's demo model."],
    ["page.html", "<!-- Edited by Chartroom's demo model. -->"],
    ["a.css", "/* Edited by Chartroom's demo model. */"],
  ])("remarks in %s are comments of its language", async (path, remark) => {
    const { calls } = await turn(`edit ${path}`, ({ name }) => (name === "Read" ? "     1|a\n     2|b" : "ok"));
    expect(calls[1]).toEqual({ name: "StrReplace", args: { path, old_string: "b", new_string: `b\n${remark}` } });
  });

  it("does not touch a file in which a remark would be an error, and makes one that is missing", async () => {
    const json = await turn("edit package.json", ({ name }) => (name === "Read" ? "     1|{}" : "ok"));
    expect(json.calls[1]).toMatchObject({ name: "Write", args: { path: "CHARTROOM.md" } });
    const missing = await turn("create todo.md", ({ name }) =>
      name === "Read" ? { text: "File not found: /w/todo.md", isError: true } : "ok",
    );
    expect(missing.calls[1]).toMatchObject({ name: "Write", args: { path: "todo.md" } });
    const empty = await turn('add "x" to todo.md', ({ name }) => (name === "Read" ? "The file is empty." : "ok"));
    expect(empty.calls[1]).toEqual({ name: "Write", args: { path: "todo.md", contents: "x\n" } });
  });

  it.each(["Glob", "Read", "StrReplace", "Shell"])("ends well when %s is rejected", async (refused) => {
    const { said } = await turn("improve this", ({ name }) => {
      if (name === refused) return { text: "Rejected by the user.", isError: true };
      return name === "Glob" ? "README.md" : "     1|# Title";
    });
    expect(said).toContain("Rejected by the user.");
  });

  it.each([[[]], [["Read"]], [["Read", "Glob", "Grep"]], [["Shell"]], [["Write"]]])(
    "does with what is offered: %j",
    async (offered) => {
      const { calls, said } = await turn("change README.md and show me", () => "     1|# Title", offered.map(tool));
      expect(names(calls).every((name) => offered.includes(name))).toBe(true);
      expect(said).not.toBe("");
    },
  );

  it("begins anew with what the user says in the middle", async () => {
    const messages: readonly ModelMessage[] = [
      user("edit a.md"),
      { role: "assistant", blocks: [], calls: [{ id: "c", name: "Read", arguments: '{"path":"a.md"}' }] },
      { role: "tool", results: [{ callId: "c", toolName: "Read", text: "interrupted", isError: true }] },
      user("no, edit b.md"),
    ];
    const [call] = callsOf(await play(request({ tools: NATIVE, messages })));
    expect(call).toMatchObject({ name: "Read", arguments: '{"path":"b.md"}' });
  });

  it("gives the same events for the same request, in small pieces, and ends each pass once", async () => {
    const one = request({ tools: NATIVE, messages: [user("edit a.md")] });
    const events = await play(one);
    expect(await play(structuredClone(one))).toEqual(events);
    expect(events.filter(({ type }) => type === "thinking" || type === "callArguments").length).toBeGreaterThan(3);
    expect(events.at(-1)).toEqual({ type: "finished", reason: "toolCalls", raw: "toolCalls" });
  });

  it("takes pauses by its clock, and an abort ends one at once", async () => {
    const clock = new HandClock();
    const abort = new AbortController();
    const one = request({ messages: [user("say: one two three four")] });
    const stream = demoProvider({ id: "demo", kind: "demo", paceMs: 40 }, clock).stream(one, limits, abort.signal);
    const events: ModelEvent[] = [];
    const read = (async () => {
      for await (const batch of stream) events.push(...batch);
    })();
    await until(() => clock.pending === 1, "the first pause");
    expect(events).toEqual([]);
    clock.advance(40);
    await until(() => events.length === 1 && clock.pending === 1, "the second pause");
    expect(events).toEqual([{ type: "text", text: "one two three " }]);
    abort.abort();
    await read;
    expect(events.at(-1)).toMatchObject({ type: "failed", failure: { kind: "aborted" } });
    expect(clock.pending).toBe(0);
  });

  it("takes note of what a background task tells, without doing anything", async () => {
    const events = await play(
      request({ tools: NATIVE, messages: [user("hi"), user("<background_task>\nended\n</background_task>")] }),
    );
    expect(callsOf(events)).toEqual([]);
    expect(textOf(events)).toContain("note of that");
  });

  it("names and summarises conversations", async () => {
    const named = await play(
      request({ tools: [], messages: [user("<message>\nFix the login page of the shop please\n</message>")] }),
    );
    expect(textOf(named)).toBe("Fix the login page of the");
    const messages = [user("first"), user("Summarise the conversation above for the agent.")];
    expect(textOf(await play(request({ tools: [], messages })))).toContain("- first");
  });

  describe("directives", () => {
    it("say, think, and calls at once, then the next lines with their results", async () => {
      const script =
        'think: hm\nsay: first\n  and more\ncall: Read {"path":"a"}\ncall: Grep {"pattern":"b"}\nsay: second\ncall: Read {"path":"c"}';
      const { calls, said } = await turn(script, ({ args }) => `got ${Object.values(args)[0]}`);
      expect(calls.map(({ args }) => Object.values(args)[0])).toEqual(["a", "b", "c"]);
      expect(said).toBe("Read gave: got c");
      const events = await play(request({ messages: [user(script)] }));
      expect(textOf(events)).toBe("first  and more");
      expect(callsOf(events)).toHaveLength(2);
    });

    it("sends arguments as they are written", async () => {
      expect(callsOf(await play(request({ messages: [user("call: Read {oops")] })))[0]).toMatchObject({
        name: "Read",
        arguments: "{oops",
      });
    });

    it("fails as it is told, and waits by the clock", async () => {
      const events = await play(request({ messages: [user("say: x\nfail: rateLimit too fast")] }));
      expect(events.at(-1)).toEqual({
        type: "failed",
        failure: { kind: "rateLimit", message: "too fast", retryable: true },
      });
      const clock = new HandClock();
      const one = request({ messages: [user("wait: 5000\nsay: done")] });
      const done = collect(
        demoProvider({ id: "demo", kind: "demo", paceMs: 0 }, clock).stream(one, limits, new AbortController().signal),
      );
      await until(() => clock.pending === 1, "the pause");
      clock.advance(5_000);
      expect(textOf(await done)).toBe("done");
    });
  });
});
