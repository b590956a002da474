import type { InterruptReason } from "@chartroom/domain";
import type { agent } from "../wire.ts";

const WHY: Record<InterruptReason, string> = {
  "user-message": "the user sent a new message while it ran",
  cancelled: "the user cancelled",
  superseded: "another run of this conversation took over",
  "parked-expired": "the client did not come back in time",
  deadline: "the client did not answer in time",
  failed: "the run failed before the client answered",
};

/** What the model reads in the place of a result that never came. */
export function interruptedText(reason: InterruptReason, changes: boolean): string {
  const caution = changes ? " It may have taken effect in part: check before doing it again." : "";
  return `Tool interrupted: ${WHY[reason]}. There is no result.${caution}`;
}

/** A result's text with what the user's hooks add to it. */
export function withHooks(text: string, hooks: readonly agent.HookAdditionalContext[]): string {
  return hooks
    .filter(({ content }) => content !== "")
    .reduce((all, { hookEventName, content }) => `${all}\n\n[hook ${hookEventName || "context"}]\n${content}`, text);
}
