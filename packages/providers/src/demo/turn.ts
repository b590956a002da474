import type { ModelMessage, ModelRequest } from "@chartroom/domain";
import { groups } from "../neutral/messages.ts";

/** A call of this turn with its result. */
export interface DoneCall {
  readonly name: string;
  readonly arguments: string;
  readonly text: string;
  readonly isError: boolean;
}

/** What the demo model knows: the newest thing that the user said, and what it has done about it. */
export interface Turn {
  readonly prompt: string;
  /** The newest message is one of the server's own (a background task has ended, say), which asks for nothing. */
  readonly notice: string | undefined;
  /** Calls since the prompt, one list per pass. */
  readonly passes: readonly (readonly DoneCall[])[];
  readonly done: readonly DoneCall[];
  /** Names of the offered tools. */
  readonly tools: ReadonlySet<string>;
}

export function readTurn(request: ModelRequest): Turn {
  const { messages } = request;
  const at = messages.findLastIndex((message) => message.role === "user" && !isMark(lastText(message)));
  const passes = passesOf(messages.slice(at + 1));
  const last = messages.at(-1);
  const notice =
    last?.role === "user" && /^<(?:background_task|injected)\b/.test(lastText(last)) ? lastText(last) : undefined;
  return {
    prompt: at === -1 ? "" : lastText(messages[at]!).trim(),
    notice,
    passes,
    done: passes.flat(),
    tools: new Set(request.tools.map(({ name }) => name)),
  };
}

/** Texts of the user's own words so far, oldest first. */
export function promptsOf(messages: readonly ModelMessage[]): readonly string[] {
  return messages
    .filter((message) => message.role === "user")
    .map(lastText)
    .filter((text) => text !== "" && !isMark(text));
}

/** The user's own words are the last text of their message; attachments stand before them. */
export function lastText(message: ModelMessage): string {
  if (message.role !== "user") return "";
  const part = message.parts.findLast(({ type }) => type === "text");
  return part?.type === "text" ? part.text : "";
}

/** One element from beginning to end is what the server says (context, time, notices), not the user. */
function isMark(text: string): boolean {
  return /^\s*<([a-z_]+)[\s>][\s\S]*<\/[a-z_]+>\s*$/.test(text);
}

/** Each pass with the results that follow it: ids may be the same in every pass. */
function passesOf(messages: readonly ModelMessage[]): readonly (readonly DoneCall[])[] {
  return groups(messages).flatMap((message, at, all) => {
    const next = all[at + 1];
    if (message.role !== "assistant" || next?.role !== "tool") return [];
    const done = message.calls.flatMap((call): readonly DoneCall[] => {
      const result = next.results.find(({ callId }) => callId === call.id);
      return result ? [{ name: call.name, arguments: call.arguments, text: result.text, isError: result.isError }] : [];
    });
    return done.length === 0 ? [] : [done];
  });
}
