import type { Action, Carrier, FailureCode, InboxKind, RunId, RunRow, Urgency } from "@chartroom/domain";

/** What a command meets: where the conversation is, and the Runs it may mean. */
export interface CommandView {
  readonly phase: "idle" | "active" | "ending";
  readonly current: RunRow | undefined;
  readonly waiting: RunRow | undefined;
  /** The living Run has been parked past its deadline: it ends now, and nobody can take it over. */
  readonly overdue: boolean;
  /** The newest Run that this message id opened, ended or not. */
  readonly known: RunRow | undefined;
  readonly newestEnded: RunRow | undefined;
  /** The Run whose stream brought the command, or which its request names; `undefined`: the command is for the conversation. */
  readonly meant: RunId | undefined;
  /** The head ends in something to answer. */
  readonly unfinished: boolean;
  /** `x-original-request-id` names a generation of the known Run. */
  readonly namesKnown: boolean;
  /** `x-original-request-id` names the request that opened the living Run. */
  readonly namesCurrent: boolean;
  /** The idempotency key of the command has been taken before. */
  readonly duplicate: boolean;
}

export type Decision =
  /** A Run at once. */
  | { readonly kind: "start" }
  /** A Run that waits for the living one, which ends now (`supersede`) or by itself. */
  | { readonly kind: "wait"; readonly supersede: boolean }
  /** The downlink takes over the living Run. */
  | { readonly kind: "claim"; readonly runId: RunId }
  /** Text, cards, checkpoint and `turn_ended` from the store; no model call. */
  | { readonly kind: "answer"; readonly runId: RunId }
  /** The input of an ended Run goes on from that Run's own branch head. */
  | { readonly kind: "continue"; readonly runId: RunId }
  | { readonly kind: "inbox"; readonly row: InboxKind; readonly urgency: Urgency; readonly nextTurn: boolean }
  | { readonly kind: "cancel"; readonly runId: RunId }
  | { readonly kind: "finishedTurn" }
  | { readonly kind: "acknowledge" }
  | { readonly kind: "rejectInjection"; readonly reason: string }
  | { readonly kind: "refuse"; readonly code: FailureCode };

/** The command table of the lifecycle spec, section 5 with section 6 for known messages; total over kind, carrier and state. */
export function decide(action: Action, carrier: Carrier, wireRunId: string | undefined, view: CommandView): Decision {
  return carrier === "A" ? decideRequest(action, wireRunId, view) : decideLive(action, view);
}

/** Actions without a message id that open a Run: what repeats one of them can only say so. */
const NAMELESS: ReadonlySet<Action["kind"]> = new Set(["asyncAnswer", "summarize", "backgroundCompletion"]);

function decideRequest(action: Action, wireRunId: string | undefined, view: CommandView): Decision {
  if (NAMELESS.has(action.kind) && view.namesCurrent && view.current && view.current.messageId === undefined)
    return { kind: "claim", runId: view.current.runId };
  switch (action.kind) {
    case "userMessage":
    case "startPlan":
    case "executePlan":
      return decideMessage(action.message.messageId, wireRunId, view);
    case "asyncAnswer":
      return view.phase === "idle" ? { kind: "start" } : { kind: "wait", supersede: view.phase === "active" };
    case "resume":
      return decideResume(view);
    case "summarize": {
      if (action.messageId === undefined)
        return view.phase === "idle" ? { kind: "start" } : { kind: "wait", supersede: false };
      const decision = decideMessage(action.messageId, wireRunId, view);
      return decision.kind === "wait" ? { ...decision, supersede: false } : decision;
    }
    case "backgroundCompletion":
      if (view.duplicate) return { kind: "finishedTurn" };
      return view.phase === "idle"
        ? { kind: "start" }
        : { kind: "inbox", row: "completion", urgency: "border", nextTurn: view.phase === "ending" };
    case "cancel":
      return decideCancel(view) ?? { kind: "finishedTurn" };
    case "inject":
    case "cancelSubagent":
    case "unsupported":
      return { kind: "finishedTurn" };
  }
}

function decideMessage(messageId: string, wireRunId: string | undefined, view: CommandView): Decision {
  const { current, waiting, known, phase } = view;
  for (const living of [current, waiting]) {
    if (!living || phase === "idle") continue;
    if (messageId !== "" && living.messageId === messageId) return { kind: "claim", runId: living.runId };
    // neither side says which message it is: they cannot be told apart
    if (messageId === "" && living.messageId === undefined && wireRunId === undefined && living.wireRunIds.length === 0)
      return { kind: "refuse", code: "IDENTITY_CONFLICT" };
  }
  if (phase !== "idle") return { kind: "wait", supersede: phase === "active" };
  if (!known || !(view.namesKnown || !known.delivered)) return { kind: "start" };
  return known.status === "completed"
    ? { kind: "answer", runId: known.runId }
    : { kind: "continue", runId: known.runId };
}

function decideResume(view: CommandView): Decision {
  if (view.phase === "active" && view.overdue) return { kind: "wait", supersede: true };
  if (view.phase !== "idle" && view.current) return { kind: "claim", runId: view.current.runId };
  if (view.unfinished) return { kind: "start" };
  return view.newestEnded ? { kind: "answer", runId: view.newestEnded.runId } : { kind: "finishedTurn" };
}

/** A cancel is for the Run of its own stream: one that waits ends alone, one that has ended takes no other with it. */
function decideCancel({ phase, current, waiting, meant }: CommandView): Decision | undefined {
  if (waiting && meant === waiting.runId) return { kind: "cancel", runId: waiting.runId };
  if (phase !== "active" || !current || (meant !== undefined && meant !== current.runId)) return undefined;
  return { kind: "cancel", runId: current.runId };
}

function decideLive(action: Action, view: CommandView): Decision {
  const { phase, current } = view;
  switch (action.kind) {
    case "userMessage":
    case "startPlan":
    case "executePlan":
    case "asyncAnswer":
      if (view.duplicate || repeatsLiving(action, view)) return { kind: "acknowledge" };
      if (phase === "idle") return { kind: "start" };
      return {
        kind: "inbox",
        row: action.kind === "asyncAnswer" ? "asyncAnswer" : "userMessage",
        urgency: "now",
        nextTurn: phase === "ending",
      };
    case "inject": {
      if (view.duplicate) return { kind: "acknowledge" };
      if (phase === "idle" || !current) return { kind: "rejectInjection", reason: "no Run is active" };
      const { expectedRunId, payload } = action.injection;
      const matches =
        expectedRunId === "" ? current.wireRunIds.length === 0 : current.wireRunIds.some((id) => id === expectedRunId);
      if (!matches) return { kind: "rejectInjection", reason: "expected_run_id is not the active Run" };
      return {
        kind: "inbox",
        row: "inject",
        urgency: payload.type === "user" ? "now" : "settle",
        nextTurn: phase === "ending",
      };
    }
    case "backgroundCompletion":
      if (view.duplicate) return { kind: "acknowledge" };
      return phase === "idle"
        ? { kind: "start" }
        : { kind: "inbox", row: "completion", urgency: "border", nextTurn: phase === "ending" };
    case "cancel":
      return decideCancel(view) ?? { kind: "acknowledge" };
    case "summarize":
      // a stream carries one Run; the one that lives is not asked to share its own
      return phase === "idle" ? { kind: "start" } : { kind: "acknowledge" };
    case "resume":
    case "cancelSubagent":
    case "unsupported":
      return { kind: "acknowledge" };
  }
}

/** The message that opened the Run which lives, or the one that waits, once more: the same event is idempotent. */
function repeatsLiving(action: Action, { phase, current, waiting }: CommandView): boolean {
  if (phase === "idle" || !("message" in action) || action.message.messageId === "") return false;
  return [current, waiting].some((run) => run?.messageId === action.message.messageId);
}
