import type { AgentMode } from "@chartroom/domain";
import { strReplace } from "../edit/str-replace.ts";
import { write } from "../edit/write.ts";
import { shell } from "../shell/shell.ts";
import { deleteFile } from "./delete.ts";
import { glob } from "./glob.ts";
import { grep } from "./grep.ts";
import { read } from "./read.ts";
import { readLints } from "./read-lints.ts";
import type { ToolSpec } from "./tool.ts";

const READING: readonly ToolSpec[] = [read, grep, glob, readLints];
const ALL: readonly ToolSpec[] = [shell, read, write, strReplace, deleteFile, grep, glob, readLints];

/** The native tools of each mode, in the order of the catalogue. */
export const NATIVE_TOOLS: Readonly<Record<AgentMode, readonly ToolSpec[]>> = {
  agent: ALL,
  ask: READING,
  plan: READING,
  debug: ALL,
  triage: READING,
  project: ALL,
  multitask: ALL,
  custom: ALL,
};
