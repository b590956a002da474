import { LocalOutputLog, type RingLimits } from "@chartroom/cluster";
import { ConversationService, type ConversationSettings, defaultSettings } from "@chartroom/conversation";
import type {
  Clock,
  CommandEnvelope,
  ConversationStore,
  DomainEvent,
  MemberId,
  Principal,
  TeamId,
} from "@chartroom/domain";
import { createGateway, type GatewayLimits } from "@chartroom/gateway";
import { clientCodec, parseBearer } from "@chartroom/protocol";
import { createTools } from "@chartroom/tools";
import { systemClock } from "./clock.ts";
import { until } from "./gateway/until.ts";
import type { ScriptedModels } from "./scripted-provider.ts";
import { WireClient, type WireClientOptions } from "./wire-client.ts";

export interface WireServerOptions {
  readonly settings?: Partial<ConversationSettings>;
  readonly limits?: Partial<GatewayLimits>;
  readonly ring?: RingLimits;
  readonly clock?: Clock;
}

export interface WireServer {
  readonly port: number;
  readonly service: ConversationService;
  readonly events: DomainEvent[];
  /** Errors that nobody expected. */
  readonly reports: unknown[];
  /** Resolves once so many actions have reached the conversations. */
  acted(count: number): Promise<void>;
  /** Resolves once a chart has met an event of this name. */
  met(event: string): Promise<void>;
  /** A client of one conversation, closed with the server. Its token names the member. */
  client(options: WireClientOptions): WireClient;
  stop(): Promise<void>;
}

/** Gateway and conversations on a store, on a free port of loopback: the server without its configuration. Any token is a member of that name; none is `ada`. */
export async function startWireServer(
  store: ConversationStore,
  models: ScriptedModels,
  { settings, limits, ring, clock = systemClock }: WireServerOptions = {},
): Promise<WireServer> {
  const events: DomainEvent[] = [];
  const reports: unknown[] = [];
  const entropy = { uuid: () => crypto.randomUUID(), random: () => 0.5 };
  const service = new ConversationService({
    store,
    holdsLease: () => true,
    log: new LocalOutputLog(ring),
    tools: createTools(),
    models: models.directory,
    codec: clientCodec,
    clock,
    entropy,
    settings: { ...defaultSettings, ...settings },
    events: (event) => events.push(event),
  });
  let actions = 0;
  const gateway = createGateway({
    conversations: new Proxy(service, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown => {
          if (name === "submit" && (args[0] as CommandEnvelope).message.kind === "action") actions++;
          return Reflect.apply(member, target, args);
        };
      },
    }),
    authenticate: (header) => ({ ok: true, value: memberOf(parseBearer(header("authorization")) ?? "ada") }),
    clock,
    entropy,
    apis: [],
    readiness: () => ({ ready: true }),
    events: (event) => events.push(event),
    report: (cause) => reports.push(cause),
    ...(limits === undefined ? {} : { limits }),
  });
  const { port } = await gateway.listen("127.0.0.1", 0);
  service.start();
  const clients: WireClient[] = [];
  return {
    port,
    service,
    events,
    reports,
    acted: (count) => until(() => actions >= count, `${count} actions`),
    met: (name) =>
      until(
        () => events.some((event) => event.type === "chart.transition" && event.event === name),
        `the event ${name}`,
      ),
    client(options) {
      const client = new WireClient(port, options);
      clients.push(client);
      return client;
    },
    async stop() {
      for (const client of clients) client.close();
      await service.drain(0);
      await gateway.close();
    },
  };
}

function memberOf(name: string): Principal {
  return { member: name as MemberId, team: "team" as TeamId, roles: ["member"] };
}
