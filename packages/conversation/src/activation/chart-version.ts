/** The version of `machines/conversation.machine.ts`: written with a stored chart; only this one's states can be restored. */
export const chartVersion = 1;
