import type { Downlink, StreamId, Terminal } from "@chartroom/domain";
import { agent, fromBinary, type MessageShape, toBinary } from "@chartroom/protocol";

export type ServerMessage = MessageShape<typeof agent.AgentServerMessageSchema>;
export type ServerExec = Extract<ServerMessage["message"], { case: "execServerMessage" }>["value"];
export type ServerKv = Extract<ServerMessage["message"], { case: "kvServerMessage" }>["value"];

/** What a frame was, as the invariants look at it. */
export type Frame =
  | {
      readonly kind: "update";
      readonly name: string;
      readonly injection?: { readonly id: string; readonly state: string };
    }
  | { readonly kind: "checkpoint"; readonly state: Uint8Array }
  | { readonly kind: "exec"; readonly exec: ServerExec }
  | { readonly kind: "kv"; readonly kv: ServerKv }
  | { readonly kind: "abort"; readonly execId: number }
  | { readonly kind: "other"; readonly name: string };

/** A transport as the client has it. */
export interface Link {
  /** What came, oldest first. */
  readonly frames: readonly Frame[];
  readonly closed: boolean;
  readonly terminal: Terminal | undefined;
  /** The connection breaks, and the server notices. */
  lose(): void;
  /** The server's process is gone, or the client has hung up and the server does not know. */
  vanish(): void;
}

/** A transport's receiving end in the simulation. */
export class SimDownlink implements Downlink, Link {
  readonly streamId: StreamId;
  readonly frames: Frame[] = [];
  terminal: Terminal | undefined;
  closed = false;
  onFrame: ((frame: Frame) => void) | undefined;
  onTerminal: ((terminal: Terminal) => void) | undefined;
  readonly #lost: (() => void)[] = [];

  constructor(streamId: StreamId) {
    this.streamId = streamId;
  }

  write(bytes: Uint8Array): boolean {
    if (this.closed) return true;
    const frame = frameOf(fromBinary(agent.AgentServerMessageSchema, bytes));
    this.frames.push(frame);
    this.onFrame?.(frame);
    return true;
  }
  end(terminal: Terminal): void {
    if (this.closed) return;
    this.closed = true;
    this.terminal = terminal;
    this.onTerminal?.(terminal);
  }
  onDrain(): void {
    // it never fills
  }
  onLost(listener: () => void): void {
    this.#lost.push(listener);
  }
  drop(): void {
    this.closed = true;
  }
  lose(): void {
    if (this.closed) return;
    this.closed = true;
    for (const listener of this.#lost) listener();
  }
  vanish(): void {
    this.closed = true;
  }
}

/** What a message of the server is. */
export function frameOf({ message }: ServerMessage): Frame {
  switch (message.case) {
    case "interactionUpdate":
      return updateOf(message.value.message);
    case "conversationCheckpointUpdate":
      return { kind: "checkpoint", state: toBinary(agent.ConversationStateStructureSchema, message.value) };
    case "execServerMessage":
      return { kind: "exec", exec: message.value };
    case "kvServerMessage":
      return { kind: "kv", kv: message.value };
    case "execServerControlMessage": {
      const { message: control } = message.value;
      return control.case === "abort"
        ? { kind: "abort", execId: control.value.id }
        : { kind: "other", name: "control" };
    }
    default:
      return { kind: "other", name: message.case ?? "" };
  }
}

type Update = Extract<ServerMessage["message"], { case: "interactionUpdate" }>["value"]["message"];

function updateOf(update: Update): Frame {
  const name = update.case ?? "";
  if (update.case !== "contextInjectionState") return { kind: "update", name };
  return {
    kind: "update",
    name,
    injection: { id: update.value.injectionId, state: update.value.state?.state.case ?? "" },
  };
}
