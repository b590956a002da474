import type { ModelRequest } from "@chartroom/domain";
import type { Pass } from "./pass.ts";
import { lastText, promptsOf } from "./turn.ts";

/** Requests without tools that are no chat: a name for a conversation, a summary of it. `undefined` for any other. */
export function smallJob({ messages, tools }: ModelRequest): Pass | undefined {
  if (tools.length > 0) return undefined;
  const asked = messages.at(-1) ? lastText(messages.at(-1)!) : "";
  const named = /^<message>\n([\s\S]*)\n<\/message>$/.exec(asked);
  if (named)
    return [{ type: "say", text: named[1]!.split(/\s+/).slice(0, 6).join(" ").slice(0, 60).toWellFormed() || "Demo" }];
  if (!/^Summari[sz]e the conversation\b/.test(asked)) return undefined;
  const said = promptsOf(messages.slice(0, -1)).map(
    (prompt) => `- ${prompt.replace(/\s+/g, " ").slice(0, 200).toWellFormed()}`,
  );
  return [
    {
      type: "say",
      text: `## Request\n${said.join("\n") || "- nothing"}\n\n## Open\nThe demo model keeps no other notes.`,
    },
  ];
}
