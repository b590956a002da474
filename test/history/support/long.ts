import type {
  CanonicalMessage,
  CheckpointNode,
  ConversationId,
  ConversationStore,
  InputAnchor,
  MemberId,
  MessageId,
  ProviderCallId,
  RunId,
} from "@chartroom/domain";
import {
  type Appended,
  appendResults,
  appendStep,
  chainOf,
  EMPTY_VIEW,
  extendChain,
  extendView,
  modelCallId,
  openTurn,
  toolCallId,
} from "@chartroom/history";

export interface Long {
  readonly turns: number;
  /** Letters of each tool result. */
  readonly resultLength: number;
}

/** Writes a conversation of many turns, each with a tool call, as the server would have stored it; nothing of it was ever given to a client. */
export async function writeLong(
  store: ConversationStore,
  member: MemberId,
  conversationId: string,
  { turns, resultLength }: Long,
): Promise<void> {
  const result = await store.activate(conversationId as ConversationId, member, { create: true });
  if (result.kind !== "active") throw new Error(result.kind);
  const { lease } = result.activation;
  let chain = chainOf([], []);
  let view = EMPTY_VIEW;
  let rows: { messages: CanonicalMessage[]; checkpoints: CheckpointNode[]; anchors: InputAnchor[] };
  const begin = () => (rows = { messages: [], checkpoints: [], anchors: [] });
  begin();
  const commit = ({ node, messages }: Appended, anchors: readonly InputAnchor[] = []): void => {
    if (!node) throw new Error("nothing to write");
    rows.messages.push(...messages);
    rows.checkpoints.push(node);
    rows.anchors.push(...anchors);
    chain = extendChain(chain, [node], anchors);
    view = extendView(view, node, messages);
  };
  for (let turn = 1; turn <= turns; turn += 1) {
    const runId = `long-${turn}` as RunId;
    const place = () => ({ chain, view, runId });
    const message = {
      messageId: `long-${turn}` as MessageId,
      text: `Request ${turn}`,
      mode: "agent",
      simulated: false,
      attachments: [],
      wire: new Uint8Array(),
    } as const;
    const opening = openTurn({ ...place(), input: { message, parts: [{ type: "text", text: message.text }] } });
    if (opening.kind !== "opened") throw new Error("said before");
    commit(opening, opening.anchors);
    const call = {
      id: toolCallId(runId, 1, 0),
      providerId: "call_0" as ProviderCallId,
      index: 0,
      name: "Read",
      arguments: `{"path":"/ws/demo/${turn}.ts"}`,
    };
    const pass = (step: number) => ({ modelCallId: modelCallId(runId, step, 1), step, partial: false });
    commit(appendStep(place(), { blocks: [{ type: "text", text: `I read ${turn}.` }], calls: [call], ...pass(1) }));
    const text = `${turn} `.padEnd(resultLength, "lorem ipsum dolor sit amet ");
    commit(appendResults(place(), [{ callId: call.id, toolName: "Read", text, isError: false }]));
    commit(appendStep(place(), { blocks: [{ type: "text", text: `Read ${turn}.` }], calls: [], ...pass(2) }));
    if (turn % 100 > 0 && turn < turns) continue;
    const done = await store.commit(lease, { ...rows!, ...(view.head === undefined ? {} : { head: view.head }) });
    if (done.kind !== "committed") throw new Error(done.kind);
    begin();
  }
  await store.release(lease);
}
