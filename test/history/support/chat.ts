import { agent, type create, fromBinary, type MessageInitShape } from "@chartroom/protocol";
import { type Room, RoomClient, type RoomStream, ada } from "../../support/room.ts";

type ClientInit = Parameters<RoomStream["send"]>[0];
/** Fields of a message, without those of one that is made already. */
type Init<Schema extends Parameters<typeof create>[0]> = Exclude<
  MessageInitShape<Schema>,
  { readonly $typeName: string }
>;
type ContextInit = Init<typeof agent.RequestContextSchema>;
type ActionInit = Init<typeof agent.ConversationActionSchema>["action"];

export interface Said {
  readonly messageId?: string;
  readonly context?: ContextInit;
  readonly mode?: agent.AgentMode;
  readonly model?: string;
  /** Further fields of the user message. */
  readonly message?: Init<typeof agent.UserMessageSchema>;
  /** Further fields of its action. */
  readonly action?: Init<typeof agent.UserMessageActionSchema>;
  readonly request?: Omit<Init<typeof agent.AgentRunRequestSchema>, "action">;
}

let messages = 0;

/** Somebody who chats in one conversation: says things, has files that tools read, and goes back to earlier states. */
export class Chat extends RoomClient {
  /** The context that goes with every message, unless one brings its own. */
  context: ContextInit = workspace();
  readonly files = new Map<string, string>();

  constructor(room: Room, who = ada) {
    super(room.service, who);
    this.onExec = (exec) => {
      if (exec.message.case !== "readArgs") return undefined;
      const { path } = exec.message.value;
      const content = this.files.get(path) ?? `content of ${path}\n`;
      return {
        case: "readResult",
        value: {
          result: {
            case: "success",
            value: {
              path,
              output: { case: "content", value: content },
              totalLines: content.split("\n").length - 1,
              fileSize: BigInt(content.length),
            },
          },
        },
      };
    };
  }

  /** The same person at another server, with nothing lost. */
  at(room: Room, who = this.principal): Chat {
    const there = new Chat(room, who);
    const { conversationId, blobs, state, context, files } = this;
    return Object.assign(there, { conversationId, blobs, state, context, files });
  }

  message(text: string, said: Said = {}): ClientInit {
    messages += 1;
    return this.asks(
      {
        case: "userMessageAction",
        value: {
          userMessage: {
            text,
            messageId: said.messageId ?? `message-${process.pid}-${messages}`,
            mode: said.mode ?? agent.AgentMode.AGENT,
            ...said.message,
          },
          requestContext: said.context ?? this.context,
          ...said.action,
        },
      },
      said,
    );
  }

  asks(action: NonNullable<ActionInit>, said: Pick<Said, "model" | "request"> = {}): ClientInit {
    return {
      message: {
        case: "runRequest",
        value: {
          conversationId: this.conversationId,
          action: { action },
          mcpTools: {},
          requestedModel: { modelId: said.model ?? "demo-model" },
          conversationState: fromBinary(agent.ConversationStateStructureSchema, this.state),
          ...said.request,
        },
      },
    };
  }

  /** Sends a request on a stream of its own. */
  async open(request: ClientInit): Promise<RoomStream> {
    const stream = await this.stream().attach();
    await stream.send(request);
    return stream;
  }

  /** A whole turn, to its terminal. */
  async say(text: string, said: Said = {}): Promise<RoomStream> {
    return this.finish(this.message(text, said));
  }

  async finish(request: ClientInit): Promise<RoomStream> {
    const stream = await this.open(request);
    await stream.downlink.ended();
    return stream;
  }

  summarize(): Promise<RoomStream> {
    return this.finish(this.asks({ case: "summarizeAction", value: {} }));
  }

  resume(): Promise<RoomStream> {
    return this.finish(this.asks({ case: "resumeAction", value: { requestContext: this.context } }));
  }
}

/** An action on a live stream. */
export const acts = (action: NonNullable<ActionInit>): ClientInit => ({
  message: { case: "conversationAction", value: { action } },
});

export const saysNow = (text: string, messageId: string): ClientInit =>
  acts({
    case: "userMessageAction",
    value: { userMessage: { text, messageId, mode: agent.AgentMode.AGENT } },
  });

export const cancels = acts({ case: "cancelAction", value: { reason: "user" } });

export interface Workspace {
  readonly git?: string;
  readonly rules?: readonly string[];
  readonly skills?: readonly string[];
  readonly mcp?: readonly string[];
}

/** A request context of a client. */
export function workspace({ git, rules = [], skills = [], mcp = [] }: Workspace = {}): ContextInit {
  return {
    env: {
      osVersion: "linux 6.1",
      workspacePaths: ["/ws/demo"],
      shell: "/bin/bash",
      timeZone: "UTC",
      projectFolder: "/ws/demo",
    },
    ...(git === undefined ? {} : { gitRepos: [{ path: "/ws/demo", branchName: "main", status: git }] }),
    rules: rules.map((content, at) => ({ fullPath: `/ws/demo/.cursor/rules/r${at}.mdc`, content })),
    skillOptions: {
      skillDescriptors: skills.map((name) => ({
        name,
        description: `How to ${name}.`,
        folderPath: `/ws/demo/.skills/${name}`,
        enabled: true,
      })),
    },
    mcpInstructions: mcp.map((serverName) => ({ serverName, instructions: `Ask ${serverName} first.` })),
  };
}

/** Resolves once the stream has carried a message of this kind. */
export const sees = (stream: RoomStream, kind: string): Promise<void> =>
  stream.downlink.until(() => stream.downlink.kinds.includes(kind));
