/**
 * The command table of the lifecycle: what a command that comes on a carrier does in each phase of the conversation. Written from the
 * words of the specification alone, without the chart or the service, and total by its type: a cell that is missing does not compile.
 */

/** A = a Run request on a new stream; B = an action on a live stream. */
export type Carrier = "A" | "B";

/** idle; active = preparing, modeling, waitingTools, interrupting; ending = checkpointing, finalizing. */
export type Phase = "idle" | "active" | "ending";

export type Command =
  /** A user message whose `message_id` is new. */
  | "userMessage"
  /** A `message_id` that is known: of the Run that lives; in idle, of a Run whose end the client did not see, by how it ended … */
  | "knownMessage, completed undelivered"
  | "knownMessage, failed undelivered"
  /** … or of one whose end it saw. */
  | "knownMessage, delivered"
  /** `expected_run_id` is one of the Run's wire run ids. */
  | "inject user, matches"
  | "inject system, matches"
  | "inject, no match"
  /** In idle the head ends in something to answer. */
  | "resume, unfinished"
  | "resume, finished"
  | "cancel"
  | "cancelSubagent"
  | "toolResult"
  /** For a call that has its result already. */
  | "toolResult, late"
  | "completion"
  /** The same completion was taken before. */
  | "completion, again"
  | "summarize"
  | "startPlan"
  | "executePlan"
  | "asyncAnswer"
  | "prewarm"
  | "heartbeat"
  | "unknownAction";

export type Outcome =
  /** A Run begins at once, on the stream of the command. */
  | "starts"
  /** The Run that lives ends as superseded; then a Run begins on the command's stream. */
  | "supersedes"
  /** The Run that lives goes on to its own end; then a Run begins on the command's stream. */
  | "waitsThenStarts"
  /** The command's stream takes the living Run over; the old one ends. */
  | "claims"
  /** Text, checkpoint and `turn_ended` from the store; no Run, no model call. */
  | "answeredFromStore"
  /** A Run begins that goes on from the head of the Run of that message. */
  | "continues"
  /** A Run begins with an empty output. */
  | "runsAnew"
  /** The model stream and open calls are stopped at once; it joins the same Run, which goes on. */
  | "softInterrupt"
  /** The model stream is stopped, open calls settle first; it joins the same Run. */
  | "settlesFirst"
  /** Nothing is stopped; it joins the same Run at its next border. */
  | "nextBorder"
  /** The same, and the command's new stream ends at once as an empty finished turn. */
  | "nextBorderAndFinishedTurn"
  /** It waits in the inbox; when the Run has ended it opens the next one, on the stream of the Run that ended. */
  | "opensNextRun"
  /** The same, and the command's new stream ends at once as an empty finished turn. */
  | "opensNextRunAndFinishedTurn"
  /** `queued_for_next_turn`: it stays in the inbox and joins the opening of the next Run. */
  | "joinsNextOpening"
  /** Rejected with a reason, once however often it comes; the Run is not touched. */
  | "rejected"
  /** The Run ends as cancelled. */
  | "cancels"
  /** Answered; nothing changes. */
  | "acknowledged"
  /** An empty finished turn; nothing changes. */
  | "finishedTurn"
  /** An empty finished turn, a line in the log; nothing changes. */
  | "finishedTurnLogged"
  /** A line in the log; nothing changes. */
  | "logged"
  /** The result of the call, once. */
  | "applied"
  /** Dropped with a line in the log; nothing changes. */
  | "dropped"
  /** The history is summarized at once: started, summary, completed, checkpoint, `turn_ended`. */
  | "summarizes"
  /** The Run goes on to its own end; then the history is summarized. */
  | "waitsThenSummarizes"
  /** Another layer's: the gateway answers it, the conversation does not see it. */
  | "gateway"
  /** The wire has no such message. */
  | "impossible"
  /** The specification has no such row: answered, and the conversation keeps its invariants. */
  | "unspecified";

export const TABLE: Readonly<Record<Command, Readonly<Record<Carrier, Readonly<Record<Phase, Outcome>>>>>> = {
  userMessage: {
    A: { idle: "starts", active: "supersedes", ending: "waitsThenStarts" },
    B: { idle: "starts", active: "softInterrupt", ending: "opensNextRun" },
  },
  "knownMessage, completed undelivered": {
    A: { idle: "answeredFromStore", active: "claims", ending: "claims" },
    B: { idle: "unspecified", active: "acknowledged", ending: "acknowledged" },
  },
  "knownMessage, failed undelivered": {
    A: { idle: "continues", active: "claims", ending: "claims" },
    B: { idle: "unspecified", active: "acknowledged", ending: "acknowledged" },
  },
  "knownMessage, delivered": {
    A: { idle: "runsAnew", active: "claims", ending: "claims" },
    B: { idle: "unspecified", active: "acknowledged", ending: "acknowledged" },
  },
  "inject user, matches": {
    A: { idle: "finishedTurnLogged", active: "finishedTurnLogged", ending: "finishedTurnLogged" },
    B: { idle: "rejected", active: "softInterrupt", ending: "joinsNextOpening" },
  },
  "inject system, matches": {
    A: { idle: "finishedTurnLogged", active: "finishedTurnLogged", ending: "finishedTurnLogged" },
    B: { idle: "rejected", active: "settlesFirst", ending: "joinsNextOpening" },
  },
  "inject, no match": {
    A: { idle: "finishedTurnLogged", active: "finishedTurnLogged", ending: "finishedTurnLogged" },
    B: { idle: "rejected", active: "rejected", ending: "rejected" },
  },
  "resume, unfinished": {
    A: { idle: "starts", active: "claims", ending: "claims" },
    B: { idle: "logged", active: "logged", ending: "logged" },
  },
  "resume, finished": {
    A: { idle: "answeredFromStore", active: "claims", ending: "claims" },
    B: { idle: "logged", active: "logged", ending: "logged" },
  },
  cancel: {
    A: { idle: "finishedTurn", active: "cancels", ending: "finishedTurn" },
    B: { idle: "acknowledged", active: "cancels", ending: "acknowledged" },
  },
  cancelSubagent: {
    A: { idle: "finishedTurnLogged", active: "finishedTurnLogged", ending: "finishedTurnLogged" },
    B: { idle: "acknowledged", active: "acknowledged", ending: "acknowledged" },
  },
  toolResult: {
    A: { idle: "impossible", active: "impossible", ending: "impossible" },
    B: { idle: "dropped", active: "applied", ending: "dropped" },
  },
  "toolResult, late": {
    A: { idle: "impossible", active: "impossible", ending: "impossible" },
    B: { idle: "dropped", active: "dropped", ending: "dropped" },
  },
  completion: {
    A: { idle: "starts", active: "nextBorderAndFinishedTurn", ending: "opensNextRunAndFinishedTurn" },
    B: { idle: "starts", active: "nextBorder", ending: "opensNextRun" },
  },
  "completion, again": {
    A: { idle: "finishedTurn", active: "finishedTurn", ending: "finishedTurn" },
    B: { idle: "acknowledged", active: "acknowledged", ending: "acknowledged" },
  },
  summarize: {
    A: { idle: "summarizes", active: "waitsThenSummarizes", ending: "waitsThenSummarizes" },
    B: { idle: "unspecified", active: "logged", ending: "logged" },
  },
  startPlan: {
    A: { idle: "starts", active: "supersedes", ending: "waitsThenStarts" },
    B: { idle: "starts", active: "softInterrupt", ending: "opensNextRun" },
  },
  executePlan: {
    A: { idle: "starts", active: "supersedes", ending: "waitsThenStarts" },
    B: { idle: "starts", active: "softInterrupt", ending: "opensNextRun" },
  },
  asyncAnswer: {
    A: { idle: "starts", active: "supersedes", ending: "waitsThenStarts" },
    B: { idle: "starts", active: "softInterrupt", ending: "opensNextRun" },
  },
  prewarm: {
    A: { idle: "acknowledged", active: "acknowledged", ending: "acknowledged" },
    B: { idle: "impossible", active: "impossible", ending: "impossible" },
  },
  heartbeat: {
    A: { idle: "gateway", active: "gateway", ending: "gateway" },
    B: { idle: "gateway", active: "gateway", ending: "gateway" },
  },
  unknownAction: {
    A: { idle: "finishedTurnLogged", active: "finishedTurnLogged", ending: "finishedTurnLogged" },
    B: { idle: "logged", active: "logged", ending: "logged" },
  },
};

/** The states of each phase; the chart's own names. */
export const STATES: Readonly<Record<Phase, readonly State[]>> = {
  idle: ["idle"],
  active: ["preparing", "modeling", "waitingTools", "interrupting"],
  ending: ["checkpointing", "finalizing"],
};
export type State =
  | "idle"
  | "preparing"
  | "modeling"
  | "waitingTools"
  | "interrupting"
  | "checkpointing"
  | "finalizing";
