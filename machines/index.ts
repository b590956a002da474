export { conversationMachine } from "./conversation.machine.ts";
export { cursorRunMachine } from "./cursor-run.machine.ts";
