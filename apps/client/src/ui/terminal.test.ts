import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { eventually } from "../../test/eventually.ts";
import { Screen } from "../../test/screen.ts";
import { edit, EMPTY_LINE, type Key, type Line } from "./line-editor.ts";
import { stylesFor } from "./style.ts";
import { Terminal } from "./terminal.ts";
import { readAnswer, TerminalUser } from "./terminal-user.ts";

vi.setConfig({ testTimeout: 30_000 });

const styles = stylesFor(false);
let screen: Screen;
let terminal: Terminal;
let now: number;
beforeEach(() => {
  now = 0;
  screen = new Screen(40);
  terminal = new Terminal(screen.stdin, screen.stdout, styles, () => now);
});
afterEach(() => terminal.close());

const shows = (text: string) => eventually(() => screen.text).toBe(text);

describe("Terminal", () => {
  it("lets rows scroll away above the line that is being typed", async () => {
    screen.type("hel");
    terminal.row("one");
    terminal.partial("tw");
    await shows("one\ntw\n› hel");
    terminal.row("two");
    terminal.partial(undefined);
    screen.type("lo");
    await shows("one\ntwo\n› hello");
    expect(screen.cursor).toEqual({ row: 2, column: 7 });
  });

  it("says what goes on, and for how long", async () => {
    terminal.status("thinking");
    await eventually(() => screen.text).toMatch(/^\S thinking · 0 s · Ctrl-C stops\n›$/);
    terminal.status(undefined);
    await shows("›");
    expect(screen.cursor).toEqual({ row: 0, column: 2 });
  });

  it("gives a typed line to who waits for it, or to the listener, or keeps it", async () => {
    screen.type("early\r");
    await eventually(() => terminal.read()).toEqual({ kind: "line", text: "early" });
    const waiting = terminal.line("name ");
    screen.type("now\r");
    expect(await waiting).toBe("now");
    const heard = Promise.withResolvers<string>();
    terminal.listen({ line: heard.resolve, interrupt: () => undefined, end: () => undefined });
    screen.type("meanwhile\r");
    expect(await heard.promise).toBe("meanwhile");
  });

  it("asks for a key, and what was being typed is there again afterwards", async () => {
    screen.type("half a li");
    await shows("› half a li");
    const answer = terminal.key("Allow? [y]es [n]o ", "yn");
    await shows("Allow? [y]es [n]o");
    now += 1_000;
    screen.type("xY");
    expect(await answer).toBe("y");
    await shows("› half a li");
  });

  it("what is typed on when a question comes up does not answer it", async () => {
    screen.type("reall");
    await shows("› reall");
    const answer = terminal.key("Allow? [y]es [n]o ", "yn");
    screen.type("y now");
    await shows("Allow? [y]es [n]o");
    now += 1_000;
    screen.type("n");
    expect(await answer).toBe("n");
    await shows("› really now");
  });

  it("Ctrl-C empties the line, then interrupts; it also answers a question with no answer", async () => {
    let interrupts = 0;
    terminal.listen({ line: () => undefined, interrupt: () => (interrupts += 1), end: () => undefined });
    screen.type("abc\x03");
    await shows("›");
    expect(interrupts).toBe(0);
    screen.type("\x03");
    await eventually(() => interrupts).toBe(1);
    const answer = terminal.key("?", "yn");
    screen.type("\x03");
    expect(await answer).toBeUndefined();
    expect(interrupts).toBe(2);
  });

  it("Ctrl-D and the end of the input end what is waited for", async () => {
    const interrupted = terminal.read();
    screen.type("\x03");
    expect(await interrupted).toEqual({ kind: "interrupt" });
    const read = terminal.read();
    screen.type("\x04");
    expect(await read).toEqual({ kind: "end" });
    const line = terminal.line("name ");
    screen.type("\x04");
    expect(await line).toBeUndefined();
    const key = terminal.key("?", "y");
    screen.input.end();
    expect(await key).toBeUndefined();
  });

  it("an aborted question goes away", async () => {
    const stop = new AbortController();
    const answers = [terminal.key("?", "y", stop.signal), terminal.line("name ", stop.signal)];
    stop.abort();
    expect(await Promise.all(answers)).toEqual([undefined, undefined]);
    expect(await terminal.key("?", "y", stop.signal)).toBeUndefined();
  });

  it("a long line scrolls sideways around the cursor and never breaks the picture", async () => {
    screen.type("x".repeat(60));
    await eventually(() => screen.text).toMatch(/^› …x{34,37}$/);
    screen.type("\x1b[H");
    await eventually(() => screen.cursor.column).toBe(2);
    screen.type("世".repeat(30));
    await eventually(() => screen.text).toMatch(/^› …世+/);
    expect(screen.text.split("\n")).toHaveLength(1);
  });

  it("pasted lines are one line of several, shown with a mark", async () => {
    const line = terminal.line("› ");
    screen.type("\x1b[200~one\ntwo\x1b[201~");
    await shows("› one↵two");
    screen.type("\r");
    expect(await line).toBe("one\ntwo");
  });

  it("gives the terminal back", async () => {
    terminal.row("last");
    terminal.partial("words");
    expect(screen.raw).toBe(true);
    terminal.close();
    expect(screen.raw).toBe(false);
    expect(screen.text).toBe("last\nwords");
    expect(await terminal.read()).toEqual({ kind: "end" });
    expect(await terminal.key("?", "y")).toBeUndefined();
  });
});

describe("the person at the terminal", () => {
  it("sees a command whole and decides with a key", async () => {
    const user = new TerminalUser(terminal, styles);
    const never = new AbortController().signal;
    const command = `echo ${"x".repeat(60)}; rm -rf y`;
    const answer = user.approve({ kind: "command", command, cwd: "sub", description: "Try", background: false }, never);
    await eventually(() => screen.text).toContain("Allow?");
    expect(screen.text.replaceAll("\n", "")).toContain("; rm -rf y");
    expect(screen.text).toContain("? Run Try in sub");
    screen.type("a");
    expect(await answer).toBe("always");
    await eventually(() => screen.text).toContain("✓ always allowed");
  });

  it("sees a change as a diff; anything but a yes is a no", async () => {
    const user = new TerminalUser(terminal, styles);
    const stop = new AbortController();
    const answer = user.approve({ kind: "write", path: "a.txt", before: "one\n", after: "two\n" }, stop.signal);
    await eventually(() => screen.text).toContain("? Change a.txt  +1 −1\n  1 - one\n  1 + two");
    stop.abort();
    expect(await answer).toBe("no");
  });

  it("answers questions with numbers or words", async () => {
    const user = new TerminalUser(terminal, styles);
    const never = new AbortController().signal;
    const options = [
      { id: "a", label: "Apples" },
      { id: "b", label: "Pears" },
    ];
    const answers = user.answer("Fruit", [{ id: "q", prompt: "Which?", options, allowMultiple: false }], never);
    await eventually(() => screen.text).toContain("? Fruit\n? Which?\n  1. Apples\n  2. Pears");
    screen.type("2\r");
    expect(await answers).toEqual([{ questionId: "q", optionIds: ["b"], text: "" }]);
    const none = user.answer("", [{ id: "q", prompt: "Which?", options, allowMultiple: false }], never);
    await eventually(() => screen.text).toContain("or words");
    screen.type("\x03");
    expect(await none).toBeUndefined();
  });

  it.each([
    ["1", false, ["a"], ""],
    ["1, 2", true, ["a", "b"], ""],
    ["1 2", false, [], "1 2"],
    ["3", false, [], "3"],
    ["pears", false, ["b"], ""],
    ["neither of them", true, [], "neither of them"],
    ["", false, [], ""],
  ])("%j is read", (typed, allowMultiple, optionIds, text) => {
    const options = [
      { id: "a", label: "Apples" },
      { id: "b", label: "Pears" },
    ];
    expect(readAnswer({ id: "q", prompt: "", options, allowMultiple }, typed)).toEqual({
      questionId: "q",
      optionIds,
      text,
    });
  });
});

describe("the line editor", () => {
  function press(line: Line, ...keys: (Key | string)[]): Line {
    return keys.reduce<Line>((now, key) => edit(now, typeof key === "string" ? { sequence: key } : key).line, line);
  }
  const ctrl = (name: string): Key => ({ name, ctrl: true });
  const typed = (text: string, cursor = text.length): Line => ({ ...EMPTY_LINE, text, cursor });

  it.each<[string, Line, Key, string, number]>([
    ["a letter goes in at the cursor", typed("ac", 1), { sequence: "b" }, "abc", 2],
    ["backspace takes a whole character", typed("a👨‍👩‍👧"), { name: "backspace" }, "a", 1],
    ["delete", typed("abc", 1), { name: "delete" }, "ac", 1],
    ["Ctrl-D deletes in a line", typed("abc", 1), ctrl("d"), "ac", 1],
    ["Ctrl-W takes a word", typed("one two  "), ctrl("w"), "one ", 4],
    ["Ctrl-U takes all before", typed("one two", 4), ctrl("u"), "two", 0],
    ["Ctrl-K takes all behind", typed("one two", 3), ctrl("k"), "one", 3],
    ["left", typed("ab"), { name: "left" }, "ab", 1],
    ["right at the end", typed("ab"), { name: "right" }, "ab", 2],
    ["home", typed("ab"), ctrl("a"), "ab", 0],
    ["end", typed("ab", 0), ctrl("e"), "ab", 2],
    ["a word to the left", typed("one two"), { name: "left", ctrl: true }, "one two", 4],
    ["a word to the right", typed("one two", 0), { name: "f", meta: true }, "one two", 3],
    ["Ctrl-J makes a new line", typed("a"), { name: "enter", sequence: "\n" }, "a\n", 2],
    ["keys that are not known do nothing", typed("a"), { name: "f5", sequence: "\x1b[15~" }, "a", 1],
  ])("%s", (_what, line, key, text, cursor) => {
    expect(press(line, key)).toMatchObject({ text, cursor });
  });

  it("remembers what was sent, and what was being typed", () => {
    const sent = press(press(EMPTY_LINE, "one", { name: "return" }), "two", { name: "return" }, "dra");
    const up = press(sent, { name: "up" });
    expect(up.text).toBe("two");
    expect(press(up, { name: "up" }).text).toBe("one");
    expect(press(up, { name: "up" }, { name: "up" }).text).toBe("one");
    expect(press(up, { name: "down" }).text).toBe("dra");
  });

  it("says when a line is sent, interrupted or ended", () => {
    expect(edit(typed("a"), { name: "return" }).action).toEqual({ kind: "submit", text: "a" });
    expect(edit(typed("a"), ctrl("c"))).toMatchObject({ line: { text: "" }, action: undefined });
    expect(edit(EMPTY_LINE, ctrl("c")).action).toEqual({ kind: "interrupt" });
    expect(edit(EMPTY_LINE, ctrl("d")).action).toEqual({ kind: "end" });
  });
});
