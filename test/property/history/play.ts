import type {
  AssistantRecord,
  BackgroundCompletion,
  BlobId,
  CheckpointId,
  InjectionId,
  MessageId,
  ProviderCallId,
  RunId,
  ToolCallRecord,
  ToolResultRecord,
  UserMessage,
} from "@chartroom/domain";
import {
  appendResults,
  appendStep,
  compact,
  type ContextSection,
  interruptedResult,
  modelCallId,
  openCalls,
  openCompletion,
  openInjection,
  openResume,
  openTurn,
  toolCallId,
} from "@chartroom/history";
import { blobId } from "@chartroom/protocol";
import type { BorderScript, ContextScript, Event, StepScript, TurnScript } from "./script.ts";
import { type Project, Server } from "./server.ts";

/** What one model call was given, and where. */
export interface Captured {
  readonly server: Server;
  readonly head: CheckpointId;
  readonly messages: ReturnType<Server["project"]>;
  /** The neutral JSON of the messages. */
  readonly json: string;
}

/** What a listener hears of; each check of the properties hangs on one of these. */
export interface Listener {
  modelCall?(call: Captured): void;
  /** A retry opened its turn again. */
  retried?(before: string, after: string): void;
  checkpoint?(server: Server, state: Uint8Array, rewritten: boolean): void;
  /** A client that had not gone back said something new; `head` is where the conversation stood before. */
  wentOn?(server: Server, head: CheckpointId): void;
  /** A new server took the conversation over from the client alone. */
  takenOver?(from: Server, to: Server): void;
}

const PICTURE = new Uint8Array([137, 80, 78, 71]);
const PICTURE_ID = blobId(PICTURE);

interface Now {
  readonly context: ContextScript | undefined;
  readonly day: number;
  readonly again: boolean;
}

interface Final {
  readonly state: Uint8Array;
  readonly input: UserMessage | undefined;
}

/** Plays a life from its beginning and tells the listener what happened. */
export function play(events: readonly Event[], listener: Listener, project?: Project): void {
  const player = new Player(listener, project);
  for (const event of events) player.event(event);
}

class Player {
  readonly #listener: Listener;
  readonly #project: Project | undefined;
  /** The client: its newest state, all final checkpoints that it got, and its blobs. */
  #state: Uint8Array = new Uint8Array();
  #finals: Final[] = [];
  readonly #clientBlobs = new Map<BlobId, Uint8Array>();
  #server: Server;
  #runs = 0;
  #messages = 0;

  constructor(listener: Listener, project: Project | undefined) {
    this.#listener = listener;
    this.#project = project;
    this.#server = this.#newServer();
  }

  #newServer(): Server {
    const server = new Server(this.#clientBlobs, this.#project);
    server.blobs.set(PICTURE_ID, PICTURE);
    return server;
  }

  event(event: Event): void {
    switch (event.kind) {
      case "turn": {
        const { head } = this.#server.view;
        this.#turn(event.turn, this.#message(event.turn));
        if (head !== undefined) this.#listener.wentOn?.(this.#server, head);
        break;
      }
      case "rewind":
      case "edit":
      case "repeat":
        this.#back(event);
        break;
      case "compact":
        this.#compact(event.window, event.text);
        break;
      case "restart":
        this.#server.restart();
        break;
      case "emptyServer":
        this.#emptyServer();
        break;
      case "completionTurn":
        this.#completionTurn(event.id, event.text);
        break;
    }
  }

  #message(turn: TurnScript, id = `m-${(this.#messages += 1)}`): UserMessage {
    const message: UserMessage = {
      messageId: id as MessageId,
      text: turn.text,
      mode: "agent",
      simulated: false,
      attachments: turn.attach ? [{ type: "image", blob: PICTURE_ID, mimeType: "image/png" }] : [],
      wire: new Uint8Array(),
    };
    return message;
  }

  #back(event: Extract<Event, { readonly turn: TurnScript; readonly back: number }>): void {
    const place = this.#finals.length - 1 - event.back;
    const said = this.#finals[place + 1]?.input ?? this.#finals[place]?.input;
    // no retry: what the state may hold with its answer already is wanted once more
    const again = event.kind !== "rewind";
    this.#state = this.#finals[place]?.state ?? new Uint8Array();
    this.#finals = this.#finals.slice(0, Math.max(0, place + 1));
    const message =
      event.kind === "repeat" && said !== undefined
        ? said
        : this.#message(event.turn, event.kind === "edit" ? said?.messageId : undefined);
    this.#turn(event.turn, message, again);
  }

  #turn(turn: TurnScript, message: UserMessage, again = false): void {
    const server = this.#server;
    const run = `run-${(this.#runs += 1)}` as RunId;
    const relation = server.takeState(this.#state, message);
    this.#closeOpen(run);
    const before = server.view;
    this.#openTurn(run, turn, message, { context: turn.context, day: turn.day, again });
    const opened = JSON.stringify(server.view.messages);
    for (let retry = 1; retry <= turn.retries; retry += 1) {
      if (relation === "continue" || relation === "new") server.moveTo(before.head);
      // a retry brings a fresh context and a later clock
      const context = { git: `retry ${retry}`, rules: "other", mcp: undefined };
      const rewound = server.view.head === before.head;
      this.#openTurn(run, turn, message, { context, day: turn.day + retry, again: again && rewound });
      this.#listener.retried?.(opened, JSON.stringify(server.view.messages));
    }
    this.#goOn(run, turn, message);
  }

  #openTurn(run: RunId, turn: TurnScript, message: UserMessage, now: Now): void {
    const server = this.#server;
    const { context, day, again } = now;
    const opening = openTurn({
      ...server.place(run),
      input: { message, parts: partsOf(message) },
      prepend: turn.queued.map((text, at) => {
        const queued = { ...message, messageId: `${message.messageId}-q${at}` as MessageId, text, attachments: [] };
        return { message: queued, parts: partsOf(queued) };
      }),
      ...(context === undefined ? {} : { context: sections(context) }),
      runtime: `<turn>\nDay ${day}\n</turn>`,
      again,
    });
    if (opening.kind === "opened") server.commit(opening, opening.anchors);
    else server.moveTo(opening.head);
  }

  /** Steps of the turn, its answer, and its final checkpoint. */
  #goOn(run: RunId, turn: TurnScript, message: UserMessage): void {
    let step = 0;
    for (const script of turn.steps) {
      step += 1;
      this.#callModel();
      this.#step(run, step, script);
      if (step % 2 === 0) this.#publish(true);
    }
    this.#callModel();
    step += 1;
    this.#answer(run, step, turn.answer, turn.answerThinking, turn.cutOff);
    if (turn.cutOff) {
      const resumed = `run-${(this.#runs += 1)}` as RunId;
      this.#server.commit(openResume(this.#server.place(resumed), "<turn>\nGo on.\n</turn>"));
      this.#callModel();
      this.#answer(resumed, 1, "Resumed.", undefined, false);
    }
    this.#final(message, turn.lost);
  }

  #answer(run: RunId, step: number, text: string, thinking: string | undefined, partial: boolean): void {
    const record: AssistantRecord = {
      blocks: [
        ...(thinking === undefined ? [] : [{ type: "thinking" as const, text: thinking }]),
        { type: "text" as const, text },
      ],
      calls: [],
      modelCallId: modelCallId(run, step, 1),
      step,
      partial,
    };
    this.#server.commit(appendStep(this.#server.place(run), record));
  }

  #step(run: RunId, step: number, script: StepScript): void {
    const server = this.#server;
    const calls = script.calls.map((call, index): ToolCallRecord => ({
      id: toolCallId(run, step, index),
      providerId: `call_${index}` as ProviderCallId,
      index,
      name: call.tool,
      arguments: call.args,
    }));
    const { thinking, vendor } = script;
    const replay = thinking === "" ? { replay: { vendor, data: `{"redacted":"${step}"}` } } : {};
    const record: AssistantRecord = {
      blocks: [
        ...(thinking === undefined ? [] : [{ type: "thinking" as const, text: thinking, ...replay }]),
        { type: "text" as const, text: script.text },
      ],
      calls,
      modelCallId: modelCallId(run, step, 1),
      step,
      partial: false,
    };
    server.commit(appendStep(server.place(run), record));
    this.#publish(step % 2 === 1);
    const results = calls.map((call, at): ToolResultRecord => {
      const { text, error, image } = script.calls[at]!;
      if (at >= script.interruptedFrom) return interruptedResult(call, "user-message");
      const picture = image ? { image: { type: "image" as const, blob: PICTURE_ID, mimeType: "image/png" } } : {};
      return { callId: call.id, toolName: call.name, text, isError: error, ...picture };
    });
    const order = results.map((_, at) => at).toSorted((a, b) => (script.order[a] ?? 0) - (script.order[b] ?? 0));
    for (const at of order) server.commit(appendResults(server.place(run), [results[at]!]));
    for (const border of script.border) this.#border(run, border);
  }

  #border(run: RunId, border: BorderScript): void {
    const server = this.#server;
    const parts = [{ type: "text" as const, text: border.text }];
    if (border.kind === "injection")
      server.commit(openInjection(server.place(run), `inj-${border.id}` as InjectionId, border.from, parts));
    else if (border.kind === "completion")
      server.commit(openCompletion(server.place(run), completion(border.id, border.text), border.text));
    else {
      const message = this.#message({ text: border.text, attach: false } as TurnScript);
      const opening = openTurn({ ...server.place(run), input: { message, parts } });
      if (opening.kind === "opened") server.commit(opening, opening.anchors);
    }
  }

  #completionTurn(id: number, text: string): void {
    const server = this.#server;
    const run = `run-${(this.#runs += 1)}` as RunId;
    server.takeState(this.#state);
    this.#closeOpen(run);
    const head = server.view.head;
    server.commit(openCompletion(server.place(run), completion(id, text), text));
    if (server.view.head === head) return;
    this.#callModel();
    this.#answer(run, 1, "Noted.", undefined, false);
    this.#final();
  }

  #compact(window: number, text: string): void {
    const server = this.#server;
    if (server.view.head === undefined) return;
    const run = `run-${(this.#runs += 1)}` as RunId;
    server.takeState(this.#state);
    this.#closeOpen(run);
    const made = compact({ ...server.place(run), summary: `<summary>\n${text}\n</summary>`, window, opening: [] });
    server.commit({ messages: made.messages, node: made.node });
    this.#final();
  }

  #emptyServer(): void {
    const from = this.#server;
    if (from.view.head === undefined) return;
    // the client has the newest checkpoint when the server is lost
    this.#publish(true);
    const to = this.#newServer();
    to.takeState(this.#state);
    to.state = this.#state;
    this.#server = to;
    this.#listener.takenOver?.(from, to);
  }

  #closeOpen(run: RunId): void {
    const server = this.#server;
    const open = openCalls(server.view.messages);
    server.commit(
      appendResults(
        server.place(run),
        open.map((call) => interruptedResult(call, "superseded")),
      ),
    );
  }

  #callModel(): void {
    const server = this.#server;
    const messages = server.project(server.view.messages);
    const json = JSON.stringify(messages.messages);
    this.#listener.modelCall?.({ server, head: server.view.head!, messages, json });
  }

  #publish(delivered: boolean): void {
    const server = this.#server;
    const before = server.state;
    const { state, rewritten } = server.publish(delivered);
    if (delivered) {
      for (const [id, data] of server.unsent) this.#clientBlobs.set(id, data);
      server.unsent.clear();
      this.#state = state;
    }
    if (before !== undefined) this.#listener.checkpoint?.(server, state, rewritten);
  }

  /** The final checkpoint of a Run; `input` is what the user said in it. A lost one never reaches the client. */
  #final(input?: UserMessage, lost = false): void {
    this.#publish(!lost);
    if (!lost) this.#finals.push({ state: this.#state, input });
  }
}

function completion(id: number, text: string): BackgroundCompletion {
  return { taskKind: "shell", status: "completed", taskId: `task-${id}`, title: text, detail: text };
}

function partsOf(message: UserMessage) {
  const images = message.attachments.flatMap((attachment) =>
    attachment.type === "image"
      ? [{ type: "image" as const, blob: attachment.blob, mimeType: attachment.mimeType }]
      : [],
  );
  return [...images, { type: "text" as const, text: message.text }];
}

function sections(context: ContextScript): readonly ContextSection[] {
  return Object.entries(context).flatMap(([name, body]) =>
    body === undefined ? [] : [{ name, text: `<${name}>\n${body}\n</${name}>` }],
  );
}
