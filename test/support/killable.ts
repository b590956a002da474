import { randomBytes } from "node:crypto";
import type { ConversationStore, NodeId } from "@chartroom/domain";
import { openStore } from "@chartroom/store";
import { systemClock } from "./clock.ts";
import { openAiStub, type OpenAiStub, type StubAnswer } from "./openai-stub.ts";
import { type ServerProcess, startServerProcess } from "./server.ts";

export interface Killable {
  readonly vendor: OpenAiStub;
  /** What a test looks into the database with; owns nothing. */
  readonly store: ConversationStore;
  /** A server process on the database, ended with the rest. */
  start(): Promise<ServerProcess>;
  close(): Promise<void>;
}

/** Server processes of one database with a stub as their vendor, to be killed, frozen and started again. */
export async function killable(
  url: string,
  answer: (body: string) => StubAnswer,
  limits: Readonly<Record<string, number>> = {},
  /** Further fields of the vendor's model. */
  model: Readonly<Record<string, unknown>> = {},
): Promise<Killable> {
  const vendor = await openAiStub((_request, body) => answer(body));
  const looker = openStore({ url, nodeId: `look-${randomBytes(4).toString("hex")}` as NodeId, clock: systemClock });
  const servers: ServerProcess[] = [];
  return {
    vendor,
    store: looker.store,
    async start() {
      const server = await startServerProcess({
        databaseUrl: url,
        config: {
          providers: [
            {
              id: "stub",
              kind: "openai",
              baseUrl: vendor.url,
              apiKey: "env:STUB_KEY",
              models: [{ id: "demo-model", ...model }],
            },
          ],
          demoModel: false,
          limits,
        },
        env: { STUB_KEY: "stub-key" },
      });
      servers.push(server);
      return server;
    },
    async close() {
      for (const server of servers) await server.stop();
      await vendor.close();
      await looker.close();
    },
  };
}
