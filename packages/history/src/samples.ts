import type {
  AssistantBlock,
  AssistantRecord,
  CanonicalMessage,
  CheckpointId,
  ContentPart,
  InputAnchor,
  MessageId,
  ProviderCallId,
  RunId,
  ToolCallRecord,
  ToolResultRecord,
  UserMessage,
} from "@chartroom/domain";
import { type Chain, chainOf, extendChain } from "./chain.ts";
import type { Compacted } from "./compaction.ts";
import type { ContextSection } from "./context.ts";
import { modelCallId, toolCallId } from "./ids.ts";
import { type Appended, openTurn, type Place, type TurnInput, type TurnOpening } from "./opening.ts";
import { EMPTY_VIEW, extendView, headView, type HeadView } from "./view.ts";

/*
 * A conversation as a runtime would hold it, for tests: it commits what the package decides, and can be opened again from
 * its rows.
 */

export function userMessage(text: string, messageId: string, rest: Partial<UserMessage> = {}): UserMessage {
  return {
    messageId: messageId as MessageId,
    text,
    mode: "agent",
    simulated: false,
    attachments: [],
    wire: new Uint8Array(),
    ...rest,
  };
}

export function parts(text: string): readonly ContentPart[] {
  return [{ type: "text", text }];
}

export function section(name: string, body: string): ContextSection {
  return { name, text: `<${name}>\n${body}\n</${name}>` };
}

export const runOf = (name: string): RunId => name as RunId;

export function call(run: RunId, step: number, index: number, name: string, args: string): ToolCallRecord {
  const id = toolCallId(run, step, index);
  return { id, providerId: `call_${index}` as ProviderCallId, index, name, arguments: args };
}

export function record(
  run: RunId,
  step: number,
  blocks: readonly AssistantBlock[],
  calls: readonly ToolCallRecord[] = [],
  partial = false,
): AssistantRecord {
  return { blocks, calls, modelCallId: modelCallId(run, step, 1), step, partial };
}

export const said = (text: string): AssistantBlock => ({ type: "text", text });

export function result(of: ToolCallRecord, text: string, rest: Partial<ToolResultRecord> = {}): ToolResultRecord {
  return { callId: of.id, toolName: of.name, text, isError: false, ...rest };
}

export class Conversation {
  chain: Chain = chainOf([], []);
  view: HeadView = EMPTY_VIEW;
  readonly rows = new Map<string, CanonicalMessage>();

  place(run: RunId): Place {
    return { chain: this.chain, view: this.view, runId: run };
  }

  /** Commits what was appended. A row that is stored already stands. */
  commit(appended: Appended, anchors: readonly InputAnchor[] = []): void {
    if (appended.node === undefined) return;
    for (const message of appended.messages) if (!this.rows.has(message.id)) this.rows.set(message.id, message);
    const stored = appended.node.added.map((id) => this.rows.get(id)!);
    this.chain = extendChain(this.chain, [appended.node], anchors);
    this.view = extendView(this.view, appended.node, stored);
  }

  compacted(made: Compacted): void {
    this.commit({ node: made.node, messages: made.messages });
  }

  open(turn: Omit<TurnInput, "chain" | "view">): TurnOpening {
    const opening = openTurn({ ...turn, chain: this.chain, view: this.view });
    if (opening.kind === "opened") this.commit(opening, opening.anchors);
    else this.moveTo(opening.head);
    return opening;
  }

  /** Marks the head as published, with a state. */
  deliver(state: Uint8Array, delivered = true): void {
    const node = this.chain.nodes.get(this.view.head!)!;
    const nodes = new Map(this.chain.nodes).set(node.id, { ...node, wireState: state, delivered });
    this.chain = { ...this.chain, nodes };
  }

  moveTo(head: CheckpointId | undefined): void {
    const made = headView(this.chain, head, this.rows.values());
    if (!made.ok) throw new Error("rows are missing");
    this.view = made.view;
  }
}
