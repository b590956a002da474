import { agent, aiserver, unary, type Rpc } from "@chartroom/gateway/face";
import type { ApiOptions } from "./options.ts";

const MAX_NAME = 60;
const UNNAMED = "New chat";

/** Names of chats and agents (wire section 14): a small model call, or the first words of the message. */
export function naming({ nameChat }: ApiOptions): readonly Rpc[] {
  const name = async (message: string, signal: AbortSignal): Promise<string> => {
    const fallBack = firstWords(message);
    if (nameChat === undefined || message.trim() === "") return fallBack;
    try {
      return oneLine(await nameChat(message, signal)) || fallBack;
    } catch {
      return fallBack;
    }
  };
  const nameAgent = async (
    { userMessage }: { readonly userMessage: string },
    { signal }: { readonly signal: AbortSignal },
  ) => ({
    name: await name(userMessage, signal),
  });
  return [
    unary(agent.AgentService.method.nameAgent, nameAgent),
    unary(aiserver.AiService.method.nameAgent, nameAgent),
    unary(aiserver.AiService.method.nameTab, async ({ messages }, { signal }) => {
      const first = messages.find(({ type }) => type === aiserver.ConversationMessage_MessageType.HUMAN);
      return { name: await name(first?.text ?? "", signal) };
    }),
  ];
}

/** The beginning of a message as a name: one line, cut between words. */
export function firstWords(message: string): string {
  const line = oneLine(message);
  if (line === "") return UNNAMED;
  if (line.length <= MAX_NAME) return line;
  const cut = line.slice(0, MAX_NAME + 1);
  const space = cut.lastIndexOf(" ");
  return `${(space > MAX_NAME / 2 ? cut.slice(0, space) : cut.slice(0, MAX_NAME)).toWellFormed().trimEnd()}…`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
