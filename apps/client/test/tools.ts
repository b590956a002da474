import { create, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { ExecClientMessageSchema, ExecServerMessageSchema, RequestContextSchema } from "@chartroom/protocols/agent";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { Consent, type User, yesUser } from "../src/execution/consent.ts";
import type { ExecPorts } from "../src/execution/exec.ts";
import { type ClientMessage, type ExecListener, Executions } from "../src/execution/executions.ts";
import { McpServers } from "../src/mcp/servers.ts";
import { Shells } from "../src/shells/shells.ts";
import { systemClock } from "../src/system.ts";
import { Folder } from "../src/workspace/folder.ts";

type Request = MessageInitShape<typeof ExecServerMessageSchema>;

/** A folder with the tools on it, and what they say to a server. */
export class Bench {
  readonly base: string;
  readonly folder: Folder;
  readonly shells: Shells;
  readonly executions: Executions;
  readonly log: string[] = [];
  /** What was sent, per stream; the last one is the present stream. */
  readonly streams: ClientMessage[][] = [];
  readonly #ports: ExecPorts & { mcp: McpServers };
  #nextId = 1;
  #waiting: (() => void)[] = [];

  private constructor(base: string, folder: Folder, user: User) {
    this.base = base;
    this.folder = folder;
    this.shells = new Shells(systemClock, path.join(base, "terminals"));
    const listener: ExecListener = {
      started: ({ kind }) => this.log.push(`started ${kind}`),
      finished: ({ kind }, outcome) => this.log.push(`finished ${kind} ${outcome}`),
    };
    this.#ports = {
      folder,
      consent: new Consent(user),
      shells: this.shells,
      mcp: McpServers.none(),
      clock: systemClock,
      context: () => Promise.resolve(create(RequestContextSchema, { cloudRule: "context" })),
      subagents: { run: () => Promise.reject(new Error("no subagents here")) },
    };
    this.executions = new Executions(this.#ports, listener);
    this.connect();
  }

  static async open(user: User = yesUser): Promise<Bench> {
    const base = await fs.realpath(await fs.mkdtemp(path.join(os.tmpdir(), "tools-")));
    await fs.mkdir(path.join(base, "ws"));
    await fs.mkdir(path.join(base, "terminals"));
    await fs.writeFile(path.join(base, "secret.txt"), "secret");
    const folder = await Folder.open(path.join(base, "ws"), [path.join(base, "terminals")]);
    return new Bench(base, folder, user);
  }

  async close(): Promise<void> {
    this.executions.abortAll();
    this.shells.close();
    this.#ports.mcp.close();
    await fs.rm(this.base, { recursive: true });
  }

  set mcp(servers: McpServers) {
    this.#ports.mcp = servers;
  }

  path(name: string): string {
    return path.join(this.folder.root, name);
  }

  async write(name: string, content: string | Uint8Array): Promise<void> {
    await fs.mkdir(path.dirname(this.path(name)), { recursive: true });
    await fs.writeFile(this.path(name), content);
  }

  text(name: string): Promise<string> {
    return fs.readFile(this.path(name), "utf8");
  }

  /** A new stream. */
  connect(): void {
    const sent: ClientMessage[] = [];
    this.streams.push(sent);
    this.executions.attach((message) => {
      sent.push(message);
      for (const wake of this.#waiting.splice(0)) wake();
    });
  }

  get sent(): ClientMessage[] {
    return this.streams.at(-1) ?? [];
  }

  /** Sends a request without waiting; gives its id. */
  start(message: Request["message"], ids: { id?: number; execId?: string } = {}): number {
    const id = ids.id ?? this.#nextId++;
    const request = { id, execId: ids.execId ?? `exec-${id}`, message } as Request;
    this.executions.start(create(ExecServerMessageSchema, request));
    return id;
  }

  /** The messages of an action, as JSON, when its last one is there. */
  async ended(id: number): Promise<object[]> {
    const stream = this.sent;
    for (;;) {
      const mine = stream.filter((message) => idOf(message) === id);
      const last = mine.at(-1);
      if (last?.case === "execClientControlMessage" && last.value.message.case !== "heartbeat") return mine.map(asJson);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Waits for a message that a test looks for. */
  async until(found: (message: ClientMessage) => boolean): Promise<void> {
    while (!this.sent.some(found)) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Runs one action; gives its messages without ids, and the result alone when there is just one. */
  async run(message: Request["message"]): Promise<unknown> {
    const messages = await this.ended(this.start(message));
    const results = messages.slice(0, -1).map(withoutIds);
    return results.length === 1 ? results[0] : results;
  }
}

function idOf(message: ClientMessage): number | undefined {
  if (message.case === "execClientMessage") return message.value.id;
  if (message.case !== "execClientControlMessage") return undefined;
  return message.value.message.value?.id;
}

function asJson(message: ClientMessage): object {
  if (message.case === "execClientMessage") return toJson(ExecClientMessageSchema, message.value) as object;
  if (message.case !== "execClientControlMessage") return {};
  const { case: kind, value } = message.value.message;
  return { [kind ?? ""]: { ...value, $typeName: undefined } };
}

function withoutIds(message: object): unknown {
  const { id: _id, execId: _execId, localExecutionTimeMs: _ms, ...rest } = message as Record<string, unknown>;
  return rest;
}
