import path from "node:path";
import { createApis } from "@chartroom/apis";
import { LocalOutputLog } from "@chartroom/cluster";
import { ConversationService } from "@chartroom/conversation";
import type { NodeId } from "@chartroom/domain";
import { createGateway } from "@chartroom/gateway";
import { EventFanOut, eventLog } from "@chartroom/observability";
import { clientCodec, parseBearer } from "@chartroom/protocol";
import { createModelDirectory } from "@chartroom/providers";
import { migrate, openStore, startEmbedded } from "@chartroom/store";
import { createTools } from "@chartroom/tools";
import { tokenAuthentication } from "./auth.ts";
import type { Config } from "./config/load.ts";
import { nameConversation } from "./name-conversation.ts";
import { systemClock, systemEntropy } from "./time.ts";

export interface RunningServer {
  /** Where it listens, as clients reach it. */
  readonly url: string;
  readonly models: readonly { readonly id: string; readonly provider: string; readonly isDefault: boolean }[];
  readonly conversations: ConversationService;
  /** Lets open Runs end within the configured limit, then closes everything. */
  stop(): Promise<void>;
}

/** The database of a configuration: its own Postgres in the data folder, or the one at the URL. Migrated. */
export async function openDatabase(
  config: Config,
): Promise<{ readonly url: string; readonly where: string; stop(): Promise<void> }> {
  if (config.databaseUrl !== undefined) {
    await migrate(config.databaseUrl);
    return { url: config.databaseUrl, where: "the configured database", stop: () => Promise.resolve() };
  }
  const folder = path.join(config.dataFolder, "postgres");
  const embedded = await startEmbedded(folder);
  try {
    await migrate(embedded.url());
  } catch (error) {
    await embedded.stop();
    throw error;
  }
  return { url: embedded.url(), where: folder, stop: () => embedded.stop() };
}

/** Wires all packages together and listens. */
export async function startServer(config: Config): Promise<RunningServer> {
  const events = new EventFanOut();
  events.add(eventLog(config.logLevel));
  const models = createModelDirectory({
    providers: config.providers,
    clock: systemClock,
    ...(config.defaultModel === undefined ? {} : { defaultModel: config.defaultModel }),
  });
  const database = await openDatabase(config);
  const store = openStore({ url: database.url, nodeId: systemEntropy.uuid() as NodeId, clock: systemClock });
  const closing: (() => Promise<void>)[] = [() => store.close(), () => database.stop()];
  try {
    await store.nodeLease.start();
    closing.unshift(() => store.nodeLease.stop());
    const conversations = new ConversationService({
      store: store.store,
      log: new LocalOutputLog(),
      tools: createTools(),
      models,
      codec: clientCodec,
      clock: systemClock,
      entropy: systemEntropy,
      settings: config.settings,
      events: events.tell,
    });
    store.nodeLease.onLost(() => conversations.loseAll());
    const authenticate = tokenAuthentication(config.tokens);
    const gateway = createGateway({
      conversations,
      authenticate: (header) => authenticate(parseBearer(header("authorization"))),
      clock: systemClock,
      entropy: systemEntropy,
      apis: createApis({
        models,
        clock: systemClock,
        nameConversation: nameConversation(models),
        publicUrl: () => config.publicUrl,
      }),
      readiness: async () => ({ ready: await store.ready() }),
      events: events.tell,
      ...(config.tls ? { tls: config.tls } : {}),
    });
    const address = await gateway.listen(config.host, config.port);
    conversations.start();
    return {
      url:
        config.publicUrl ??
        `${config.tls ? "https" : "http"}://${config.host.includes(":") ? `[${config.host}]` : config.host}:${address.port}`,
      models: models.list().map(({ id, provider }) => ({ id, provider, isDefault: id === models.defaultModel.id })),
      conversations,
      async stop() {
        await Promise.all([conversations.drain(config.drainMs), gateway.drain(config.drainMs)]);
        await gateway.close();
        for (const close of closing) await close();
      },
    };
  } catch (error) {
    for (const close of closing) await close();
    throw error;
  }
}
