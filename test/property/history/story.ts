import type {
  AgentMode,
  MessageId,
  ModelMessage,
  ProviderCallId,
  RequestContext,
  RunId,
  ToolCallRecord,
  UserMessage,
} from "@chartroom/domain";
import {
  appendResults,
  appendStep,
  compact,
  createProjector,
  interruptedResult,
  modelCallId,
  openCompletion,
  openInjection,
  openTurn,
  readState,
  toolCallId,
} from "@chartroom/history";
import {
  completionText,
  contextSections,
  injectionParts,
  summaryText,
  turnText,
  userParts,
} from "@chartroom/prompting";
import { blobId } from "@chartroom/protocol";
import { Server } from "./server.ts";

const PICTURE = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]);

function context(turn: number): RequestContext {
  return {
    env: {
      osVersion: "linux 6.1",
      shell: "/bin/bash",
      workspacePaths: ["/ws/demo"],
      timeZone: "UTC",
      projectFolder: "/ws/demo",
      terminalsFolder: "",
      sandboxEnabled: false,
    },
    rules: [{ path: ".cursor/rules/style.mdc", content: "Use tabs.", kind: "always", globs: [], description: "" }],
    repositories: [{ path: "/ws/demo", branch: "main", status: turn % 3 === 0 ? "" : ` M file-${turn % 3}.ts` }],
    skills: turn >= 5 ? [{ name: "deploy", description: "How to deploy", path: "/s/deploy/SKILL.md" }] : [],
    subagents: [],
    mcpServers: turn < 10 ? [{ name: "tracker", instructions: "Search before you create." }] : [],
    tools: [],
    projectLayouts: [],
    adminCommandDenylist: [],
  };
}

/** One model call of the story: the messages that a provider is asked with. */
export interface StoryCall {
  readonly turn: number;
  readonly messages: readonly ModelMessage[];
}

export interface StoryOptions {
  /** The provider that answers; reasoning of every third round is of another one, `elsewhere`. */
  readonly vendor: string;
  /** Replay state of a turn's thought, as the provider's adapter writes it. */
  readonly replay: (turn: number) => string;
  /** The same of a thought whose text is not shown, where the provider has such. */
  readonly hidden?: (turn: number) => string;
  readonly mode: (turn: number) => AgentMode;
}

const NEUTRAL: StoryOptions = {
  vendor: "here",
  replay: (turn) => `{"signature":"s${turn}"}`,
  hidden: (turn) => `{"redacted":"r${turn}"}`,
  mode: (turn) => (turn % 7 === 0 ? "ask" : "agent"),
};

/**
 * The same conversation in every run, turn by turn: contexts that change, pictures, rounds of parallel calls with odd spellings,
 * an error and an interrupt, an injection, a completion, an answer that was cut off, reasoning of this provider and of another.
 */
export class Story {
  readonly server: Server;
  readonly calls: StoryCall[] = [];
  readonly #options: StoryOptions;

  constructor(options: StoryOptions = NEUTRAL) {
    this.#options = options;
    const project = createProjector({
      vendor: options.vendor,
      supportsImages: true,
      image: (id) => this.server.blob(id),
    });
    this.server = new Server(new Map(), (messages) => project(messages));
  }

  turn(number: number): void {
    const { server } = this;
    const run = `run-${number}` as RunId;
    const message: UserMessage = {
      messageId: `message-${number}` as MessageId,
      text: `Request ${number}: ünïcödé, "quotes", </tags> and a tab\t.`,
      mode: this.#options.mode(number),
      simulated: false,
      attachments:
        number === 2
          ? [{ type: "image", blob: this.#picture(), mimeType: "image/png", name: "screen.png" }]
          : number === 4
            ? [{ type: "selection", path: "a.ts", content: "let a = 1;", startLine: 3, endLine: 3 }]
            : [],
      wire: new Uint8Array(),
    };
    const opening = openTurn({
      ...server.place(run),
      input: { message, parts: userParts(message) },
      context: contextSections(context(number), { date: `2026-11-${number < 15 ? 29 : 30}` }),
      runtime: turnText({ mode: message.mode, time: `2026-11-30 12:${String(number).padStart(2, "0")}` }),
    });
    if (opening.kind !== "opened") throw new Error("opened before");
    server.commit(opening, opening.anchors);
    if (number % 2 === 0) this.#round(run, 1, number);
    if (number % 4 === 0) this.#round(run, 2, number);
    if (number === 9)
      server.commit(
        openInjection(server.place(run), "injection-1" as never, "system", injectionParts("hook", "Format on save.")),
      );
    if (number === 11) {
      const done = {
        taskKind: "shell",
        status: "completed",
        taskId: "task-1",
        title: "build",
        detail: "exit code 0",
      } as const;
      server.commit(openCompletion(server.place(run), done, completionText(done)));
    }
    this.#call(number);
    const { vendor, hidden } = this.#options;
    const answer = {
      blocks: [
        ...(hidden && number % 5 === 0
          ? [{ type: "thinking" as const, text: "", replay: { vendor, data: hidden(number) } }]
          : []),
        { type: "text" as const, text: `Answer ${number}.` },
      ],
      calls: [],
      modelCallId: modelCallId(run, 3, 1),
      step: 3,
      partial: number === 13,
    };
    server.commit(appendStep(server.place(run), answer));
    server.publish(true);
  }

  #round(run: RunId, step: number, number: number): void {
    const { server } = this;
    this.#call(number);
    const spellings = ['{"path":"a.ts"}', '{ "b": 1.0, "a": [1e3, "x"] }', "{broken"];
    const calls = spellings.map((text, index): ToolCallRecord => ({
      id: toolCallId(run, step, index),
      providerId: `call_${index}` as ProviderCallId,
      index,
      name: index === 1 ? "tracker-search" : "Read",
      arguments: text,
      ...(index === 2 ? { argumentError: "The arguments are not valid JSON." } : {}),
    }));
    const { vendor, replay } = this.#options;
    const state = { vendor: number % 3 === 0 ? "elsewhere" : vendor, data: replay(number) };
    const blocks = [
      { type: "thinking" as const, text: `Thought ${number}.`, replay: state },
      { type: "text" as const, text: "I look." },
    ];
    server.commit(
      appendStep(server.place(run), { blocks, calls, modelCallId: modelCallId(run, step, 1), step, partial: false }),
    );
    const results = [
      { callId: calls[1]!.id, toolName: "tracker-search", text: '{"hits":[]}', isError: false },
      number === 8
        ? interruptedResult(calls[0]!, "user-message")
        : { callId: calls[0]!.id, toolName: "Read", text: "let a = 1;\n", isError: false, ...this.#shown(number) },
      { callId: calls[2]!.id, toolName: "Read", text: "The arguments are not valid JSON.", isError: true },
    ];
    for (const result of results) server.commit(appendResults(server.place(run), [result]));
  }

  compact(): void {
    const { server } = this;
    const run = "run-compacting" as RunId;
    const made = compact({ ...server.place(run), summary: summaryText("It went well."), window: 4_000, opening: [] });
    server.commit({ messages: made.messages, node: made.node });
    server.publish(true);
  }

  #call(turn: number): void {
    const { messages } = this.server.project(this.server.view.messages);
    this.calls.push({ turn, messages });
  }

  #picture() {
    const id = blobId(PICTURE);
    this.server.blobs.set(id, PICTURE);
    return id;
  }

  #shown(number: number): object {
    return number === 6 ? { image: { type: "image", blob: this.#picture(), mimeType: "image/png" } } : {};
  }

  checkpoint(): string {
    const read = readState(this.server.state!);
    if (!read.ok) throw new Error("malformed");
    const { roots, turns, state } = read.outline;
    const text = (id: (typeof roots)[number]) => new TextDecoder().decode(this.server.blobs.get(id));
    return [
      ...roots.map((id) => `${id} ${text(id)}`),
      ...turns.map((id) => `turn ${id}`),
      `summaries ${state.selfSummaryCount}`,
    ].join("\n");
  }
}

/** The first `turns` turns of it. */
export function told(turns: number, options?: StoryOptions): Story {
  const story = new Story(options);
  for (let number = 1; number <= turns; number += 1) story.turn(number);
  return story;
}
