import { describe, expect, test } from "vitest";
import { faultOf } from "./lifecycle/report.ts";
import type { Event, Step } from "./lifecycle/schedule.ts";

/** Now: all that it leads to happens before the next one. Then: the next one comes before. */
const now = (event: Event): Step => ({ event, settle: true });
const then = (event: Event): Step => ({ event, settle: false });

/** Schedules that once broke an invariant, as `npm run soak` told them. */
const found: Readonly<Record<string, readonly Step[]>> = {
  "a follow-up that lost its place before it began leaves the stream the end of the Run before it, after a restart too":
    [
      then({ type: "blobs", acknowledged: false }),
      now({ type: "completion", carrier: "A", again: false, stream: 4 }),
      now({ type: "model", says: "finish" }),
      now({ type: "message", carrier: "B", how: "userMessage", stream: 0, attach: "before" }),
      then({ type: "inject", carrier: "B", kind: "none", stream: 3, twice: true }),
      then({ type: "attach", stream: 4 }),
      now({ type: "message", carrier: "A", how: "asyncAnswer", stream: 4, attach: "after" }),
      then({ type: "kill" }),
      now({ type: "attach", stream: 4 }),
    ],
  "a Run whose preparation was given up while the store did not answer keeps its outcome when the store answers": [
    now({ type: "message", carrier: "A", how: "bare", stream: 4, attach: "before" }),
    now({ type: "command", carrier: "B", what: "cancel", stream: 1 }),
    then({ type: "again", carrier: "A", input: 2, stream: 0, original: true, attach: "before" }),
    now({ type: "command", carrier: "B", what: "unknownAction", stream: 0 }),
    now({ type: "store", does: "hold" }),
    now({ type: "time", ms: 61_000 }),
  ],
  "a message that came to a conversation that ended while the store was asked is refused, not left without an answer": [
    now({ type: "command", carrier: "A", what: "resume", stream: 2 }),
    then({ type: "store", does: "hold" }),
    now({ type: "message", carrier: "A", how: "executePlan", stream: 0, attach: "after" }),
    now({ type: "time", ms: 901_000 }),
  ],
  "a Run whose conversation could not be restored while the store did not answer ends at its deadline": [
    now({ type: "message", carrier: "A", how: "userMessage", stream: 1, attach: "before" }),
    now({ type: "kill" }),
    then({ type: "again", carrier: "A", input: 0, stream: 0, original: true, attach: "before" }),
    now({ type: "store", does: "hold" }),
    now({ type: "time", ms: 3_700_000 }),
    now({ type: "store", does: "away" }),
  ],
  "a Run that another one went on from on its stream is answered with its own end, not with that of the other": [
    now({ type: "message", carrier: "A", how: "userMessage", stream: 2, attach: "never" }),
    now({ type: "again", carrier: "A", input: 4, stream: 4, original: false, attach: "after" }),
    then({ type: "model", says: "finish" }),
    now({ type: "completion", carrier: "A", again: true, stream: 5 }),
    now({ type: "command", carrier: "A", what: "cancel", stream: 3 }),
    now({ type: "again", carrier: "A", input: 0, stream: 2, original: true, attach: "before" }),
  ],
  "a follow-up that a claim's stream took over and that was superseded before it began is that stream's in the store": [
    now({ type: "message", carrier: "A", how: "userMessage", stream: 0, attach: "after" }),
    now({ type: "blobs", acknowledged: false }),
    then({ type: "model", says: "finish" }),
    now({ type: "message", carrier: "B", how: "executePlan", stream: 1, attach: "before" }),
    now({ type: "store", does: "hold" }),
    now({ type: "command", carrier: "A", what: "resume", stream: 5 }),
    now({ type: "blobs", acknowledged: true }),
    now({ type: "message", carrier: "A", how: "asyncAnswer", stream: 3, attach: "after" }),
  ],
  "a claim that reached the store though its client was told that it could not be kept": [
    now({ type: "completion", carrier: "A", again: false, stream: 2 }),
    then({ type: "command", carrier: "A", what: "resume", stream: 0 }),
    now({ type: "store", does: "hold" }),
    now({ type: "time", ms: 3_700_000 }),
    now({ type: "store", does: "step" }),
    now({ type: "attach", stream: 5 }),
  ],
  "a write that waits for its next attempt is over when its activation is": [
    now({ type: "message", carrier: "A", how: "userMessage", stream: 0, attach: "after" }),
    now({ type: "model", says: "overflow" }),
    then({ type: "message", carrier: "A", how: "executePlan", stream: 3, attach: "after" }),
    now({ type: "store", does: "away" }),
    now({ type: "model", says: "finish" }),
    now({ type: "command", carrier: "A", what: "prewarm", stream: 2 }),
    then({ type: "store", does: "open" }),
    then({ type: "attach", stream: 3 }),
  ],
  "two that ask for the same history at once read it once: each of two streams of an ended Run gets its checkpoint": [
    now({ type: "message", carrier: "A", how: "userMessage", stream: 2, attach: "never" }),
    now({ type: "inject", carrier: "B", kind: "user", stream: 1, twice: false }),
    now({ type: "model", says: "finish" }),
    now({ type: "time", ms: 3_700_000 }),
    now({ type: "message", carrier: "B", how: "executePlan", stream: 4, attach: "never" }),
    then({ type: "again", carrier: "A", input: 0, stream: 2, original: true, attach: "before" }),
    then({ type: "command", carrier: "A", what: "resume", stream: 3 }),
  ],
  "a waiting Run that another one replaced is not told so before the store knows, whoever comes to its stream": [
    then({ type: "message", carrier: "A", how: "executePlan", stream: 3, attach: "never" }),
    then({ type: "result", which: 0, how: "throw" }),
    then({ type: "attach", stream: 0 }),
    now({ type: "command", carrier: "A", what: "summarize", stream: 3 }),
    then({ type: "message", carrier: "A", how: "startPlan", stream: 5, attach: "before" }),
    now({ type: "store", does: "hold" }),
    now({ type: "model", says: "finish" }),
    now({ type: "store", does: "step" }),
    now({ type: "attach", stream: 1 }),
  ],
  "a node that was robbed does not answer an ended Run from its memory": [
    now({ type: "message", carrier: "A", how: "asyncAnswer", stream: 1, attach: "before" }),
    now({ type: "model", says: "finish" }),
    then({ type: "command", carrier: "A", what: "resume", stream: 4 }),
    then({ type: "freeze" }),
    now({ type: "command", carrier: "B", what: "unknownAction", stream: 4 }),
  ],
  "a claim with an older state while the final checkpoint is on its way to the stream before gets that checkpoint too":
    [
      now({ type: "message", carrier: "A", how: "startPlan", stream: 3, attach: "before" }),
      then({ type: "model", says: "finish" }),
      now({ type: "late", which: 1 }),
      now({ type: "message", carrier: "A", how: "bare", stream: 2, attach: "never" }),
      then({ type: "again", carrier: "A", input: 5, stream: 3, original: false, attach: "before" }),
      now({ type: "inject", carrier: "B", kind: "user", stream: 5, twice: true }),
      now({ type: "result", which: 2, how: "error" }),
      now({ type: "command", carrier: "A", what: "resume", stream: 0 }),
      now({ type: "store", does: "hold" }),
      now({ type: "completion", carrier: "B", again: false, stream: 5 }),
      then({ type: "command", carrier: "B", what: "cancel", stream: 5 }),
      now({ type: "inject", carrier: "B", kind: "none", stream: 3, twice: false }),
      now({ type: "command", carrier: "A", what: "prewarm", stream: 2 }),
      now({ type: "command", carrier: "A", what: "resume", stream: 2 }),
    ],
  "a Run that waited, and that another node takes up, begins at its first Step: what it said stays when nobody comes back":
    [
      now({ type: "message", carrier: "A", how: "asyncAnswer", stream: 0, attach: "before" }),
      now({ type: "message", carrier: "A", how: "bare", stream: 5, attach: "before" }),
      then({ type: "freeze" }),
      then({ type: "inject", carrier: "B", kind: "system", stream: 3, twice: true }),
    ],
  "a message that waited when its node was lost knows all that ended meanwhile: it goes back behind none of it": [
    then({ type: "completion", carrier: "A", again: true, stream: 5 }),
    now({ type: "blobs", acknowledged: false }),
    now({ type: "model", says: "finish" }),
    now({ type: "message", carrier: "A", how: "bare", stream: 1, attach: "before" }),
    now({ type: "message", carrier: "A", how: "bare", stream: 5, attach: "before" }),
    now({ type: "blobs", acknowledged: true }),
    then({ type: "message", carrier: "A", how: "asyncAnswer", stream: 5, attach: "before" }),
    then({ type: "freeze" }),
  ],
};

describe("schedules that the soak found", () => {
  test.each(Object.entries(found))("%s", async (_, steps) => {
    expect(await faultOf(steps)).toBeUndefined();
  });
});
