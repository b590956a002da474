import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import {
  type Client,
  createClient,
  type Conversation,
  runTurn,
  type TurnEvent,
  type TurnResult,
  yesUser,
} from "@chartroom/client";

export interface PersonOptions {
  readonly token?: string;
  readonly transport?: "h1" | "h2";
  /** Files of the folder that the tools work in. */
  readonly files?: Readonly<Record<string, string>>;
  /** How often a turn that breaks is tried again; the client's own number by default. */
  readonly retries?: number;
}

/** Somebody at a terminal client, in a folder of their own, who says yes to everything. */
export interface Person {
  readonly client: Client;
  readonly folder: string;
  conversation(model?: string, id?: string): Promise<Conversation>;
  /** A whole turn. `seen` is called with each event as it comes. */
  say(conversation: Conversation, text: string, seen?: (event: TurnEvent) => void): Promise<TurnResult>;
  leave(): void;
}

export async function person(url: string, options: PersonOptions = {}): Promise<Person> {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-person-"));
  const folder = path.join(home, "work");
  fs.mkdirSync(folder);
  for (const [name, text] of Object.entries(options.files ?? {})) fs.writeFileSync(path.join(folder, name), text);
  const client = await createClient({
    url,
    folder,
    data: path.join(home, "data"),
    user: yesUser,
    token: options.token,
    transport: options.transport,
    limits: options.retries === undefined ? undefined : { retries: options.retries, connectRetries: options.retries },
  });
  return {
    client,
    folder,
    conversation: (model = "default", id) => client.newConversation(model, "agent", id),
    async say(conversation, text, seen) {
      const turn = runTurn(client, conversation, { kind: "message", text });
      if (seen) for await (const event of turn) seen(event);
      return turn.result;
    },
    leave() {
      client.close();
      fs.rmSync(home, { recursive: true, force: true });
    },
  };
}
