import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { type Client, type ClientOptions, createClient } from "../src/client.ts";
import { yesUser } from "../src/execution/consent.ts";
import type { Conversation } from "../src/session/conversation.ts";
import type { TurnEvent } from "../src/session/events.ts";
import { CERTIFICATE, FakeServer, type Script } from "./fake-server.ts";

export interface Setting {
  readonly name: string;
  readonly transport: "h1" | "h2";
  readonly tls?: boolean;
  readonly grpcWeb?: boolean;
}

/** Every way to reach a server. */
export const SETTINGS: readonly Setting[] = [
  { name: "HTTP/2", transport: "h2" },
  { name: "HTTP/1.1", transport: "h1" },
  { name: "HTTP/2 over TLS", transport: "h2", tls: true },
  { name: "HTTP/1.1 over TLS", transport: "h1", tls: true },
  { name: "gRPC-Web on HTTP/2", transport: "h2", grpcWeb: true },
  { name: "gRPC-Web on HTTP/1.1", transport: "h1", grpcWeb: true },
];

/** Short waits, so that a test that must wait does not wait long. */
const QUICK = { baseDelayMs: 1, maxDelayMs: 5, endMs: 2_000, cancelMs: 2_000 };

/** A folder, a data folder, and clients and servers on them, all closed at the end. */
export class Stage {
  readonly base: string;
  readonly folder: string;
  readonly #servers: FakeServer[] = [];
  readonly #clients: Client[] = [];

  private constructor(base: string) {
    this.base = base;
    this.folder = path.join(base, "ws");
  }

  static async open(): Promise<Stage> {
    const base = await fs.realpath(await fs.mkdtemp(path.join(os.tmpdir(), "client-")));
    await fs.mkdir(path.join(base, "ws"));
    return new Stage(base);
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.close();
    await Promise.all(this.#servers.map((server) => server.close()));
    await fs.rm(this.base, { recursive: true });
  }

  async serve(script: Script, setting: Setting = { name: "", transport: "h2" }): Promise<FakeServer> {
    const server = await FakeServer.start(script, { tls: setting.tls ?? false });
    this.#servers.push(server);
    return server;
  }

  async client(
    server: FakeServer,
    setting: Setting = { name: "", transport: "h2" },
    rest: Partial<ClientOptions> = {},
  ): Promise<Client> {
    const client = await createClient({
      url: server.url[setting.transport],
      transport: setting.transport,
      grpcWeb: setting.grpcWeb ?? false,
      token: "token-1",
      ...(setting.tls ? { ca: CERTIFICATE } : {}),
      folder: this.folder,
      data: path.join(this.base, "data"),
      user: yesUser,
      limits: QUICK,
      ...rest,
    });
    this.#clients.push(client);
    return client;
  }

  write(name: string, content: string): Promise<void> {
    return fs.writeFile(path.join(this.folder, name), content);
  }

  text(name: string): Promise<string> {
    return fs.readFile(path.join(this.folder, name), "utf8");
  }
}

/** Sends a message and gives all events of the turn. */
export async function say(client: Client, conversation: Conversation, text: string): Promise<TurnEvent[]> {
  return eventsOf(client.runTurn(conversation, { kind: "message", text }));
}

export async function eventsOf(turn: AsyncIterable<TurnEvent>): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  for await (const event of turn) events.push(event);
  return events;
}

export function only<T extends TurnEvent["type"]>(events: readonly TurnEvent[], type: T) {
  return events.filter((event): event is Extract<TurnEvent, { type: T }> => event.type === type);
}

/** The result that a turn ended with. */
export function resultOf(events: readonly TurnEvent[]) {
  const last = events.at(-1);
  if (last?.type !== "result") throw new Error(`the turn ended with ${last?.type}`);
  return last;
}
