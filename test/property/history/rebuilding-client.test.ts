import type { MessageId, ProviderCallId, RunId, ToolCallRecord, UserMessage } from "@chartroom/domain";
import { appendResults, appendStep, modelCallId, openTurn, toolCallId } from "@chartroom/history";
import { describe, expect, test } from "vitest";
import { RebuildingClient, type Style } from "./rebuilding-client.ts";
import { Server } from "./server.ts";

interface Tool {
  readonly said?: string;
  readonly args: Record<string, unknown>;
  readonly result: string;
}

/** One turn of a client against a server: its state is taken, the turn opened, and what the model would get is given back. */
class Chat {
  readonly client: RebuildingClient;
  server: Server;
  relations: string[] = [];
  #turns = 0;

  constructor(style: Style, systems: readonly string[]) {
    this.client = new RebuildingClient(style, systems);
    this.server = new Server(this.client.blobs);
  }

  say(text: string, answer: string, tool?: Tool): string {
    const { client, server } = this;
    const run = `run-${(this.#turns += 1)}` as RunId;
    const message = {
      messageId: `random-${this.#turns}` as MessageId,
      text,
      mode: "agent",
      simulated: false,
      attachments: [],
      wire: new Uint8Array(),
    } satisfies UserMessage;
    this.relations.push(server.takeState(client.state(), message));
    const opening = openTurn({
      ...server.place(run),
      input: { message, parts: [{ type: "text", text }] },
      context: [{ name: "environment", text: "<environment>\nlinux\n</environment>" }],
      runtime: `<turn>\n${this.#turns}\n</turn>`,
    });
    if (opening.kind === "opened") server.commit(opening, opening.anchors);
    client.shown.push({ role: "user", text });
    if (tool !== undefined) this.#tool(run, tool);
    const request = server.project(server.view.messages);
    const record = {
      blocks: [{ type: "text" as const, text: answer }],
      calls: [],
      modelCallId: modelCallId(run, 2, 1),
      step: 2,
      partial: false,
    };
    server.commit(appendStep(server.place(run), record));
    client.shown.push({ role: "assistant", text: answer, calls: [] });
    server.publish(true);
    return JSON.stringify([request.clientSystem, ...request.messages]);
  }

  #tool(run: RunId, tool: Tool): void {
    const { client, server } = this;
    const said = tool.said ?? "I look.";
    const id = toolCallId(run, 1, 0);
    // the model's own spelling of the arguments, which the client does not keep
    const text = JSON.stringify(tool.args, undefined, 1);
    const call: ToolCallRecord = {
      id,
      providerId: "call_0" as ProviderCallId,
      index: 0,
      name: "lookup",
      arguments: text,
    };
    const record = {
      blocks: [{ type: "text" as const, text: said }],
      calls: [call],
      modelCallId: modelCallId(run, 1, 1),
      step: 1,
      partial: false,
    };
    server.commit(appendStep(server.place(run), record));
    client.shown.push({ role: "assistant", text: said, calls: [{ id, name: "lookup", args: tool.args }] });
    server.commit(
      appendResults(server.place(run), [{ callId: id, toolName: "lookup", text: tool.result, isError: false }]),
    );
    client.shown.push({ role: "tool", id, name: "lookup", text: tool.result });
  }
}

function isPrefix(before: string, now: string): boolean {
  return now.startsWith(before.slice(0, -1));
}

describe.each<Style>(["structured", "flattened", "turns"])("a client that rebuilds its state (%s)", (style) => {
  test("its history is adopted: context events stay, the next request goes on from the last", () => {
    const chat = new Chat(style, ["You are someone else's agent."]);
    const first = chat.say("hello", "Hi.");
    const second = chat.say("and now?", "Nothing.");
    const third = chat.say("still?", "Still.");
    expect(isPrefix(first, second)).toBe(true);
    expect(isPrefix(second, third)).toBe(true);
    expect(chat.relations).toEqual(["import", "continue", "continue"]);
    expect(JSON.parse(third)[0]).toEqual(["You are someone else's agent."]);
  });

  test("several system texts, and none", () => {
    for (const systems of [[], ["One.", "Two.", "Three."]]) {
      const chat = new Chat(style, systems);
      const first = chat.say("hello", "Hi.");
      expect(isPrefix(first, chat.say("again", "Yes."))).toBe(true);
    }
  });

  test("a message that is regenerated begins a branch at its place", () => {
    const chat = new Chat(style, ["S"]);
    const first = chat.say("hello", "Hi.");
    const second = chat.say("tell me", "No.");
    chat.client.shown.splice(2);
    const other = chat.say("tell me more", "Yes.");
    expect(isPrefix(first, other)).toBe(true);
    expect(other).not.toContain("No.");
    expect(second).toContain("tell me");
    expect(chat.relations.at(-1)).toBe("rewind");
  });

  test("on an empty server nothing that was said is lost", () => {
    const chat = new Chat(style, ["S"]);
    chat.say("hello", "Hi.");
    chat.say("remember 7", "I do.");
    chat.server = new Server(chat.client.blobs);
    const request = chat.say("which number?", "7");
    expect(request).toContain("hello");
    expect(request).toContain("remember 7");
    expect(request).toContain("I do.");
    expect(chat.relations.at(-1)).toBe("import");
  });

  test("a system text that changes with each request keeps the rest of the branch", () => {
    const chat = new Chat(style, ["It is Monday."]);
    chat.say("hello", "Hi.");
    chat.client.systems[0] = "It is Tuesday.";
    const second = chat.say("again", "Yes.");
    const [systems, ...messages] = JSON.parse(second) as [string[], ...unknown[]];
    expect(systems).toEqual(["It is Tuesday."]);
    expect(JSON.stringify(messages)).toContain("environment");
    expect(JSON.stringify(messages).match(/<environment>/gu)).toHaveLength(1);
  });
});

test.each<Style>(["structured", "flattened"])(
  "calls and results (%s) are recognised, whatever the spelling",
  (style) => {
    const chat = new Chat(style, ["S"]);
    const first = chat.say("look it up", "It is 7.", { args: { key: "alpha", n: 1 }, result: "VALUE-7319\n" });
    const second = chat.say("thanks", "Welcome.");
    expect(isPrefix(first, second)).toBe(true);
    expect(chat.relations).toEqual(["import", "continue"]);
  },
);

test("a round without text is recognised by the results that a client keeps of it", () => {
  const chat = new Chat("flattened", ["S"]);
  const first = chat.say("look it up", "It is 7.", { said: "", args: { key: "alpha" }, result: "VALUE-7319" });
  chat.client.shown.splice(1, 1);
  expect(isPrefix(first, chat.say("thanks", "Welcome."))).toBe(true);
});

test("results in shown turns stay in the branch as text", () => {
  const chat = new Chat("turns", ["S"]);
  chat.say("look it up", "It is 7.", { args: { key: "alpha" }, result: "VALUE-7319" });
  expect(chat.say("thanks", "Welcome.")).toContain("VALUE-7319");
});
