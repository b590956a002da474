import { create } from "@bufbuild/protobuf";
import type { Clock, Entropy } from "@chartroom/domain";
import { type RequestContext, RequestContextSchema } from "@chartroom/protocols/agent";
import { Consent, type User } from "./execution/consent.ts";
import { Executions } from "./execution/executions.ts";
import { Queries } from "./execution/queries.ts";
import type { McpServerConfig } from "./mcp/config.ts";
import { type McpFailure, McpServers } from "./mcp/servers.ts";
import { Conversation } from "./session/conversation.ts";
import { type DefaultModel, defaultModel, type Models, usableModels } from "./session/models.ts";
import { DEFAULT_LIMITS, type TurnLimits } from "./session/state.ts";
import { runSubagent } from "./session/subagents.ts";
import { Turn, type TurnOptions } from "./session/turn.ts";
import type { BackgroundEnd } from "./shells/shells.ts";
import { type ConversationRecord, ConversationStore, type Mode, MODES } from "./store/conversations.ts";
import { dataFolder } from "./store/location.ts";
import { systemClock, systemEntropy } from "./system.ts";
import { Http1Transport } from "./transport/h1.ts";
import { Http2Transport } from "./transport/h2.ts";
import { BAD_TOKEN, fitsHeader } from "./transport/headers.ts";
import type { Transport } from "./transport/transport.ts";
import { requestContext } from "./workspace/context.ts";
import { Folder } from "./workspace/folder.ts";

export interface ClientOptions {
  /** `http://host:port` or `https://host:port`. */
  readonly url: string;
  readonly token?: string | undefined;
  /** `h2`: AgentService/Run. `h1`: RunSSE and BidiAppend. Default h2. */
  readonly transport?: "h2" | "h1" | undefined;
  readonly grpcWeb?: boolean | undefined;
  /** PEM of the authority of the server's certificate. */
  readonly ca?: string | undefined;
  /** The one folder that the tools may touch. */
  readonly folder: string;
  /** Where conversations are kept; default `dataFolder()`. */
  readonly data?: string | undefined;
  readonly user: User;
  /** The reason that the model is given when the user says no. */
  readonly refusal?: string | undefined;
  readonly mcp?: readonly McpServerConfig[] | undefined;
  readonly clock?: Clock | undefined;
  readonly entropy?: Entropy | undefined;
  readonly limits?: Partial<TurnLimits> | undefined;
  /** Default 5 s (wire section 7.1). */
  readonly heartbeatMs?: number | undefined;
}

const HEARTBEAT_MS = 5_000;

/** Makes a client; see `Client.open`. */
export function createClient(options: ClientOptions): Promise<Client> {
  return Client.open(options);
}

/** Begins a turn of a conversation; iterate the turn for its events (docs/client.md), or await its `result`. */
export function runTurn(client: Client, conversation: Conversation, wish: TurnWish): Turn {
  return client.runTurn(conversation, wish);
}

/** What a turn is to do. */
export type TurnWish =
  | { readonly kind: "message"; readonly text: string; readonly messageId?: string }
  /** Go on with a turn that was begun earlier and not seen to its end, or else with what the state leaves open. */
  | { readonly kind: "resume" }
  | { readonly kind: "summarize" }
  | { readonly kind: "background"; readonly ends: readonly BackgroundEnd[] };

/** A client of one server, working in one folder. */
export class Client {
  readonly store: ConversationStore;
  /** Without symbolic links. */
  readonly folder: string;
  readonly #options: ClientOptions;
  readonly #transport: Transport;
  readonly #consent: Consent;
  readonly #mcp: McpServers;
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  readonly #sessionId: string;
  readonly #open = new Set<Conversation>();

  private constructor(options: ClientOptions, folder: string, mcp: McpServers) {
    this.#options = options;
    this.folder = folder;
    this.#mcp = mcp;
    this.#clock = options.clock ?? systemClock;
    this.#entropy = options.entropy ?? systemEntropy;
    this.#sessionId = this.#entropy.uuid();
    this.#consent = new Consent(options.user, options.refusal);
    this.store = new ConversationStore(options.data ?? dataFolder());
    const transport = {
      url: new URL(options.url),
      token: options.token,
      grpcWeb: options.grpcWeb ?? false,
      ca: options.ca,
      sessionId: this.#sessionId,
    };
    this.#transport = options.transport === "h1" ? new Http1Transport(transport) : new Http2Transport(transport);
  }

  /**
   * Makes a client and starts its MCP servers; nothing is sent to the server yet. Throws when the folder is not there
   * or the token is none.
   */
  static async open(options: ClientOptions): Promise<Client> {
    if (options.token !== undefined && !fitsHeader(options.token)) throw new Error(BAD_TOKEN);
    const { root } = await Folder.open(options.folder);
    const mcp = await McpServers.start(options.mcp ?? [], root, options.clock ?? systemClock);
    return new Client(options, root, mcp);
  }

  /** MCP servers that could not be started. */
  get mcpFailures(): readonly McpFailure[] {
    return this.#mcp.failures;
  }

  get mcpNames(): readonly string[] {
    return this.#mcp.names;
  }

  models(): Promise<Models> {
    return usableModels(this.#transport);
  }

  defaultModel(): Promise<DefaultModel> {
    return defaultModel(this.#transport);
  }

  /** A new conversation; nothing of it is on disk before its first turn. */
  newConversation(model: string, mode: Mode = "agent", id: string = this.#entropy.uuid()): Promise<Conversation> {
    const now = this.#clock.now();
    return this.#opened({
      id,
      folder: this.folder,
      title: "",
      model,
      mode,
      createdAt: now,
      updatedAt: now,
      openTurn: undefined,
      parent: undefined,
    });
  }

  /** A stored conversation of this folder: that id, or the latest one; undefined when there is none. */
  async resumeConversation(id?: string): Promise<Conversation | undefined> {
    const record = id === undefined ? (await this.conversations())[0] : await this.store.load(id);
    return record === undefined || record.folder !== this.folder ? undefined : this.#opened(record);
  }

  /** The stored conversations of this folder, the latest first; without those of subagents. */
  async conversations(): Promise<ConversationRecord[]> {
    return (await this.store.list(this.folder)).filter(({ parent }) => parent === undefined);
  }

  /** Begins a turn. One turn of a conversation at a time is the caller's part. */
  runTurn(conversation: Conversation, wish: TurnWish): Turn {
    switch (wish.kind) {
      case "message": {
        const message = { messageId: wish.messageId ?? this.#entropy.uuid(), text: wish.text };
        return this.#run(conversation, { action: { kind: "message", message } });
      }
      case "resume": {
        const open = conversation.openTurn;
        if (open === undefined) return this.#run(conversation, { action: { kind: "resume" } });
        const { messageId, text, originalRequestId, checkpointed } = open;
        return this.#run(conversation, {
          action: { kind: "message", message: { messageId, text } },
          originalRequestId,
          resumable: checkpointed,
        });
      }
      case "summarize":
        return this.#run(conversation, { action: { kind: "summarize" } });
      case "background":
        return this.#run(conversation, { action: { kind: "background", ends: wish.ends } });
    }
  }

  /** Stops whatever runs: commands, MCP servers, connections. */
  close(): void {
    for (const conversation of this.#open) conversation.close();
    this.#mcp.close();
    this.#transport.close();
  }

  async #opened(record: ConversationRecord): Promise<Conversation> {
    const conversation = await Conversation.open(this.store, this.#clock, record);
    this.#open.add(conversation);
    return conversation;
  }

  #run(conversation: Conversation, options: TurnOptions): Turn {
    const executions = new Executions(
      {
        folder: conversation.folder,
        consent: this.#consent,
        shells: conversation.shells,
        mcp: this.#mcp,
        clock: this.#clock,
        context: () => this.#context(conversation),
        subagents: {
          run: (args, signal) =>
            runSubagent(
              args,
              { conversation, requestId: turn.requestId },
              {
                child: (...child) => this.#child(...child),
                run: (child, childOptions) => this.#run(child, childOptions),
                uuid: () => this.#entropy.uuid(),
              },
              (agentId, event) => turn.emit({ type: "subagent", toolCallId: args.toolCallId, agentId, event }),
              signal,
            ),
        },
      },
      {
        started: ({ kind, toolCallId }) => turn.emit({ type: "exec.started", kind, toolCallId }),
        finished: ({ kind, toolCallId }, outcome, durationMs) =>
          turn.emit({ type: "exec.completed", kind, toolCallId, outcome, durationMs }),
      },
    );
    const queries = new Queries({
      consent: this.#consent,
      savePlan: (name, text) => conversation.savePlan(name, text),
      answered: (notice) => {
        const mode = MODES.find((known) => known === notice.mode);
        if (mode !== undefined) conversation.setMode(mode);
        turn.emit({ type: "query", ...notice });
      },
    });
    const turn = new Turn(
      {
        transport: this.#transport,
        conversation,
        executions,
        queries,
        blobs: this.store.blobs,
        clock: this.#clock,
        entropy: this.#entropy,
        limits: { ...DEFAULT_LIMITS, ...this.#options.limits },
        heartbeatMs: this.#options.heartbeatMs ?? HEARTBEAT_MS,
        agentSessionId: this.#sessionId,
        tools: () => this.#mcp.definitions(),
        context: () => this.#context(conversation),
      },
      options,
    );
    return turn;
  }

  async #context(conversation: Conversation): Promise<RequestContext> {
    const parts = {
      folder: conversation.folder,
      terminalsFolder: conversation.terminalsFolder,
      tools: this.#mcp.definitions(),
      instructions: this.#mcp.instructions(),
    };
    // a turn without a context is better than none
    return requestContext(parts).catch(() => create(RequestContextSchema));
  }

  async #child(parent: Conversation, model: string, mode: Mode, agentId: string | undefined): Promise<Conversation> {
    const known = agentId === undefined ? undefined : await this.store.load(agentId);
    if (known !== undefined && known.parent === parent.id) return this.#opened({ ...known, model, mode });
    const now = this.#clock.now();
    return this.#opened({
      ...parent.record,
      id: this.#entropy.uuid(),
      title: "",
      model,
      mode,
      createdAt: now,
      updatedAt: now,
      openTurn: undefined,
      parent: parent.id,
    });
  }
}
