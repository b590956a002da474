import type { ConversationId } from "@chartroom/domain";
import { expect } from "vitest";
import { test } from "../support/database.ts";
import type { StubAnswer } from "../support/openai-stub.ts";
import { expectFinished } from "../support/wire-checks.ts";
import { comeBack, type ExecAnswer, type ExecRequest, readAnswer } from "../support/wire-client.ts";
import { Journey, Talk } from "./support/talk.ts";

/*
 * Thirty turns with a server process, over sockets and on Postgres, whose vendor is an HTTP server that keeps the bytes of each
 * request. The table of them is golden/thirty-turns.txt; `npm test -- test/history/thirty-turns --silent=false` prints it.
 */

/** Tokens; small, so that a compaction leaves most of what was said to its summary. */
const WINDOW = 9_000;

const never = new Promise<void>(() => undefined);
const says = (...text: string[]): StubAnswer => ({ text });
const reads = (...names: string[]): StubAnswer => ({
  calls: names.map((name) => ({ name: "Read", args: { path: `/ws/demo/${name}` } })),
});

test(
  "HI-01 thirty turns with tools, edits, a fork, interrupts, a compaction and restarts: each request begins with the one before it on its branch",
  { timeout: 120_000 },
  async ({ url }) => {
    const journey = await Journey.begin(url, WINDOW);
    const { town, ledger } = journey;
    const first = await town.start();
    const ada = new Talk(journey, first.port, "run");
    ada.client.onExec = files;

    await ada.say("a greeting", "Hello! Grüße 🙂", { answers: [says("Hel", "lo!")] });
    await ada.say("a tool call", "Read one", { answers: [reads("one.ts"), says("Read.")] });
    await ada.say("two calls at once", "Read two", { answers: [reads("a.ts", "b.ts"), says("Both read.")] });
    journey.git = " M a.ts";
    await ada.say("git status changed", "What now?", { answers: [says("Nothing.")] });
    await ada.say("a tool that fails", "Read what is not there", {
      answers: [reads("missing.ts"), says("It is gone.")],
    });
    await ada.say("two rounds", "Follow it", { answers: [reads("c.ts"), reads("d.ts"), says("Followed.")] });
    await ada.say("an answer in pieces", "Tell me", { answers: [says("ünïcödé ", '"quotes" ', "]}")] });
    const seventh = ada.place;
    await ada.say("interrupted in its answer", "Explain it all", {
      answers: [{ text: ["Half an ", "answer"], before: never }, says("Briefly then.")],
      async meanwhile(stream) {
        await stream.down.says("Half an ");
        await stream.say("Rather in one sentence", "message-8-rather");
      },
    });
    await ada.say("interrupted in a tool", "Read slowly", {
      answers: [reads("e.ts", "slow.ts"), says("Left.")],
      async meanwhile(stream) {
        await stream.down.sees("interactionUpdate.toolCallCompleted");
        await stream.say("Leave it", "message-9-leave");
      },
    });
    await ada.say("cancelled", "Count to a million", {
      answers: [{ text: ["One, two, ", "three"], before: never }],
      cancelled: true,
      async meanwhile(stream) {
        await stream.down.says("One, two, ");
        await stream.cancel();
      },
    });
    await ada.say("after the cancel", "Never mind", { answers: [says("Good.")] });
    journey.git = "";
    await ada.say("git status as at first", "And now?", { answers: [reads("f.ts"), says("All as it was.")] });
    const twelfth = ada.place;
    await ada.say("a tool call", "Make it blue", { messageId: "colour", answers: [reads("g.ts"), says("Blue.")] });
    await ada.say("going on", "Darker", { answers: [says("Dark blue.")] });

    ada.goTo(twelfth);
    const green = { messageId: "colour", answers: [reads("g.ts"), says("Green.")] };
    await ada.say("edit: back behind turn 12", "Make it green", green);
    ada.goTo(twelfth);
    await ada.say("edited again", "Make it red", { messageId: "colour", answers: [says("Red.")] });
    await ada.say("the edit goes on", "Lighter", { answers: [reads("h.ts"), says("Pink.")] });

    const fork = new Talk(journey, first.port, "sse");
    fork.client.onExec = files;
    for (const [id, data] of ada.client.blobs) fork.client.blobs.set(id, data);
    fork.goTo(seventh);
    await fork.say("fork: another chat, from turn 7", "Another way", { answers: [says("Let us see.")] });
    await fork.say("the fork goes on", "Read there", { answers: [reads("i.ts"), says("Seen.")] });
    await ada.say("the first chat goes on", "Still pink?", { answers: [says("Pink.")] });

    // killed while the vendor is asked; the client comes back with the same message
    journey.turn += 1;
    journey.answers = [{ text: ["never said"], before: never }, says("As if nothing had been.")];
    const from = journey.asked;
    const request = ada.message("Are you there?");
    const lost = ada.client.stream();
    await lost.send(request);
    await lost.down.until(() => journey.asked > from, "the request");
    await first.kill("SIGKILL");
    ada.note("killed while the vendor is asked", from);
    const second = await town.start();
    const back = new Talk(journey, second.port, "sse", ada);
    const again = await comeBack(back.client, request, lost.requestId);
    expectFinished(again.down);
    expect(again.down.text).toBe("As if nothing had been.");
    back.note("another server process goes on", from + 1, "same");
    await back.say("a tool call after it", "Read on", { answers: [reads("j.ts"), says("Read.")] });

    await back.summarize("/summarize: the call for it");
    await back.say("the first turn after it", "Where were we?", { answers: [says("At pink.")] });
    await back.say("two calls at once", "Read again", { answers: [reads("k.ts", "l.ts"), says("Read again.")] });
    journey.git = " M b.ts";
    await back.say("git status changed", "And now?", { answers: [says("One file.")] });

    await second.kill("SIGTERM");
    const third = await town.start();
    const end = new Talk(journey, third.port, "run", back);
    await end.say("after a restart", "Good morning", { answers: [reads("m.ts"), says("Good morning.")] });
    const other = new Talk(journey, third.port, "run", fork);
    await other.say("the fork, after two restarts", "And here?", { answers: [reads("n.ts"), says("Here too.")] });
    await end.say("two rounds", "Both", { answers: [reads("o.ts"), reads("p.ts", "q.ts"), says("Both.")] });
    await end.say("the last one", "Goodbye", { answers: [says("Goodbye.")] });

    expect(journey.turn).toBe(30);
    expect(ledger.entries).toHaveLength(journey.asked);
    ledger.check();
    const table = ledger.table();
    console.log(`\n${table}\n`);
    await expect(`${table}\n`).toMatchFileSnapshot("golden/thirty-turns.txt");

    // the detector that runs in production saw the same: the one break is the compaction
    expect(await breaks(end)).toEqual(["compaction"]);
    expect(await breaks(other)).toEqual([]);
  },
);

async function breaks({ client, journey }: Talk): Promise<readonly string[]> {
  const view = await journey.town.store.inspect(client.conversationId as ConversationId);
  return view?.modelCalls.flatMap(({ prefix }) => (prefix?.brokenBy === undefined ? [] : [prefix.brokenBy])) ?? ["?"];
}

/** Files that are there, one that is not, and one that takes for ever. */
function files(exec: ExecRequest): ExecAnswer | undefined {
  if (exec.message.case !== "readArgs") return undefined;
  const { path } = exec.message.value;
  if (path.endsWith("slow.ts")) return undefined;
  if (path.endsWith("missing.ts"))
    return { case: "readResult", value: { result: { case: "fileNotFound", value: { path } } } };
  return readAnswer(exec, `export const name = "${path}";\n`.repeat(20));
}
