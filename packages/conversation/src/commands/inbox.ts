import { eventId, openCompletion, openInjection, openRuntime, openTurn } from "@chartroom/history";
import { completionText, injectionParts } from "@chartroom/prompting";
import type {
  Action,
  Barrier,
  CanonicalMessage,
  ConversationId,
  InboxKind,
  InboxRow,
  Urgency,
  UserMessage,
} from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import type { ClientBlobs } from "../history/client-state.ts";
import type { LiveRun } from "../activation/live-run.ts";
import { fetchContent, messagesOf, partsOf, pictureBlobs } from "./message-content.ts";
import { mergeBarriers } from "../activation/merge-barriers.ts";

/** Rows that a Run takes in at its border; the barrier is made when its turn to commit comes. */
export interface Joined {
  /** Texts and pictures that came as blob ids; before the barrier. */
  fetch(client: ClientBlobs): Promise<void>;
  barrier(): Barrier;
  /** Tells the client what was delivered; after the commit. */
  announce(): void;
}

/** The idempotency key of what an action puts into the inbox. */
export function inboxKey(action: Action, conversationId: ConversationId): string {
  switch (action.kind) {
    case "userMessage":
    case "startPlan":
    case "executePlan":
      return `message:${action.message.messageId}`;
    case "inject":
      return `injection:${action.injection.injectionId}`;
    case "asyncAnswer":
      return `answer:${action.callId}`;
    case "backgroundCompletion":
      return action.completions
        .map(
          (done) => `completion:${done.taskKind}:${done.subagentId ?? done.taskId}:${done.callId ?? ""}:${done.status}`,
        )
        .join("|");
    default:
      return `${action.kind}:${conversationId}`;
  }
}

/** Whether a Run opens for a row when none lives; an injection, and what a Run said that never began, wait for the next opening. */
export const opensRun = ({ kind }: Pick<InboxRow, "kind">): boolean => kind !== "inject" && kind !== "run";

/** Whether a row joins the Run that lives, at its next border. */
export const joinsRun = ({ kind }: Pick<InboxRow, "kind">): boolean => kind !== "run";

/** How the rows that wait want the running Step to be treated: the most urgent one decides. */
export function urgencyOf(kinds: readonly { readonly kind: InboxKind; readonly system?: boolean }[]): Urgency {
  if (
    kinds.some(({ kind, system }) => kind === "userMessage" || kind === "asyncAnswer" || (kind === "inject" && !system))
  )
    return "now";
  return kinds.some(({ kind }) => kind === "inject") ? "settle" : "border";
}

/** Takes all rows that wait, in their order, into the history of the Run. */
export function joinInbox(activation: Activation, run: LiveRun, step: number): Joined {
  const { codec, clock, entropy } = activation.deps;
  const told: (() => void)[] = [];
  // what comes in meanwhile joins next
  const seqs = new Set(activation.inbox.filter(joinsRun).map(({ seq }) => seq));
  return {
    async fetch(client) {
      const actions = activation.inbox.filter(joinsRun).flatMap((row) => actionOf(activation, row) ?? []);
      await fetchContent(activation, run, actions.flatMap(messagesOf), client);
    },
    barrier() {
      const rows = activation.inbox.filter(({ seq }) => seqs.has(seq));
      activation.inbox.splice(0, Infinity, ...activation.inbox.filter(({ seq }) => !seqs.has(seq)));
      const batchId = entropy.uuid();
      const atMs = clock.now();
      const update = (bytes: Uint8Array): void => activation.append(run, "update", bytes);
      const parts = rows.map((row): Barrier => {
        const action = actionOf(activation, row);
        if (!action) return { inboxDropped: [row.seq] };
        if (action.kind === "inject")
          told.push(() =>
            update(
              codec.update({
                kind: "injectionState",
                injectionId: action.injection.injectionId,
                state: { kind: "delivered", step, batchId, atMs },
              }),
            ),
          );
        const message = messagesOf(action).at(-1);
        if (message) told.push(() => update(codec.update({ kind: "userMessageAppended", message: message.wire })));
        return mergeBarriers(appendAction(activation, run, action), pictureBlobs(run, messagesOf(action)), {
          inboxTaken: [row.seq],
        });
      });
      return mergeBarriers(...parts);
    },
    announce: () => told.forEach((tell) => tell()),
  };
}

function actionOf(activation: Activation, row: InboxRow): Action | undefined {
  const decoded = activation.deps.codec.decodeUplink(row.body);
  if (!decoded.ok) return undefined;
  if (decoded.value.kind === "action") return decoded.value.action;
  return decoded.value.kind === "run" ? decoded.value.request.action : undefined;
}

/** The canonical messages of an action that joins a Run. */
function appendAction(activation: Activation, run: LiveRun, action: Action): Barrier {
  const { history } = activation;
  const place = history.place(run.row.runId);
  switch (action.kind) {
    case "userMessage":
    case "startPlan":
    case "executePlan": {
      const { message } = action;
      const opening = openTurn({
        ...place,
        input: { message, parts: partsOf(run, message) },
        prepend: messagesOf(action)
          .slice(0, -1)
          .map((queued) => ({ message: queued, parts: partsOf(run, queued) })),
        again: false,
      });
      if (opening.kind !== "opened") return {};
      keepWire(run, opening.messages, message);
      return history.extend(opening.node, opening.messages, opening.anchors);
    }
    case "inject": {
      const { injectionId, payload } = action.injection;
      if (payload.type === "user") {
        const { message } = payload;
        const appended = openInjection(place, injectionId, "user", partsOf(run, message));
        keepWire(run, appended.messages, message);
        return history.append(appended);
      }
      return history.append(
        openInjection(place, injectionId, "system", injectionParts(payload.producer, payload.content)),
      );
    }
    case "backgroundCompletion":
      return mergeBarriers(
        ...action.completions.map((completion) =>
          history.append(openCompletion(history.place(run.row.runId), completion, completionText(completion))),
        ),
      );
    case "asyncAnswer":
      return history.append(openRuntime(place, eventId(`answer:${action.callId}`, ""), action.text));
    default:
      return {};
  }
}

/** The client sees its message again as it sent it. */
function keepWire(run: LiveRun, messages: readonly CanonicalMessage[], { wire }: UserMessage): void {
  const last = messages.at(-1);
  if (last) run.userMessages.set(last.id, wire);
}
