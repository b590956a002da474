import type { PersistedChart } from "@chartroom/domain";

/** The version of `machines/conversation.machine.ts`: written with a stored chart; only this one's states can be restored. */
export const chartVersion = 1;

/** Whether a stored chart is one of this version; another one is left as it is, for the server that wrote it. */
export const isOwnChart = ({ machine, version }: PersistedChart): boolean =>
  machine === "conversation" && version === chartVersion;
