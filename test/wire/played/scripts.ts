import type { ModelEvent } from "@chartroom/domain";
import { type Answer, call, hang, say } from "../../support/scripted-provider.ts";

/** Gives the batches one after the other. */
function batches(...given: readonly (readonly ModelEvent[])[]): Answer {
  return async function* () {
    yield* given;
  };
}

const failing = batches([
  { type: "failed", failure: { kind: "server", status: 503, message: "Upstream returned 503", retryable: true } },
]);

/** What the model answers in each example exchange, one entry per model call: what the server's frames in it show. */
export const SCRIPTS: Readonly<Record<string, readonly Answer[]>> = {
  "plain-text-turn": [
    batches(
      [{ type: "thinking", text: "The user wants a greeting." }],
      [{ type: "thinkingDone" }],
      [{ type: "text", text: "Hel" }],
      [{ type: "text", text: "lo!" }],
      [{ type: "usage", usage: { outputTokens: 3 } }],
      [
        { type: "usage", usage: { inputTokens: 100, outputTokens: 20 } },
        { type: "finished", reason: "stop", raw: "stop" },
      ],
    ),
  ],
  "read-tool": [
    call({ name: "Read", args: { path: "/ws/demo/README.md" }, id: "call_read_1" }),
    say("It holds one heading."),
  ],
  "shell-stream": [
    call({ name: "Shell", args: { command: "npm test", description: "Run the tests" }, id: "call_sh_1" }),
    say("All tests pass."),
  ],
  "mcp-tool": [
    call({ name: "tracker-search", args: { query: "login bug" }, id: "call_mcp_1" }),
    say("Issue 42 matches."),
  ],
  "parallel-tool-calls": [
    call(
      { name: "Read", args: { path: "/ws/demo/a.ts" }, id: "call_a" },
      { name: "Read", args: { path: "/ws/demo/b.ts" }, id: "call_b" },
      { name: "Grep", args: { pattern: "TODO", path: "/ws/demo", output_mode: "content" }, id: "call_g" },
    ),
    say("b.ts does not exist."),
  ],
  "provider-error": [failing],
  cancel: [call({ name: "Shell", args: { command: "npm run build" }, id: "call_sh_7" }), hang([])],
  "soft-interrupt": [call({ name: "Shell", args: { command: "sleep 60" }, id: "call_sh_6" }), say("It is Monday.")],
  reconnect: [call({ name: "Read", args: { path: "/ws/demo/a.ts" }, id: "call_read_8" }), say("It holds x.")],
  "subagent-task": [say("It is loaded in src/config.ts.")],
};
