import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { parseShell } from "./parse.ts";

const commands = (text: string) => parseShell(text)?.commands.map(({ name }) => name);
const texts = (text: string) => parseShell(text)?.commands.map(({ fullText }) => fullText);
const args = (text: string) => parseShell(text)?.commands[0]?.args.map(({ type, value }) => `${type} ${value}`);
const redirects = (text: string) =>
  parseShell(text)?.redirects.map(({ operator, fds, target }) => `${fds.join("+")}${operator}${target.value}`);

describe("parseShell", () => {
  it("reads one command and its arguments", () => {
    expect(parseShell("npm test")).toEqual({
      commands: [{ name: "npm", args: [{ type: "word", value: "test" }], fullText: "npm test" }],
      redirects: [],
      substitutes: false,
    });
  });

  it.each([
    ["a && b || c; d & e", ["a", "b", "c", "d", "e"]],
    ["a | b |& c", ["a", "b", "c"]],
    ["a\nb\n\n# a comment\nc # another\n", ["a", "b", "c"]],
    ["a &&\n  b", ["a", "b"]],
    ["a \\\n  -x", ["a"]],
    ["(cd x && a); { b; c; }", ["cd", "a", "b", "c"]],
    ["if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]],
    ["while a; do b; done; until c\ndo d\ndone", ["a", "b", "c", "d"]],
    ["for f in *.ts $(list); do echo $f; done > out", ["list", "echo"]],
    ["! a", ["a"]],
    ["time -p a", ["a"]],
    ["X=1 Y+=2 a", ["a"]],
    ["X=$(b)", ["b"]],
    ["", []],
    ["# nothing", []],
    ["a#b", ["a#b"]],
    ["a;", ["a"]],
    ["a &", ["a"]],
  ])("finds the commands of %j", (text, names) => {
    expect(commands(text)).toEqual(names);
  });

  it.each([
    ["echo $(a; b | c)", ["a", "b", "c", "echo"]],
    ['echo "x $(a) y"', ["a", "echo"]],
    ["echo `a \\`b\\``", ["b", "a", "echo"]],
    ['echo "${X:-$(a)}"', ["a", "echo"]],
    ["diff <(a) >(b)", ["a", "b", "diff"]],
    ["echo $((1 + $(a)))", ["a", "echo"]],
    ["cat <<E\n$(a)\nE\n", ["cat", "a"]],
  ])("sees the commands hidden in %j", (text, names) => {
    const script = parseShell(text);
    expect(script?.commands.map(({ name }) => name)).toEqual(names);
    expect(script?.substitutes).toBe(true);
  });

  it.each(["echo '$(a) `b`'", 'echo "\\$(a)"', "cat <<'E'\n$(a)\nE", "cat <<\\E\n`a`\nE"])(
    "takes %j as plain text",
    (text) => {
      expect(parseShell(text)).toMatchObject({ substitutes: false });
      expect(commands(text)).toHaveLength(1);
    },
  );

  it("takes quotes off a name, but leaves arguments as written", () => {
    expect(commands("\"git\" s; 'l's; \\rm x")).toEqual(["git", "ls", "rm"]);
    expect(commands("$X a")).toEqual(["$X"]);
    expect(commands("$(a) b")).toEqual(["a", "$(a)"]);
  });

  it("names the kind of each argument", () => {
    expect(args(`a b 'c d' "e f" g'h' $I`)).toEqual([
      "word b",
      "raw_string 'c d'",
      'string "e f"',
      "concatenation g'h'",
      "simple_expansion $I",
    ]);
    expect(args("a ${b} $((1+2)) $'c\\'d' \\;")).toEqual([
      "expansion ${b}",
      "arithmetic_expansion $((1+2))",
      "ansi_c_string $'c\\'d'",
      "word \\;",
    ]);
  });

  it("keeps assignments in the full text: they can change what a command does", () => {
    expect(texts("GIT_PAGER=evil git  log -1 && ls > x")).toEqual(["GIT_PAGER=evil git  log -1", "ls"]);
  });

  it.each([
    ["a > b", ["1>b"]],
    ["a 2>> b < c", ["2>>b", "0<c"]],
    ["a &> b", ["1+2&>b"]],
    ["a >/dev/null 2>&1", ["1>/dev/null", "2>&1"]],
    ["a >& b", ["1+2>&b"]],
    ["a <<< 'x'", ["0<<<'x'"]],
    ["> b", ["1>b"]],
    ["a2>b", ["1>b"]],
    ["a <<-E | b\n\tx\n\tE\nc", ["0<<-E"]],
  ])("reads the redirections of %j", (text, expected) => {
    expect(redirects(text)).toEqual(expected);
  });

  it("goes on behind the body of a here-document", () => {
    expect(commands("a <<-E | b\n\tit's; rm x\n\tE\nc")).toEqual(["a", "b", "c"]);
    expect(commands("a <<A <<B\nx\nA\ny\nB\nc")).toEqual(["a", "c"]);
  });

  it.each([
    "a 'b",
    'a "b',
    "a `b",
    "a $(b",
    "a ${b",
    "a )",
    "(a",
    "{ a;",
    "a; ; b",
    "&& a",
    "a && ",
    "a | | b",
    "a |",
    "a \\",
    "if a; then b",
    "fi",
    "done",
    "case x in y) z;; esac",
    "[[ -f x && -d y ]]",
    "f() { a; }",
    "function f { a; }",
    "x=(a b)",
    "((1 + 1))",
    "echo $((1 + (2)",
    "cat <<E\nx\n",
    "a <<E $(\nb\n)\nE",
    "a {fd}> b",
    "a > ",
    "select x in a; do b; done",
    "for ((;;)); do a; done",
    "a\0b",
    "$(".repeat(30) + "a" + ")".repeat(30),
    "a".repeat(70_000),
  ])("is not sure about %j", (text) => {
    expect(parseShell(text)).toBeUndefined();
  });

  it("reads line ends of Windows as line ends", () => {
    expect(commands("a\r\nb\r\n")).toEqual(["a", "b"]);
  });

  const bit = fc.constantFrom(
    "a",
    " ",
    "\n",
    ";",
    "&",
    "&&",
    "|",
    "'",
    '"',
    "`",
    "$",
    "$(",
    "${",
    "$((",
    "(",
    ")",
    "{ ",
    "}",
    "<",
    ">",
    "<<E",
    "E\n",
    "#",
    "\\",
    "if ",
    "then ",
    "fi",
    "do ",
    "done",
    "for x in ",
    "X=",
    "2>",
    "!",
  );
  test.prop([fc.array(bit, { maxLength: 25 })], { numRuns: 2000 })("never throws and always ends", (bits) => {
    const script = parseShell(bits.join(""));
    for (const { name, fullText } of script?.commands ?? []) {
      expect(name).not.toBe("");
      expect(fullText).not.toBe("");
    }
  });

  const word = fc.stringMatching(/^[a-z0-9./-]{1,8}$/);
  const quoted = fc.string({ maxLength: 8 }).map((text) => `'${text.replaceAll(/['\0]/g, "")}'`);
  test.prop([
    fc.array(fc.tuple(word, fc.array(fc.oneof(word, quoted), { maxLength: 4 })), { minLength: 1, maxLength: 5 }),
  ])("finds each command of a list that it was made of", (list) => {
    const keywords = new Set([
      "if",
      "fi",
      "do",
      "in",
      "for",
      "then",
      "done",
      "else",
      "time",
      "case",
      "esac",
      "until",
      "while",
      "elif",
      "select",
      "coproc",
    ]);
    fc.pre(list.every(([name]) => !keywords.has(name)));
    const line = list.map(([name, words]) => [name, ...words].join(" "));
    expect(texts(line.join(" && "))).toEqual(line);
    expect(commands(line.join("; "))).toEqual(list.map(([name]) => name));
  });
});
