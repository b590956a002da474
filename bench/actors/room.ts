import { LocalOutputLog } from "@chartroom/cluster";
import { ConversationService, defaultSettings } from "@chartroom/conversation";
import type {
  Clock,
  CommandEnvelope,
  Downlink,
  MemberId,
  ModelDirectory,
  ModelInfo,
  ModelId,
  NodeId,
  Principal,
  RequestId,
  StreamId,
  TeamId,
  Terminal,
} from "@chartroom/domain";
import { agent, clientCodec, create, decodeUplink, fromBinary, toBinary } from "@chartroom/protocol";
import { migrate, openStore, startEmbedded, type Embedded, type Store } from "@chartroom/store";
import { createTools } from "@chartroom/tools";

export const principal: Principal = { member: "bench" as MemberId, team: "bench" as TeamId, roles: ["member"] };

const clock: Clock = {
  now: () => Date.now(),
  setTimeout: (fn, ms) => setTimeout(fn, ms).unref(),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

/** A model that answers at once: what is left of a turn is the lifecycle. */
function instantModels(): ModelDirectory {
  const model: ModelInfo = {
    id: "instant" as ModelId,
    displayName: "Instant",
    provider: "bench",
    upstreamModel: "instant",
    contextWindow: 200_000_000,
    maxOutputTokens: 1_000,
    supportsImages: false,
    supportsThinking: false,
    aliases: [],
  };
  const provider = {
    id: "bench",
    async *stream() {
      yield [{ type: "text", text: "done" } as const, { type: "finished", reason: "stop", raw: "stop" } as const];
    },
  };
  return { resolve: () => ({ model, provider }), list: () => [model], defaultModel: model };
}

export interface BenchRoom {
  readonly service: ConversationService;
  readonly store: Store;
  readonly postgres: Embedded;
  close(): Promise<void>;
}

/** The conversations of one node on a Postgres of its own, with fsync. */
export async function openBenchRoom(folder: string): Promise<BenchRoom> {
  const postgres = await startEmbedded(folder);
  await migrate(postgres.url());
  const store = openStore({ url: postgres.url(), nodeId: crypto.randomUUID() as NodeId, clock });
  await store.nodeLease.start();
  const service = new ConversationService({
    store: store.store,
    holdsLease: () => store.nodeLease.held(),
    log: new LocalOutputLog(),
    tools: createTools(),
    models: instantModels(),
    codec: clientCodec,
    clock,
    entropy: { uuid: () => crypto.randomUUID(), random: () => Math.random() },
    settings: { ...defaultSettings, maxOpenRunsPerMember: 4_096 },
    events: () => undefined,
  });
  return {
    service,
    store,
    postgres,
    async close() {
      await store.nodeLease.stop();
      await store.close();
      await postgres.stop();
    },
  };
}

/** One turn of a client that acknowledges every blob at once; resolves with the terminal. */
export function turn(
  { service }: BenchRoom,
  conversationId: string,
  state: Uint8Array,
): Promise<{ readonly terminal: Terminal; readonly state: Uint8Array }> {
  const requestId = crypto.randomUUID();
  const generation = {
    member: principal.member,
    requestId: requestId as RequestId,
    generation: 1,
    streamId: `${requestId}#1` as StreamId,
  };
  return new Promise((resolve, reject) => {
    let newest = state;
    const downlink: Downlink = {
      streamId: generation.streamId,
      closed: false,
      onDrain: () => undefined,
      onLost: () => undefined,
      write(bytes) {
        const { message } = fromBinary(agent.AgentServerMessageSchema, bytes);
        if (message.case === "kvServerMessage") void service.kv(generation, { kind: "set", kvId: message.value.id });
        if (message.case === "conversationCheckpointUpdate")
          newest = toBinary(agent.ConversationStateStructureSchema, message.value);
        return true;
      },
      drop: () => undefined,
      end: (terminal) => resolve({ terminal, state: newest }),
    };
    const request = create(agent.AgentClientMessageSchema, {
      message: {
        case: "runRequest",
        value: {
          conversationId,
          conversationState: fromBinary(agent.ConversationStateStructureSchema, state),
          requestedModel: { modelId: "instant" },
          action: {
            action: {
              case: "userMessageAction",
              value: {
                userMessage: { text: "go", messageId: crypto.randomUUID(), mode: agent.AgentMode.AGENT },
                requestContext: { env: { osVersion: "linux" } },
              },
            },
          },
        },
      },
    });
    const decoded = decodeUplink(toBinary(agent.AgentClientMessageSchema, request));
    if (!decoded.ok || decoded.value.kind !== "run") return reject(new Error("the bench's own request cannot be read"));
    const envelope: CommandEnvelope = { principal, generation, carrier: "A", message: decoded.value };
    service.attach(principal, generation, downlink).catch(reject);
    service
      .submit(envelope)
      .then((receipt) => (receipt.kind === "run" ? undefined : reject(new Error(receipt.kind))), reject);
  });
}
