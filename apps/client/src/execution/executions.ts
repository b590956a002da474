import { create } from "@bufbuild/protobuf";
import {
  type AgentClientMessage,
  ExecClientControlMessageSchema,
  ExecClientMessageSchema,
  type ExecServerMessage,
  type InterruptedPendingToolCallResolution,
  InterruptedPendingToolCallResolutionSchema,
  ShellAbortReason,
} from "@chartroom/protocols/agent";
import { errorText, type ExecCall, type ExecCase, type ExecHandler, type ExecPorts, type ExecReply } from "./exec.ts";
import { HANDLERS } from "./handlers.ts";

export type ClientMessage = Exclude<AgentClientMessage["message"], { case: undefined }>;
export type Send = (message: ClientMessage) => void;

export interface ExecNotice {
  /** The case of the request without `Args`: `read`, `shellStream`, … */
  readonly kind: string;
  readonly toolCallId: string;
}

export interface ExecListener {
  started(notice: ExecNotice): void;
  /** `outcome` is the case of the result: `success`, `rejected`, …; `thrown` when there is none. */
  finished(notice: ExecNotice, outcome: string, ms: number): void;
}

const ABORTED_CODE = 130;

interface Entry {
  readonly key: string;
  readonly notice: ExecNotice;
  readonly request: ExecServerMessage;
  readonly controller: AbortController;
  /** Everything sent so far, for a server that asks again on a new stream. */
  readonly sent: ExecReply[];
  /** The stream and the ids that the answer goes to now. */
  route: { readonly stream: number; readonly id: number; readonly execId: string };
  end:
    | { readonly kind: "result"; readonly ms: number }
    | { readonly kind: "thrown"; readonly error: string }
    | undefined;
}

/**
 * The actions of one turn. They outlive the stream: when it drops, an action goes on, and when the server issues the
 * same call again on a new stream, that call takes the running action, or its result, over instead of starting it twice.
 */
export class Executions {
  readonly #ports: ExecPorts;
  readonly #listener: ExecListener;
  readonly #entries = new Map<string, Entry>();
  #stream = 0;
  #send: Send | undefined;

  constructor(ports: ExecPorts, listener: ExecListener) {
    this.#ports = ports;
    this.#listener = listener;
  }

  /** A new stream carries answers from now on. */
  attach(send: Send): void {
    this.#stream += 1;
    this.#send = send;
  }

  /** The stream is gone; what runs goes on. */
  detach(): void {
    this.#send = undefined;
  }

  start(request: ExecServerMessage): void {
    const key = keyOf(request, this.#stream);
    const route = { stream: this.#stream, id: request.id, execId: request.execId };
    const earlier = this.#entries.get(key);
    if (earlier !== undefined && earlier.route.stream < this.#stream) {
      earlier.route = route;
      for (const reply of earlier.sent.slice()) this.#reply(earlier, reply);
      if (earlier.end !== undefined) this.#close(earlier);
      return;
    }
    const kind = request.message.case?.replace(/(Exec)?Args$/, "") ?? "unknown";
    const entry: Entry = {
      // a second call under the same name on the same stream stands for itself
      key: earlier === undefined ? key : `${key}\0${request.id}`,
      notice: { kind, toolCallId: toolCallIdOf(request) },
      request,
      controller: new AbortController(),
      sent: [],
      route,
      end: undefined,
    };
    this.#entries.set(entry.key, entry);
    void this.#run(entry);
  }

  /** The server stops one action of the current stream (wire section 5.1); an unknown id is ignored. */
  abort(id: number): void {
    for (const entry of this.#entries.values()) {
      if (entry.route.stream === this.#stream && entry.route.id === id) entry.controller.abort();
    }
  }

  /** Stops everything. */
  abortAll(): void {
    for (const entry of this.#entries.values()) entry.controller.abort();
  }

  /** The server has the result of this call: it will not be asked for again. */
  settled(toolCallId: string): void {
    for (const [key, entry] of this.#entries) {
      if (entry.notice.toolCallId === toolCallId && entry.end !== undefined) this.#entries.delete(key);
    }
  }

  /** Tells the server that long actions are alive; called every few seconds. */
  heartbeat(): void {
    for (const entry of this.#entries.values()) {
      if (entry.end === undefined) this.#control(entry, { case: "heartbeat", value: { id: entry.route.id } });
    }
  }

  /** What a cancel tells about commands that are open: what they said, and that the user stopped them (wire section 10). */
  resolutions(): InterruptedPendingToolCallResolution[] {
    return [...this.#entries.values()].flatMap((entry) => {
      const { message } = entry.request;
      const isShell = message.case === "shellStreamArgs" || message.case === "shellArgs";
      if (entry.end !== undefined || !isShell || entry.notice.toolCallId === "") return [];
      const value = {
        command: message.value.command,
        workingDirectory: message.value.workingDirectory,
        stdout: said(entry, "stdout"),
        stderr: said(entry, "stderr"),
        exitCode: ABORTED_CODE,
        aborted: true,
        abortReason: ShellAbortReason.USER_ABORT,
      };
      return create(InterruptedPendingToolCallResolutionSchema, {
        toolCallId: entry.notice.toolCallId,
        resolution: { case: "shellResult", value: { result: { case: "failure", value } } },
      });
    });
  }

  get open(): readonly ExecNotice[] {
    return [...this.#entries.values()].filter(({ end }) => end === undefined).map(({ notice }) => notice);
  }

  async #run(entry: Entry): Promise<void> {
    const { clock } = this.#ports;
    const began = clock.now();
    this.#listener.started(entry.notice);
    let outcome = "thrown";
    try {
      const reply = await this.#carryOut(entry);
      const ms = clock.now() - began;
      entry.sent.push(reply);
      entry.end = { kind: "result", ms };
      outcome = outcomeOf(reply);
      this.#reply(entry, reply);
    } catch (error) {
      entry.end = { kind: "thrown", error: errorText(error) };
    }
    this.#close(entry);
    this.#listener.finished(entry.notice, outcome, clock.now() - began);
  }

  async #carryOut(entry: Entry): Promise<ExecReply> {
    const { message } = entry.request;
    const handler = message.case === undefined ? undefined : HANDLERS[message.case];
    if (handler === undefined) throw new Error(`this client does not do ${message.case ?? "that"}`);
    const call: ExecCall<ExecCase> = {
      args: message.value as ExecCall<ExecCase>["args"],
      toolCallId: entry.notice.toolCallId,
      signal: entry.controller.signal,
      send: (event) => {
        entry.sent.push(event);
        this.#reply(entry, event);
      },
    };
    return (handler as ExecHandler<ExecCase>)(call, this.#ports);
  }

  #reply(entry: Entry, message: ExecReply): void {
    const { id, execId } = entry.route;
    const timed = entry.end?.kind === "result" && entry.sent.at(-1) === message;
    const value = create(ExecClientMessageSchema, {
      id,
      execId,
      message,
      ...(timed && entry.end?.kind === "result" ? { localExecutionTimeMs: entry.end.ms } : {}),
    });
    this.#out(entry, { case: "execClientMessage", value });
  }

  /** The last word on an action: `stream_close` after a result, `throw` where there is none. */
  #close(entry: Entry): void {
    const { id } = entry.route;
    if (entry.end?.kind === "thrown") this.#control(entry, { case: "throw", value: { id, error: entry.end.error } });
    else this.#control(entry, { case: "streamClose", value: { id } });
  }

  #control(entry: Entry, message: ControlInit): void {
    const value = create(ExecClientControlMessageSchema, { message });
    this.#out(entry, { case: "execClientControlMessage", value });
  }

  #out(entry: Entry, message: ClientMessage): void {
    if (entry.route.stream === this.#stream) this.#send?.(message);
  }
}

type ControlInit = NonNullable<Parameters<typeof create<typeof ExecClientControlMessageSchema>>[1]>["message"] & object;

function toolCallIdOf(request: ExecServerMessage): string {
  const value = request.message.value as { readonly toolCallId?: unknown } | undefined;
  const own = typeof value?.toolCallId === "string" ? value.toolCallId : "";
  return own === "" ? request.execId : own;
}

/** What makes two requests the same action: the call that they serve, and of its several steps the one on this path. */
function keyOf(request: ExecServerMessage, stream: number): string {
  const callId = toolCallIdOf(request);
  const value = request.message.value as { readonly path?: unknown } | undefined;
  const path = typeof value?.path === "string" ? value.path : "";
  return [request.message.case ?? "", callId === "" ? `#${stream}.${request.id}` : callId, path].join("\0");
}

function outcomeOf(reply: ExecReply): string {
  const { result } = reply.value as { readonly result?: { readonly case?: unknown } };
  return typeof result?.case === "string" ? result.case : "success";
}

function said(entry: Entry, channel: "stdout" | "stderr"): string {
  return entry.sent
    .map((reply) =>
      reply.case === "shellStream" && reply.value.event.case === channel ? reply.value.event.value.data : "",
    )
    .join("");
}
