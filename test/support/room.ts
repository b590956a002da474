import { LocalOutputLog } from "@chartroom/cluster";
import { ConversationService, type ConversationSettings, defaultSettings } from "@chartroom/conversation";
import type {
  Clock,
  CommandEnvelope,
  ConversationStore,
  DomainEvent,
  Generation,
  MemberId,
  Principal,
  Receipt,
  RequestId,
  StreamId,
  TeamId,
  UplinkMessage,
} from "@chartroom/domain";
import {
  agent,
  clientCodec,
  create,
  decodeUplink,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from "@chartroom/protocol";
import { createTools } from "@chartroom/tools";
import { systemClock } from "./clock.ts";
import { FakeDownlink, type ServerMessage } from "./fake-downlink.ts";
import type { ScriptedModels } from "./scripted-provider.ts";

export const ada: Principal = { member: "ada" as MemberId, team: "team" as TeamId, roles: ["member"] };
export const bob: Principal = { member: "bob" as MemberId, team: "team" as TeamId, roles: ["member"] };

type ClientInit = MessageInitShape<typeof agent.AgentClientMessageSchema>;

let counter = 0;
/** Ids of Runs are unique everywhere: rooms of one process share their count. */
let uuids = 0;
const unique = (name: string): string => `${name}-${process.pid}-${(counter++).toString().padStart(4, "0")}`;

/** The conversations of one process on a real store, without a gateway. */
export function openRoom(
  store: ConversationStore,
  models: Pick<ScriptedModels, "directory">,
  options: {
    readonly settings?: Partial<ConversationSettings>;
    readonly clock?: Clock;
    readonly holdsLease?: () => boolean;
  } = {},
) {
  const events: DomainEvent[] = [];
  const service = new ConversationService({
    store,
    holdsLease: options.holdsLease ?? (() => true),
    log: new LocalOutputLog(),
    tools: createTools(),
    models: models.directory,
    codec: clientCodec,
    clock: options.clock ?? systemClock,
    entropy: {
      uuid: () =>
        `00000000-0000-7000-8000-${process.pid.toString(16).padStart(6, "0")}${(uuids++).toString(16).padStart(6, "0")}`,
      random: () => 0.5,
    },
    settings: { ...defaultSettings, ...options.settings },
    events: (event) => events.push(event),
  });
  return { service, events, client: (who: Principal = ada) => new RoomClient(service, who) };
}

export type Room = ReturnType<typeof openRoom>;

/** A client that speaks to the conversations directly: it keeps blobs, acknowledges them, and answers tools as told. */
export class RoomClient {
  readonly service: ConversationService;
  readonly principal: Principal;
  conversationId = unique("conversation");
  readonly blobs = new Map<string, Uint8Array>();
  /** The newest checkpoint, serialized. */
  state: Uint8Array = new Uint8Array();
  /** Answers an exec; `undefined` leaves it open. */
  onExec: (
    exec: Extract<ServerMessage["message"], { case: "execServerMessage" }>["value"],
  ) => MessageInitShape<typeof agent.ExecClientMessageSchema>["message"] | undefined = () => undefined;
  acknowledges = true;

  constructor(service: ConversationService, principal: Principal) {
    this.service = service;
    this.principal = principal;
  }

  /** Opens a stream: a generation with its downlink. */
  stream(requestId = unique("request"), generation = 1): RoomStream {
    return new RoomStream(this, {
      member: this.principal.member,
      requestId: requestId as RequestId,
      generation,
      streamId: `${requestId}#${generation}` as StreamId,
    });
  }

  runRequest(
    text: string,
    more: {
      readonly messageId?: string;
      readonly runId?: string;
      readonly resume?: boolean;
      readonly model?: string;
      /** `false`: the client is to be asked for it. */
      readonly context?: boolean;
    } = {},
  ): ClientInit {
    const action: MessageInitShape<typeof agent.ConversationActionSchema>["action"] = more.resume
      ? { case: "resumeAction", value: { requestContext: context } }
      : {
          case: "userMessageAction",
          value: {
            userMessage: { text, messageId: more.messageId ?? unique("message"), mode: agent.AgentMode.AGENT },
            ...(more.context === false ? {} : { requestContext: context }),
          },
        };
    return {
      message: {
        case: "runRequest",
        value: {
          conversationId: this.conversationId,
          action: { action },
          mcpTools: {},
          requestedModel: { modelId: more.model ?? "demo-model" },
          ...(this.state.length > 0 ? { conversationState: fromState(this.state) } : { conversationState: {} }),
          ...(more.runId === undefined ? {} : { runId: more.runId }),
        },
      },
    };
  }
}

const context = {
  env: {
    osVersion: "linux 6.1",
    workspacePaths: ["/ws/demo"],
    shell: "/bin/bash",
    timeZone: "UTC",
    projectFolder: "/ws/demo",
  },
};

const fromState = (state: Uint8Array) => fromBinary(agent.ConversationStateStructureSchema, state);

export class RoomStream {
  readonly client: RoomClient;
  readonly generation: Generation;
  downlink: FakeDownlink;

  constructor(client: RoomClient, generation: Generation) {
    this.client = client;
    this.generation = generation;
    this.downlink = this.#open();
  }

  /** Attaches the downlink; RunSSE first, or after the first append, as the test likes. */
  async attach(): Promise<this> {
    await this.client.service.attach(this.client.principal, this.generation, this.downlink);
    return this;
  }
  /** A second downlink on the same generation. */
  async reattach(): Promise<FakeDownlink> {
    this.downlink = this.#open();
    await this.attach();
    return this.downlink;
  }

  /** Acknowledges every blob that was written to it until now, and the client acknowledges again what comes. */
  async acknowledge(): Promise<void> {
    this.client.acknowledges = true;
    for (const { message } of this.downlink.messages)
      if (message.case === "kvServerMessage") await this.send(setBlobResult(message.value.id));
  }

  async send(message: ClientInit): Promise<Receipt> {
    const decoded = decodeUplink(
      toBinary(agent.AgentClientMessageSchema, create(agent.AgentClientMessageSchema, message)),
    );
    if (!decoded.ok) throw new Error(`the test's message cannot be read: ${JSON.stringify(decoded)}`);
    return this.#give(decoded.value);
  }

  #give(message: UplinkMessage): Promise<Receipt> {
    const { service, principal } = this.client;
    switch (message.kind) {
      case "run":
      case "prewarm":
      case "action": {
        const envelope: CommandEnvelope = {
          principal,
          generation: this.generation,
          carrier: message.kind === "action" ? "B" : "A",
          message,
        };
        return service.submit(envelope);
      }
      case "exec":
        return service.exec(this.generation, message.reply);
      case "execControl":
        return service.control(this.generation, message.control);
      case "kv":
        return service.kv(this.generation, message.reply);
      case "query":
        return service.query(this.generation, message.reply);
      default:
        return Promise.resolve({ kind: "dropped", reason: message.kind });
    }
  }

  #open(): FakeDownlink {
    const downlink = new FakeDownlink(this.generation.streamId);
    downlink.onMessage = ({ message }) => {
      if (message.case === "kvServerMessage") this.#kv(message.value);
      if (message.case === "conversationCheckpointUpdate")
        this.client.state = toBinary(agent.ConversationStateStructureSchema, message.value);
      if (message.case !== "execServerMessage") return;
      const answer = this.client.onExec(message.value);
      if (answer)
        void this.send({
          message: {
            case: "execClientMessage",
            value: { id: message.value.id, execId: message.value.execId, message: answer },
          },
        });
    };
    return downlink;
  }

  #kv({ id, message }: Extract<ServerMessage["message"], { case: "kvServerMessage" }>["value"]): void {
    const { blobs } = this.client;
    if (message.case === "setBlobArgs") {
      blobs.set(Buffer.from(message.value.blobId).toString("hex"), message.value.blobData);
      if (this.client.acknowledges) void this.send(setBlobResult(id));
    } else if (message.case === "getBlobArgs") {
      const data = blobs.get(Buffer.from(message.value.blobId).toString("hex"));
      void this.send({
        message: {
          case: "kvClientMessage",
          value: { id, message: { case: "getBlobResult", value: data ? { blobData: data } : {} } },
        },
      });
    }
  }
}

export const setBlobResult = (id: number): ClientInit => ({
  message: { case: "kvClientMessage", value: { id, message: { case: "setBlobResult", value: {} } } },
});
