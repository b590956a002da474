import { agent, blobId, blobIdBytes, create, toBinary } from "@chartroom/protocol";
import type { BlobId } from "@chartroom/domain";

/*
 * Clients that do not send our checkpoint back but build their own state from what they showed. Three ways that exist:
 * root prompt messages with calls and results, root prompt messages with everything as text, and shown turns alone with their
 * content where ids are expected.
 */

export type Shown =
  | { readonly role: "user"; readonly text: string }
  | {
      readonly role: "assistant";
      readonly text: string;
      readonly calls: readonly { readonly id: string; readonly name: string; readonly args: Record<string, unknown> }[];
    }
  | { readonly role: "tool"; readonly id: string; readonly name: string; readonly text: string };

export type Style = "structured" | "flattened" | "turns";

export class RebuildingClient {
  readonly blobs = new Map<BlobId, Uint8Array>();
  readonly systems: string[];
  readonly #style: Style;
  readonly shown: Shown[] = [];
  #messages = 0;

  constructor(style: Style, systems: readonly string[]) {
    this.#style = style;
    this.systems = [...systems];
  }

  /** The state that goes with the next request: all that was shown so far. */
  state(): Uint8Array {
    const roots = this.systems.map((content) => this.#json({ role: "system", content }));
    if (this.#style !== "turns") roots.push(...this.shown.map((message) => this.#json(this.#root(message))));
    return toBinary(
      agent.ConversationStateStructureSchema,
      create(agent.ConversationStateStructureSchema, { rootPromptMessagesJson: roots, turns: this.#turns() }),
    );
  }

  #root(message: Shown): unknown {
    const text = (value: string) => [{ type: "text", text: value }];
    if (message.role === "user") return { role: "user", content: text(message.text) };
    if (message.role === "tool") {
      if (this.#style === "flattened") return { role: "user", content: text(`[Tool Result]\n${message.text}`) };
      const part = { type: "tool-result", toolName: message.name, toolCallId: message.id, result: message.text };
      return { role: "tool", id: message.id, content: [part] };
    }
    const calls = message.calls.map(({ id, name, args }) => ({
      type: "tool-call",
      toolCallId: id,
      toolName: name,
      args,
    }));
    return { role: "assistant", content: [...text(message.text), ...(this.#style === "flattened" ? [] : calls)] };
  }

  #json(value: unknown): Uint8Array {
    return this.#id(new TextEncoder().encode(JSON.stringify(value)));
  }

  #id(data: Uint8Array): Uint8Array {
    const id = blobId(data);
    this.blobs.set(id, data);
    return blobIdBytes(id);
  }

  /** An id, or in the style of turns alone the content itself. */
  #place(data: Uint8Array): Uint8Array {
    return this.#style === "turns" ? data : this.#id(data);
  }

  #turns(): Uint8Array[] {
    const turns: { user: Uint8Array; steps: Uint8Array[] }[] = [];
    for (const message of this.shown) {
      if (message.role === "user") {
        const messageId = this.#style === "turns" ? `random-${(this.#messages += 1)}` : `stable-${turns.length}`;
        const user = create(agent.UserMessageSchema, { text: message.text, messageId });
        turns.push({ user: this.#place(toBinary(agent.UserMessageSchema, user)), steps: [] });
        continue;
      }
      const text = message.role === "tool" ? `[Tool Result]\n${message.text}` : message.text;
      const step = create(agent.ConversationStepSchema, {
        message: { case: "assistantMessage", value: create(agent.AssistantMessageSchema, { text }) },
      });
      turns.at(-1)?.steps.push(this.#place(toBinary(agent.ConversationStepSchema, step)));
    }
    return turns.map(({ user, steps }) => {
      const value = create(agent.AgentConversationTurnStructureSchema, { userMessage: user, steps });
      const turn = create(agent.ConversationTurnStructureSchema, { turn: { case: "agentConversationTurn", value } });
      return this.#place(toBinary(agent.ConversationTurnStructureSchema, turn));
    });
  }
}
