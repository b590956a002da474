import { agent, blobId, create, fromBinary, toBinary } from "@chartroom/protocol";
import type { AssistantRecord, Blob, BlobId, CanonicalMessage, HistoryId, ToolCallRecord } from "@chartroom/domain";
import { describe, expect, test } from "vitest";
import { adopt } from "../adopt.ts";
import { compact } from "../compaction.ts";
import { openInjection } from "../opening.ts";
import { project } from "../project.ts";
import { call, Conversation, parts, record, result, runOf, said, section, userMessage } from "../samples.ts";
import { appendResults, appendStep } from "../step.ts";
import { EMPTY_VIEW, openCalls } from "../view.ts";
import { decodeCheckpoint, type Imported } from "./decode.ts";
import { type EncodeInput, encodeCheckpoint } from "./encode.ts";
import { readState, referencedBlobs, readTurn } from "./state.ts";

const run = runOf("r");
const options = { vendor: "here", supportsImages: true, image: () => undefined };

class Wire {
  readonly blobs = new Map<BlobId, Uint8Array>();
  state: Uint8Array | undefined;

  encode(view: EncodeInput["view"], rest: Partial<EncodeInput> = {}) {
    const made = encodeCheckpoint({
      system: "sys",
      view,
      blob: (id) => this.blobs.get(id),
      mode: "agent",
      ...(this.state === undefined ? {} : { previous: this.state }),
      ...rest,
    });
    if (!made.ok) throw new Error(made.kind);
    this.keep(made.blobs);
    this.state = made.state;
    return { ...made, outline: outlineOf(made.state) };
  }

  keep(blobs: readonly Blob[]): void {
    for (const blob of blobs) this.blobs.set(blob.id, blob.data);
  }

  decode(state: Uint8Array = this.state!): Imported {
    const read = decodeCheckpoint(state, (id) => this.blobs.get(id));
    if (!read.ok) throw new Error(read.kind);
    return read.value;
  }

  json(id: BlobId): unknown {
    return JSON.parse(new TextDecoder().decode(this.blobs.get(id)));
  }
}

function outlineOf(state: Uint8Array) {
  const read = readState(state);
  if (!read.ok) throw new Error("malformed");
  return read.outline;
}

function opened(text = "go", id = "m1"): Conversation {
  const chat = new Conversation();
  chat.open({ runId: run, input: { message: userMessage(text, id), parts: parts(text) } });
  return chat;
}

const odd = (index: number, args: string): ToolCallRecord => ({
  ...call(run, 1, index, "Read", args),
  name: "ReadLints",
});

describe("encode", () => {
  test("HI-08 what canonical history holds comes back: spelling of arguments, reasoning state, marks, pictures", () => {
    const chat = opened();
    const picture = new Uint8Array([1, 2, 3]);
    const image = { type: "image", blob: blobId(picture), mimeType: "image/png", name: "a.png" } as const;
    const calls = [odd(0, '{ "b":1.0,"a":2 }'), { ...odd(1, "{broken"), argumentError: "not JSON" }, odd(4, "")];
    const step: AssistantRecord = record(
      run,
      1,
      [
        { type: "thinking", text: "", replay: { vendor: "here", data: '{"redacted":"x"}' } },
        said("a"),
        { type: "thinking", text: "b" },
      ],
      calls,
    );
    chat.commit(appendStep(chat.place(run), step));
    const results = [
      result(calls[0]!, "A", { image }),
      result(calls[1]!, "B", { isError: true, interrupted: "deadline" }),
      result(calls[2]!, ""),
    ];
    chat.commit(appendResults(chat.place(run), results));
    const cut = record(run, 2, [said("half")], [], true);
    chat.commit(appendStep(chat.place(run), cut));

    const wire = new Wire();
    wire.blobs.set(image.blob, picture);
    wire.encode(chat.view);
    wire.blobs.delete(image.blob);
    const read = wire.decode();
    expect(read.problems).toEqual([]);
    expect(read.blobs.map((blob) => blob.id)).toEqual([image.blob]);
    const contents = read.messages.map((message) => message.content);
    expect(contents[1]).toEqual({ kind: "assistant", record: step });
    expect(contents.slice(2, 5)).toEqual(results.map((item) => ({ kind: "toolResult", result: item })));
    expect(contents[5]).toEqual({ kind: "assistant", record: cut });
  });

  test("ids of user messages are their own: context, runtime, injections of a system producer", () => {
    const chat = new Conversation();
    chat.open({
      runId: run,
      input: { message: userMessage("go", "m1"), parts: parts("go") },
      context: [section("git", "clean")],
      runtime: "now",
    });
    chat.commit(openInjection(chat.place(run), "i1" as never, "system", parts("told")));
    const wire = new Wire();
    wire.encode(chat.view);
    const strip = (message: CanonicalMessage) =>
      JSON.parse(JSON.stringify({ ...message, runId: undefined })) as unknown;
    expect(wire.decode().messages).toEqual(chat.view.messages.map(strip));
  });

  test("an open round stands in one pending string, keeps its start, and joins the rest when it is settled", () => {
    const chat = opened();
    const wire = new Wire();
    const before = wire.encode(chat.view).outline.roots;
    const calls = [call(run, 1, 0, "Read", '{"path":"a"}'), call(run, 1, 1, "Shell", "{}")];
    chat.commit(appendStep(chat.place(run), record(run, 1, [said("I look.")], calls)));
    const contract = (name: string) => ({ toolIdentifier: name.toUpperCase(), isDynamic: false });
    const open = wire.encode(chat.view, { pending: { startedAtMs: 17, contract } });
    expect(open.outline.roots).toEqual(before);
    expect(open.outline.pending).toHaveLength(1);
    const pending = JSON.parse(open.outline.pending[0]!);
    expect(pending).toMatchObject({
      role: "assistant",
      id: "1",
      providerOptions: { cursor: { pendingToolCallStartedAtMs: 17 } },
    });
    const contracts = pending.providerOptions.cursor.pendingToolExecutionContracts;
    expect(contracts[calls[0]!.id]).toEqual({
      toolCallId: calls[0]!.id,
      outerToolName: "Read",
      toolIdentifier: "READ",
      isDynamic: false,
      allowedToolNames: ["Read"],
    });

    const elsewhere = wire.decode();
    expect(openCalls(elsewhere.messages).map((item) => item.id)).toEqual(calls.map((item) => item.id));
    const later = wire.encode(chat.view, { pending: { startedAtMs: 99, contract } });
    expect(later.outline.pending).toEqual(open.outline.pending);

    chat.commit(appendResults(chat.place(run), [result(calls[1]!, "B")]));
    expect(wire.encode(chat.view).outline.roots).toEqual(before);
    chat.commit(appendResults(chat.place(run), [result(calls[0]!, "A")]));
    const settled = wire.encode(chat.view).outline;
    expect(settled.pending).toEqual([]);
    expect(settled.roots.slice(0, before.length)).toEqual(before);
    expect(settled.roots).toHaveLength(before.length + 3);
  });

  test("fields that this server does not know are kept, and all others of the client's state", () => {
    const todo = blobId(new Uint8Array([1]));
    const known = toBinary(
      agent.ConversationStateStructureSchema,
      create(agent.ConversationStateStructureSchema, {
        todos: [Buffer.from(todo, "hex")],
        previousWorkspaceUris: ["file:///a"],
        readPaths: ["b", "a"],
        goalState: create(agent.GoalStateSchema, { goalId: "g", objective: "win" }),
        activeBranchName: "main",
      }),
    );
    // field 999, a text
    const unknown = new Uint8Array([...known, 0xba, 0x3e, 2, 0x68, 0x69]);
    const wire = new Wire();
    wire.state = unknown;
    const { state, outline } = wire.encode(opened().view);
    const made = fromBinary(agent.ConversationStateStructureSchema, state);
    expect(made.goalState?.objective).toBe("win");
    expect(made.readPaths).toEqual(["b", "a"]);
    expect(made.activeBranchName).toBe("main");
    expect(made.mode).toBe(agent.AgentMode.AGENT);
    expect(Buffer.from(state).includes(Buffer.from([0xba, 0x3e, 2, 0x68, 0x69]))).toBe(true);
    expect(referencedBlobs(outline, (id) => wire.blobs.get(id))).toContain(todo);
  });

  test("turns: one for each message of the user, with what followed; one that is over never changes", () => {
    const chat = new Conversation();
    const wire = new Wire();
    const texts = ["one", "two"];
    const states: (readonly BlobId[])[] = [];
    for (const [at, text] of texts.entries()) {
      const own = runOf(`r${at}`);
      const message = userMessage(text, `m${at}`);
      const sent = toBinary(
        agent.UserMessageSchema,
        create(agent.UserMessageSchema, { text, messageId: `m${at}`, richText: "rich" }),
      );
      const opening = chat.open({ runId: own, input: { message, parts: parts(text) } });
      const id: HistoryId = opening.kind === "opened" ? opening.messages.at(-1)!.id : ("" as HistoryId);
      const rest = { userMessages: new Map([[id, sent]]), requestId: `request-${at}` };
      states.push(wire.encode(chat.view, rest).outline.turns);
      const one = call(own, 1, 0, "Read", "{}");
      chat.commit(
        appendStep(chat.place(own), record(own, 1, [{ type: "thinking", text: "hm" }, said("I look.")], [one])),
      );
      states.push(wire.encode(chat.view, rest).outline.turns);
      chat.commit(appendResults(chat.place(own), [result(one, "R")]));
      states.push(wire.encode(chat.view, rest).outline.turns);
      chat.commit(appendStep(chat.place(own), record(own, 2, [said("Done.")])));
      states.push(wire.encode(chat.view, rest).outline.turns);
    }
    expect(states.map((turns) => turns.length)).toEqual([1, 1, 1, 1, 2, 2, 2, 2]);
    for (const turns of states.slice(3)) expect(turns[0]).toBe(states[3]![0]);
    // an open round is not shown yet
    expect(states[0]).toEqual(states[1]);

    for (const [at, id] of states.at(-1)!.entries()) {
      const turn = readTurn(wire.blobs.get(id)!)!;
      const blob = (raw: Uint8Array) => wire.blobs.get(Buffer.from(raw).toString("hex") as BlobId)!;
      expect(turn.requestId).toBe(`request-${at}`);
      expect(fromBinary(agent.UserMessageSchema, blob(turn.userMessage))).toMatchObject({
        text: texts[at],
        richText: "rich",
      });
      const steps = turn.steps.map((raw) => fromBinary(agent.ConversationStepSchema, blob(raw)).message);
      expect(steps.map((step) => step.case)).toEqual([
        "thinkingMessage",
        "assistantMessage",
        "toolCall",
        "assistantMessage",
      ]);
      const shown = steps[2];
      expect(shown?.case === "toolCall" && shown.value.tool.case).toBe("mcpToolCall");
    }
  });

  test("the last turn of a state goes on after a restart, and from history where its blobs are lost", () => {
    const chat = opened();
    const wire = new Wire();
    wire.encode(chat.view);
    const { state, blobs } = wire;
    chat.commit(appendStep(chat.place(run), record(run, 1, [said("Done.")])));
    const went = encodeCheckpoint({
      system: "sys",
      view: chat.view,
      previous: state!,
      blob: (id) => blobs.get(id),
      mode: "agent",
    });
    const none = encodeCheckpoint({
      system: "sys",
      view: chat.view,
      previous: state!,
      blob: () => undefined,
      mode: "agent",
    });
    const without = encodeCheckpoint({
      system: "sys",
      view: chat.view,
      previous: state!,
      blob: () => undefined,
      mode: "agent",
      without: true,
    });
    expect(none).toEqual({ ok: false, kind: "missing", blobs: [outlineOf(state!).turns[0]] });
    expect(without.ok && went.ok && outlineOf(without.state).turns).toEqual(went.ok && outlineOf(went.state).turns);
  });

  test("a picture that nobody has: asked for, then a note", () => {
    const chat = new Conversation();
    const picture = { type: "image", blob: blobId(new Uint8Array([9])), mimeType: "image/png" } as const;
    chat.open({ runId: run, input: { message: userMessage("look", "m"), parts: [picture, ...parts("look")] } });
    const input = { system: "sys", view: chat.view, blob: () => undefined, mode: "agent" } as const;
    expect(encodeCheckpoint(input)).toEqual({ ok: false, kind: "missing", blobs: [picture.blob] });
    expect(encodeCheckpoint({ ...input, without: true }).ok).toBe(true);
  });

  test("a compaction: shorter root prompt messages, summary and archive, turns that the user saw all there", () => {
    const chat = opened("first", "m1");
    chat.commit(appendStep(chat.place(run), record(run, 1, [said("x".repeat(4_000))])));
    const wire = new Wire();
    const before = wire.encode(chat.view).outline;
    const compacting = runOf("c");
    chat.compacted(
      compact({
        ...chat.place(compacting),
        summary: "short",
        window: 1_000,
        opening: [],
        context: [section("git", "clean")],
      }),
    );
    const after = wire.encode(chat.view);
    expect(after.rewritten).toBe(true);
    expect(after.outline.roots).toHaveLength(3);
    expect(after.outline.turns).toEqual(before.turns);
    const state = after.outline.state;
    expect(state.selfSummaryCount).toBe(1);
    const get = (raw: Uint8Array) => wire.blobs.get(Buffer.from(raw).toString("hex") as BlobId)!;
    expect(fromBinary(agent.ConversationSummarySchema, get(state.summary!)).summary).toBe("short");
    const archive = fromBinary(agent.ConversationSummaryArchiveSchema, get(state.summaryArchives[0]!));
    expect(archive.summarizedMessages).toHaveLength(2);
    expect(archive.windowTail).toBe(0);
    expect(Buffer.from(archive.summaryMessage).toString("hex")).toBe(after.outline.roots[2]);

    // once only, and the next turn goes on behind it
    chat.open({ runId: runOf("n"), input: { message: userMessage("next", "m2"), parts: parts("next") } });
    const next = wire.encode(chat.view).outline;
    expect(next.state.selfSummaryCount).toBe(1);
    expect(next.roots.slice(0, 3)).toEqual(after.outline.roots);
    expect(next.turns).toHaveLength(2);

    // another server takes over and compacts again
    const there = new Conversation();
    const { nodes, anchors, messages } = adopt(wire.decode().messages, there.chain, undefined, []);
    for (const node of nodes)
      there.commit({ node, messages: messages.filter((message) => node.added.includes(message.id)) }, anchors);
    expect(there.view.summary).toBe("summary:c");
    there.compacted(compact({ ...there.place(runOf("d")), summary: "shorter", window: 1_000, opening: [] }));
    const again = wire.encode(there.view).outline;
    expect(again.state.selfSummaryCount).toBe(2);
    expect(again.state.summaryArchives).toHaveLength(2);
    expect(again.turns).toEqual(next.turns);
  });
});

describe("decode", () => {
  test("HI-09 a blob that is not what its id says is refused, before anything that is missing", () => {
    const wire = new Wire();
    const { outline, state } = wire.encode(opened().view);
    wire.blobs.set(outline.roots[1]!, new TextEncoder().encode('{"role":"user","content":"forged"}'));
    wire.blobs.delete(outline.roots[0]!);
    expect(decodeCheckpoint(state, (id) => wire.blobs.get(id))).toEqual({
      ok: false,
      kind: "mismatch",
      blobs: [outline.roots[1]],
    });
  });

  test("missing blobs are named, all at once", () => {
    const wire = new Wire();
    const { outline, state } = wire.encode(opened().view);
    expect(decodeCheckpoint(state, () => undefined)).toEqual({ ok: false, kind: "missing", blobs: outline.roots });
  });

  test("bytes that are no state", () => {
    expect(decodeCheckpoint(new Uint8Array([0xff, 0xff]), () => undefined)).toEqual({ ok: false, kind: "malformed" });
    expect(
      encodeCheckpoint({
        system: "",
        view: EMPTY_VIEW,
        previous: new Uint8Array([7]),
        blob: () => undefined,
        mode: "agent",
      }),
    ).toEqual({
      ok: false,
      kind: "malformed",
    });
  });

  test("content that stands where an id is expected is hashed and stored", () => {
    const message = new TextEncoder().encode(JSON.stringify({ role: "user", content: "hello there, this is content" }));
    const state = toBinary(
      agent.ConversationStateStructureSchema,
      create(agent.ConversationStateStructureSchema, { rootPromptMessagesJson: [message] }),
    );
    const read = decodeCheckpoint(state, () => undefined);
    expect(read.ok && read.value.blobs).toEqual([{ id: blobId(message), data: message }]);
    expect(read.ok && read.value.messages[0]!.content).toMatchObject({
      parts: [{ text: "hello there, this is content" }],
    });
  });

  test("one string per call, as another server writes it, is one round; calls with a result are left out", () => {
    const pending = (id: string) =>
      JSON.stringify({
        role: "assistant",
        id: "1",
        content: [
          { type: "text", text: "I look." },
          { type: "tool-call", toolCallId: id, toolName: "Read", args: { id } },
        ],
      });
    const wire = new Wire();
    const tool = new TextEncoder().encode(
      JSON.stringify({
        role: "tool",
        content: [{ type: "tool-result", toolCallId: "b", toolName: "Read", result: "B" }],
        id: "b",
      }),
    );
    wire.keep([{ id: blobId(tool), data: tool }]);
    const state = toBinary(
      agent.ConversationStateStructureSchema,
      create(agent.ConversationStateStructureSchema, {
        rootPromptMessagesJson: [Buffer.from(blobId(tool), "hex")],
        pendingToolCalls: [pending("a"), pending("b"), "not json", pending("c"), pending("a")],
      }),
    );
    const read = wire.decode(state);
    const last = read.messages.at(-1)!.content;
    expect(last.kind === "assistant" && last.record.blocks).toEqual([said("I look.")]);
    expect(last.kind === "assistant" && last.record.calls.map((item) => [item.id, item.index])).toEqual([
      ["a", 0],
      ["c", 1],
    ]);
    expect(read.problems.map((problem) => problem.kind)).toEqual(["unreadable-pending-call"]);
  });

  test("shown turns with calls, for a client without root prompt messages", () => {
    const wire = new Wire();
    const put = (data: Uint8Array) => {
      wire.keep([{ id: blobId(data), data }]);
      return Buffer.from(blobId(data), "hex");
    };
    const step = (message: agent.ConversationStep["message"]) =>
      put(toBinary(agent.ConversationStepSchema, create(agent.ConversationStepSchema, { message })));
    const text = put(new TextEncoder().encode("a long text"));
    const user = put(
      toBinary(agent.UserMessageSchema, create(agent.UserMessageSchema, { messageId: "m", textBlobId: text })),
    );
    const read = create(agent.ReadToolCallSchema, { args: create(agent.ReadToolArgsSchema, { path: "a.ts" }) });
    const steps = [
      step({ case: "thinkingMessage", value: create(agent.ThinkingMessageSchema, { text: "hm" }) }),
      step({ case: "assistantMessage", value: create(agent.AssistantMessageSchema, { text: "I look." }) }),
      step({
        case: "toolCall",
        value: create(agent.ToolCallSchema, { tool: { case: "readToolCall", value: read }, toolCallId: "t1" }),
      }),
      step({ case: "assistantMessage", value: create(agent.AssistantMessageSchema, { text: "Done." }) }),
    ];
    const turn = put(
      toBinary(
        agent.ConversationTurnStructureSchema,
        create(agent.ConversationTurnStructureSchema, {
          turn: {
            case: "agentConversationTurn",
            value: create(agent.AgentConversationTurnStructureSchema, { userMessage: user, steps }),
          },
        }),
      ),
    );
    const state = toBinary(
      agent.ConversationStateStructureSchema,
      create(agent.ConversationStateStructureSchema, { turns: [turn] }),
    );
    const found = wire.decode(state);
    expect(found.from).toBe("turns");
    const shown = project(found.messages, options);
    expect(shown.messages.map((message) => message.role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(JSON.stringify(shown.messages)).toContain("a long text");
    expect(shown.messages[1]).toMatchObject({ calls: [{ id: "t1", name: "read", arguments: '{"path":"a.ts"}' }] });
  });
});
