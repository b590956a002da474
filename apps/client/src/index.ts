export { type Client, type ClientOptions, createClient, runTurn, type TurnWish } from "./client.ts";
export {
  absentUser,
  type ApprovalAnswer,
  type ApprovalRequest,
  type User,
  type UserAnswer,
  type UserQuestion,
  yesUser,
} from "./execution/consent.ts";
export type { Conversation } from "./session/conversation.ts";
export type { TurnEvent, TurnResult, TurnUsage, ToolView, SentMessage } from "./session/events.ts";
export { AUTOMATIC_MODEL, type Model } from "./session/models.ts";
export type { TurnLimits } from "./session/state.ts";
export type { Turn } from "./session/turn.ts";
export type { ConversationRecord, Mode } from "./store/conversations.ts";
export type { ClientFailure } from "./transport/failure.ts";
