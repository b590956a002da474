import type { Lease, MemberId } from "@chartroom/domain";
import type { ConversationDeps } from "../deps.ts";
import type { ConversationHistory } from "./conversation-history.ts";

/** What those who watch a branch need of its activation. */
export interface BranchHost {
  readonly deps: Pick<ConversationDeps, "store">;
  readonly lease: Lease;
  readonly member: MemberId;
  readonly history: ConversationHistory;
}
