import fc from "fast-check";
import type { AssistantBlock, CanonicalMessage, HistoryId, ModelMessage, ToolCallRecord } from "@chartroom/domain";
import { describe, expect, test } from "vitest";
import { doctor } from "./doctor.ts";
import { HEALING, type ProblemKind } from "./problem.ts";
import { createProjector, project, type ProjectOptions } from "./project.ts";
import { call, parts, record, result, runOf, said } from "./samples.ts";
import { assistantMessage, toolMessage } from "./step.ts";

const run = runOf("r");
const options: ProjectOptions = { vendor: "anthropic", supportsImages: true, image: () => undefined };

function user(text: string, id = text): CanonicalMessage {
  return {
    id: `user-message:${id}` as HistoryId,
    role: "user",
    origin: "user",
    content: { kind: "parts", parts: parts(text) },
  };
}
const read = (index: number, args = "{}"): ToolCallRecord => call(run, 1, index, "Read", args);
const assistant = (
  blocks: readonly AssistantBlock[],
  calls: readonly ToolCallRecord[] = [],
  partial = false,
  step = 1,
) => assistantMessage(run, record(run, step, blocks, calls, partial));
const answer = (of: ToolCallRecord, text = "ok") => toolMessage(run, result(of, text));

function kinds(messages: readonly CanonicalMessage[]): readonly ProblemKind[] {
  return project(messages, options).problems.map((problem) => problem.kind);
}
function shown(messages: readonly CanonicalMessage[], more: Partial<ProjectOptions> = {}): readonly ModelMessage[] {
  return project(messages, { ...options, ...more }).messages;
}

describe("a sound history", () => {
  test("calls go by index, results in the order of their commit, arguments byte for byte", () => {
    const odd = '{ "b" : 1.0, "a":[1e3] }';
    const calls = [{ ...read(1), arguments: odd }, read(0)];
    const messages = [user("go"), assistant([said("x")], calls), answer(calls[0]!, "B"), answer(calls[1]!, "A")];
    const [, step, results] = shown(messages);
    expect(step?.role === "assistant" && step.calls.map((one) => one.arguments)).toEqual(["{}", odd]);
    expect(results?.role === "tool" && results.results.map((one) => one.text)).toEqual(["B", "A"]);
    expect(kinds(messages)).toEqual([]);
  });

  test("reasoning state goes to the vendor that made it, text alone to the others, HI-25 once per message", () => {
    const thinking: AssistantBlock = { type: "thinking", text: "hm", replay: { vendor: "anthropic", data: "sig" } };
    const redacted: AssistantBlock = { type: "thinking", text: "", replay: { vendor: "anthropic", data: "red" } };
    const calls = [read(0), read(1)];
    const messages = [
      user("go"),
      assistant([redacted, thinking, said("x")], calls),
      ...calls.map((one) => answer(one)),
    ];
    const here = shown(messages)[1];
    expect(here?.role === "assistant" && here.blocks).toEqual([redacted, thinking, said("x")]);
    const there = shown(messages, { vendor: "openai" })[1];
    expect(there?.role === "assistant" && there.blocks).toEqual([{ type: "thinking", text: "hm" }, said("x")]);
  });

  test("a long result is cut here and not in the row", () => {
    const one = read(0);
    const row = answer(one, "x".repeat(100_000));
    const results = shown([user("go"), assistant([], [one]), row])[2];
    expect(results?.role === "tool" && results.results[0]!.text.length).toBeLessThan(65_537);
    expect(row.content.kind === "toolResult" && row.content.result.text.length).toBe(100_000);
  });

  test("pictures: bytes for a model that takes them, a note for one that does not, and for one that is gone", () => {
    const picture = { type: "image", blob: "b" as never, mimeType: "image/png", name: "a.png" } as const;
    const message: CanonicalMessage = {
      ...user("look"),
      content: { kind: "parts", parts: [picture, ...parts("look")] },
    };
    const image = () => new Uint8Array([1, 2, 3]);
    expect(shown([message], { image })[0]).toMatchObject({
      parts: [{ type: "image", base64: "AQID" }, { text: "look" }],
    });
    expect(JSON.stringify(shown([message], { image, supportsImages: false }))).toContain("a.png");
    expect(kinds([message])).toEqual(["missing-image"]);
  });
});

describe("a poisoned history is healed, the same way each time", () => {
  test("HI-19, HI-20 a call without a result is closed before anything else follows", () => {
    const calls = [read(0), read(1)];
    const messages = [user("go"), assistant([said("x")], calls), answer(calls[1]!), user("stop")];
    const results = shown(messages)[2];
    expect(results?.role === "tool" && results.results.map((one) => [one.callId, one.isError])).toEqual([
      [calls[1]!.id, false],
      [calls[0]!.id, true],
    ]);
    expect(kinds(messages)).toEqual(["missing-result"]);
    expect(shown(messages.slice(0, 3)).length).toBe(3);
  });

  test("an orphan result becomes text behind the round, and does not part it", () => {
    const calls = [read(0), read(1)];
    const messages = [user("go"), assistant([], calls), answer(calls[0]!), answer(read(7), "lost"), answer(calls[1]!)];
    expect(shown(messages).map((message) => message.role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(JSON.stringify(shown(messages))).toContain("lost");
    expect(kinds(messages)).toEqual(["orphan-result"]);
  });

  test("a second result of a call is left out", () => {
    const one = read(0);
    const messages = [user("go"), assistant([], [one]), answer(one, "first"), answer(one, "second")];
    expect(JSON.stringify(shown(messages))).not.toContain("second");
    expect(kinds(messages)).toEqual(["duplicate-result"]);
  });

  test("an id that is used twice gets a number, in the call and in its result", () => {
    const one = read(0);
    const messages = [user("go"), assistant([], [one]), answer(one), assistant([], [one], false, 2), answer(one)];
    const [, , , second, results] = shown(messages);
    expect(second?.role === "assistant" && second.calls[0]!.id).toBe(`${one.id}_2`);
    expect(results?.role === "tool" && results.results[0]!.callId).toBe(`${one.id}_2`);
    expect(kinds(messages)).toEqual(["duplicate-call-id"]);
  });

  test("the same id twice in one round: the results answer them in order", () => {
    const one = read(0);
    const messages = [user("go"), assistant([], [one, { ...one, index: 1 }]), answer(one, "A"), answer(one, "B")];
    const results = shown(messages)[2];
    expect(results?.role === "tool" && results.results.map((item) => [item.callId, item.text])).toEqual([
      [one.id, "A"],
      [`${one.id}_2`, "B"],
    ]);
  });

  test("ids and names that a provider would refuse are replaced", () => {
    const odd: ToolCallRecord = { ...read(0), id: "toolu 1\nfc_2" as never, name: "mcp/search it" };
    const messages = [user("go"), assistant([], [odd]), answer(odd)];
    const [, step, results] = shown(messages);
    const sent = step?.role === "assistant" ? step.calls[0]! : undefined;
    expect(sent?.name).toBe("mcp_search_it");
    expect(sent?.id).toMatch(/^[\w-]{1,40}$/u);
    expect(results?.role === "tool" && results.results[0]!.callId).toBe(sent?.id);
    expect(kinds(messages)).toEqual(["unsafe-call-id", "unsafe-tool-name"]);
  });

  test.each(['{"a":', "[1]", '"text"', "null", "17"])("arguments %j are wrapped into an object", (text) => {
    const one = read(0, text);
    const messages = [user("go"), assistant([], [one]), answer(one)];
    const step = shown(messages)[1];
    expect(step?.role === "assistant" && JSON.parse(step.calls[0]!.arguments)).toEqual({ invalid_arguments: text });
    expect(kinds(messages)).toEqual(["invalid-arguments"]);
  });

  test("no arguments at all are an empty object, and no fault", () => {
    const one = read(0, " ");
    const messages = [user("go"), assistant([], [one]), answer(one)];
    const step = shown(messages)[1];
    expect(step?.role === "assistant" && step.calls[0]!.arguments).toBe("{}");
    expect(kinds(messages)).toEqual([]);
  });

  test("HI-17 an interrupt during thinking: no message of thinking alone, and none that is empty", () => {
    const thought = [user("go"), assistant([{ type: "thinking", text: "hm" }], [], true), user("stop")];
    expect(shown(thought)[1]).toMatchObject({ blocks: [{ type: "thinking" }, { type: "text" }] });
    expect(kinds(thought)).toEqual(["thinking-only"]);
    const empty = [user("go"), assistant([said(" \n")], [], true), user("stop")];
    expect(shown(empty).map((message) => message.role)).toEqual(["user", "user"]);
    expect(kinds(empty)).toEqual(["empty-message"]);
  });

  test("HI-16 a turn without thinking gets an empty block where the vendor demands one", () => {
    const messages = [user("go"), assistant([said("x")]), user("on")];
    expect(shown(messages, { requireThinking: true })[1]).toMatchObject({
      blocks: [{ type: "thinking", text: "" }, { text: "x" }],
    });
    expect(shown(messages)[1]).toMatchObject({ blocks: [{ text: "x" }] });
    // reasoning of another vendor is none of this one's
    const foreign = [user("go"), assistant([{ type: "thinking", text: "hm" }, said("x")]), user("on")];
    expect(shown(foreign, { requireThinking: true })[1]).toMatchObject({
      blocks: [{ type: "thinking", text: "" }, { text: "hm" }, { text: "x" }],
    });
  });

  test("halves of surrogate pairs are replaced", () => {
    expect(JSON.stringify(shown([user("a\ud83d")]))).toContain("a\ufffd");
    expect(kinds([user("a\ud83d")])).toEqual(["broken-text"]);
  });

  test("system messages: the first ones are the client's, a later one is a note", () => {
    const system = (text: string): CanonicalMessage => ({ ...user(text), role: "system", origin: "prompt" });
    const made = project([system("one"), system("two"), user("go"), system("late")], options);
    expect(made.clientSystem).toEqual(["one", "two"]);
    expect(made.messages).toHaveLength(2);
    expect(made.problems.map((problem) => problem.kind)).toEqual(["late-system"]);
  });

  test("a history that begins with an answer gets a word of the user before it", () => {
    expect(shown([assistant([said("x")]), user("go")]).map((message) => message.role)).toEqual([
      "user",
      "assistant",
      "user",
    ]);
    expect(kinds([assistant([said("x")]), user("go")])).toEqual(["no-first-user"]);
  });

  test("HI-23 the doctor names each fault and how it is healed, and touches no row", () => {
    const one = read(0, "{");
    const messages = [user("go"), assistant([], [one]), answer(read(5)), user("x")];
    const before = JSON.stringify(messages);
    const found = doctor(messages);
    expect(found.map((finding) => finding.kind).toSorted()).toEqual([
      "invalid-arguments",
      "missing-result",
      "orphan-result",
    ]);
    for (const finding of found) expect(finding.healing).toBe(HEALING[finding.kind]);
    expect(JSON.stringify(messages)).toBe(before);
  });
});

test("any rows in any order: the request is valid, and the projector gives what project gives after each of them", () => {
  const pool = [read(0), read(1, "{"), { ...read(2), id: "x y" as never }];
  const row = fc.oneof(
    fc.constantFrom("a", "", "\ud800").map((text) => user(text)),
    fc.constantFrom("s").map((text): CanonicalMessage => ({ ...user(text), role: "system", origin: "prompt" })),
    fc
      .tuple(
        fc.subarray(pool),
        fc.constantFrom<readonly AssistantBlock[]>([], [said("t")], [{ type: "thinking", text: "h" }]),
        fc.boolean(),
      )
      .map(([calls, blocks, partial]) => assistant(blocks, calls, partial)),
    fc.constantFrom(...pool).map((one) => answer(one)),
  );
  fc.assert(
    fc.property(fc.array(row, { maxLength: 12 }), (rows) => {
      const projector = createProjector(options);
      for (let count = 0; count <= rows.length; count += 1) {
        const some = rows.slice(0, count);
        expect(projector(some)).toEqual(project(some, options));
      }
      const list = shown(rows);
      expect(list[0]?.role ?? "user").toBe("user");
      const ids = list.flatMap((message) => (message.role === "assistant" ? message.calls.map((one) => one.id) : []));
      expect(new Set(ids).size).toBe(ids.length);
      for (const [at, message] of list.entries()) {
        if (message.role === "tool") {
          const step = list[at - 1];
          const wanted = step?.role === "assistant" ? step.calls.map((one) => one.id).toSorted() : [];
          expect(message.results.map((one) => one.callId).toSorted()).toEqual(wanted);
        }
        if (message.role === "assistant") {
          expect(message.calls.length === 0 || list[at + 1]?.role === "tool").toBe(true);
          for (const one of message.calls) expect(JSON.parse(one.arguments)).toBeTypeOf("object");
        }
      }
    }),
    { numRuns: 300 },
  );
});
