import type { AgentMode } from "@chartroom/domain";
import { expect, test } from "vitest";
import { systemPrompt } from "./index.ts";

const TOOLS = ["Delete", "Glob", "Grep", "Read", "ReadLints", "Shell", "StrReplace", "Write", "tracker-search"];

/* Another byte here is another prompt version: it breaks the cached prefix of every conversation. */
test.each<AgentMode>(["agent", "ask", "plan", "debug"])(
  "version 1 of the system text in %s mode, to the byte",
  async (mode) => {
    const text = systemPrompt({ mode, promptVersion: 1, toolNames: TOOLS });
    await expect(`${text}\n`).toMatchFileSnapshot(`golden/${mode}.1.md`);
  },
);
