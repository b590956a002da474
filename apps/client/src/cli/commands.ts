import { type Mode, MODES } from "../store/conversations.ts";

/** What a typed line asks for. */
export type Typed =
  | { readonly kind: "message"; readonly text: string }
  | { readonly kind: "nothing" }
  | { readonly kind: "help" | "new" | "summarize" | "quit" }
  | { readonly kind: "model"; readonly id: string | undefined }
  | { readonly kind: "mode"; readonly mode: Mode | undefined }
  | { readonly kind: "resume"; readonly id: string | undefined }
  | { readonly kind: "unknown"; readonly word: string };

export const COMMAND_HELP: readonly (readonly [string, string])[] = [
  ["/new", "begin a new conversation"],
  ["/model [ID]", "show the models, or use another one"],
  ["/mode [agent|ask|plan]", "show or change how the agent works"],
  ["/resume [ID]", "list this folder's conversations, or open one"],
  ["/summarize", "summarize the conversation so far"],
  ["/quit", "leave; Ctrl-D does so too"],
];

/** Reads a typed line: a message, or a command that begins with one slash. */
export function readTyped(line: string): Typed {
  const text = line.trim();
  if (text === "") return { kind: "nothing" };
  const command = /^\/([a-z]+)(?:\s+(\S+))?$/.exec(text);
  if (command === null) return { kind: "message", text: line };
  const [, word = "", argument] = command;
  switch (word) {
    case "help":
    case "new":
    case "summarize":
    case "quit":
      return { kind: word };
    case "exit":
      return { kind: "quit" };
    case "model":
      return { kind: "model", id: argument };
    case "mode":
      if (argument !== undefined && !MODES.some((mode) => mode === argument))
        return { kind: "unknown", word: `mode ${argument}` };
      return { kind: "mode", mode: MODES.find((mode) => mode === argument) };
    case "resume":
      return { kind: "resume", id: argument };
    default:
      return { kind: "unknown", word };
  }
}
