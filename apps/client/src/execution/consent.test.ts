import { describe, expect, it } from "vitest";
import { alwaysCovers, alwaysKey, type ApprovalAnswer, type ApprovalRequest, Consent, yesUser } from "./consent.ts";

const never = new AbortController().signal;
const command = (line: string): ApprovalRequest => ({
  kind: "command",
  command: line,
  cwd: "/ws",
  description: "",
  background: false,
});

function scripted(answers: ApprovalAnswer[]) {
  const asked: ApprovalRequest[] = [];
  const consent = new Consent({
    approve: (request) => {
      asked.push(request);
      return Promise.resolve(answers.shift() ?? "no");
    },
    answer: () => Promise.resolve(undefined),
  });
  return { consent, asked };
}

describe("what an always covers", () => {
  it.each([
    ["npm test", "npm run build", true],
    ["npm test", "npx tsc", false],
    ["npm test", "npm test; rm -rf /", false],
    ["npm test", "npm test && curl x", false],
    ["npm test", "npm $(curl x)", false],
    ["npm test", "npm `curl x`", false],
    ["npm test", "npm test\nrm x", false],
    ["npm test", "npm test > /etc/x", false],
    ["npm test", "X=1 npm test", false],
    ["a && b", "a && b", true],
    ["a && b", "a && c", false],
    ["npm", "npm i", true],
    ["./run.sh a", "./run.sh b", true],
  ])("%j once allowed allows %j: %s", (first, second, same) => {
    expect(alwaysKey(command(first)) === alwaysKey(command(second))).toBe(same);
  });

  it("is told in words", () => {
    expect(alwaysCovers(command("npm test"))).toBe('every plain "npm …"');
    expect(alwaysCovers(command("a | b"))).toBe("this very line");
    expect(alwaysCovers({ kind: "write", path: "a", before: undefined, after: "" })).toBe("all file changes");
  });
});

describe("Consent", () => {
  it("remembers an always and asks again after a yes", async () => {
    const { consent, asked } = scripted(["yes", "always"]);
    for (let times = 0; times < 3; times++) await consent.approve(command("npm test"), never);
    expect(asked).toHaveLength(2);
    expect(await consent.approve(command("npm run x"), never)).toEqual({ allowed: true });
    expect(await consent.approve(command("ls"), never)).toEqual({ allowed: false, reason: "The user refused this." });
  });

  it("asks one thing at a time, and an always answers those that wait", async () => {
    const { consent, asked } = scripted(["always"]);
    const write = (path: string): ApprovalRequest => ({ kind: "write", path, before: undefined, after: "" });
    expect(await Promise.all(["a", "b", "c"].map((path) => consent.approve(write(path), never)))).toEqual([
      { allowed: true },
      { allowed: true },
      { allowed: true },
    ]);
    expect(asked).toHaveLength(1);
  });

  it("what was stopped is not asked, and its answer does not count", async () => {
    const stop = new AbortController();
    const consent = new Consent({
      approve: () => {
        stop.abort();
        return Promise.resolve("always");
      },
      answer: () => Promise.resolve([]),
    });
    expect((await consent.approve(command("npm test"), stop.signal)).allowed).toBe(false);
    expect(await consent.answer("", [], stop.signal)).toBeUndefined();
  });
});

it("yesUser takes the first option", async () => {
  const options = [
    { id: "a", label: "A" },
    { id: "b", label: "B" },
  ];
  expect(
    await yesUser.answer(
      "",
      [
        { id: "q1", prompt: "?", options, allowMultiple: true },
        { id: "q2", prompt: "?", options: [], allowMultiple: false },
      ],
      never,
    ),
  ).toEqual([
    { questionId: "q1", optionIds: ["a"], text: "" },
    { questionId: "q2", optionIds: [], text: "Use your own judgement." },
  ]);
});
