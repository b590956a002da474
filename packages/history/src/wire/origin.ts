import type { MessageOrigin } from "@chartroom/domain";
import type { Space } from "../ids.ts";

const ORIGINS: Partial<Record<Space, MessageOrigin>> = {
  "request-context": "prompt",
  runtime: "runtime",
  "background-completed": "runtime",
  summary: "runtime",
};

/** Who speaks in the messages of a name space, unless the message says otherwise. */
export function defaultOrigin(space: Space | undefined): MessageOrigin {
  return (space === undefined ? undefined : ORIGINS[space]) ?? "user";
}
