import { createApis } from "@chartroom/apis";
import { LocalOutputLog } from "@chartroom/cluster";
import { ConversationService, faultText } from "@chartroom/conversation";
import type { DomainEventListener, ModelDirectory, NodeId } from "@chartroom/domain";
import { createGateway } from "@chartroom/gateway";
import { EventFanOut, eventLog, eventMetrics } from "@chartroom/observability";
import { clientCodec } from "@chartroom/protocol";
import { openStore } from "@chartroom/store";
import { createTools } from "@chartroom/tools";
import { authentication } from "./auth.ts";
import type { Config } from "./config/load.ts";
import { openDatabase } from "./database.ts";
import { openModels } from "./models.ts";
import { nameChat } from "./name-chat.ts";
import { systemClock, systemEntropy } from "./time.ts";

export interface RunningServer {
  /** Where clients reach it. */
  readonly url: string;
  /** The port it listens on. */
  readonly port: number;
  /** Where the data lies, for people. */
  readonly where: string;
  readonly models: readonly { readonly id: string; readonly provider: string; readonly isDefault: boolean }[];
  readonly conversations: ConversationService;
  /** Lets open Runs end within the configured limit, then closes everything. */
  stop(): Promise<void>;
}

/** What a caller may put in the place of what the configuration says. */
export interface ServerParts {
  readonly models?: ModelDirectory;
  /** Hears every domain event besides the log. */
  readonly events?: DomainEventListener;
}

/** How long after the last Run's end its clients may take to read what is left. */
const READ_MS = 2_000;

/** Wires all packages together and listens. What it opened is closed again when it fails. */
export async function startServer(config: Config, parts: ServerParts = {}): Promise<RunningServer> {
  const closing: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const step of closing.toReversed()) await step();
  };
  let stopping = false;
  try {
    const events = new EventFanOut();
    events.add(eventLog(config.logLevel));
    const metrics = eventMetrics();
    events.add(metrics.listener);
    if (parts.events) events.add(parts.events);
    const models = parts.models ?? ownModels(config, closing);
    const database = await openDatabase(config);
    closing.push(() => database.stop());
    const { url, alone } = database;
    const store = openStore({ url, alone, nodeId: systemEntropy.uuid() as NodeId, clock: systemClock });
    closing.push(() => store.close());
    await store.nodeLease.start();
    closing.push(() => store.nodeLease.stop());
    const conversations = new ConversationService({
      store: store.store,
      // nobody else can reach a database that came up with this process
      holdsLease: () => alone || store.nodeLease.held(),
      log: new LocalOutputLog(),
      tools: createTools(),
      models,
      codec: clientCodec,
      clock: systemClock,
      entropy: systemEntropy,
      settings: config.settings,
      events: events.tell,
    });
    metrics.gauge("runs_open", "Runs that have not ended", () => conversations.openRuns);
    if (!alone) store.nodeLease.onLost(() => conversations.loseAll());
    const gateway = createGateway({
      conversations,
      authenticate: authentication(config.tokens, config.publicUrl),
      clock: systemClock,
      entropy: systemEntropy,
      apis: [
        createApis({
          models,
          clock: systemClock,
          nameChat: nameChat(models),
          transport: config.transport,
          metrics,
          ...(config.publicUrl === undefined ? {} : { publicUrl: config.publicUrl }),
        }),
      ],
      readiness: async () => ({ ready: !stopping && (await store.ready()) }),
      events: events.tell,
      report: (cause) => events.tell({ type: "gateway.error", message: faultText(cause) }),
      limits: config.gatewayLimits,
      ...(config.tls ? { tls: config.tls } : {}),
    });
    closing.push(() => gateway.close());
    const { port } = await gateway.listen(config.host, config.port);
    conversations.start();
    closing.push(async () => {
      stopping = true;
      gateway.refuse();
      await conversations.drain(config.drainMs);
      await gateway.drain(READ_MS);
    });
    return {
      url: config.publicUrl ?? urlOf(config, port),
      port,
      where: database.where,
      models: models.list().map(({ id, provider }) => ({ id, provider, isDefault: id === models.defaultModel.id })),
      conversations,
      stop: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function ownModels(config: Config, closing: (() => Promise<void>)[]): ModelDirectory {
  const models = openModels(config);
  closing.push(() => models.close());
  return models;
}

function urlOf({ tls, host }: Config, port: number): string {
  return `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
