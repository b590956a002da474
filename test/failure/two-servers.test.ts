import type { ConversationId } from "@chartroom/domain";
import { describe, expect, onTestFinished } from "vitest";
import { test } from "../support/database.ts";
import { killable } from "../support/killable.ts";
import { expectFinished, expectOneOwner, runStatuses } from "../support/wire-checks.ts";
import { comeBack, unique, WIRE_TRANSPORTS, WireClient } from "../support/wire-client.ts";

describe.each(WIRE_TRANSPORTS)("two servers on one database, over %s", { timeout: 90_000 }, (transport) => {
  test("one is frozen, the other takes over when its lease has ended; the first comes back: its writes are refused, it says nothing", async ({
    url,
  }) => {
    const hold = Promise.withResolvers<void>();
    let calls = 0;
    const town = await killable(url, () => {
      calls++;
      return calls === 1 ? { text: ["Half ", "LATE"], before: hold.promise } : { text: ["Whole."] };
    });
    onTestFinished(async () => {
      hold.resolve();
      await town.close();
    });
    const [first, second] = [await town.start(), await town.start()];
    const person = new WireClient(first.port, { transport });
    onTestFinished(() => person.close());
    const request = person.runRequest("Go", { messageId: unique("message") });
    const frozen = person.stream();
    await frozen.send(request);
    await frozen.down.says("Half ");
    const fence = async (): Promise<number> =>
      (await town.store.inspect(person.conversationId as ConversationId))?.fence ?? 0;
    const before = await fence();

    process.kill(first.pid, "SIGSTOP");
    const back = person.twin(second.port);
    onTestFinished(() => back.close());
    const now = await comeBack(back, request, frozen.requestId);
    expectFinished(now.down);
    expect(now.down.text).toContain("Whole.");
    const taken = await fence();
    expect(taken).toBeGreaterThan(before);

    // the vendor's answer to the frozen one comes, and it comes back
    const seen = frozen.down.messages.length;
    hold.resolve();
    process.kill(first.pid, "SIGCONT");
    await frozen.down.over();
    expect(frozen.down.ends).toEqual([]);
    expect(frozen.down.messages.slice(seen).map(({ message }) => message.case)).toEqual([]);
    expect(frozen.down.text).toBe("Half ");
    expect(await runStatuses(town.store, person.conversationId)).toEqual(["completed"]);
    expect(await fence()).toBe(taken);
    await expectOneOwner(town.store, person.conversationId);

    // it is no worse for it: it serves what is not the other's, and says of the other's what is so
    const other = new WireClient(first.port, { transport });
    onTestFinished(() => other.close());
    const mine = await comeBack(other, other.runRequest("Hello"), unique("request"));
    expectFinished(mine.down);
    const wrong = person.twin(first.port);
    onTestFinished(() => wrong.close());
    const told = wrong.stream();
    await told.send(wrong.runRequest("And here?"), { mayFail: true });
    await told.down.over();
    expect(told.down.end).toMatchObject({ kind: "error", code: "unavailable" });
    expect(told.down.end?.kind === "error" && told.down.end.details?.details?.isRetryable).toBe(true);
  });

  test("both live: one owner throughout; the wrong one answers that it is unavailable, to be tried again", async ({
    url,
  }) => {
    const hold = Promise.withResolvers<void>();
    const town = await killable(url, () => ({ text: ["Half ", "whole."], before: hold.promise }));
    onTestFinished(async () => {
      hold.resolve();
      await town.close();
    });
    const [right, wrong] = [await town.start(), await town.start()];
    const person = new WireClient(right.port, { transport });
    const stray = person.twin(wrong.port);
    onTestFinished(() => {
      person.close();
      stray.close();
    });
    const stream = person.stream();
    await stream.send(person.runRequest("Go"));
    await stream.down.says("Half ");
    const owner = async (): Promise<unknown> => {
      const view = await town.store.inspect(person.conversationId as ConversationId);
      return [view?.owner, view?.fence];
    };
    const before = await owner();

    // the downlink here, the appends there: and a Run request, a message and a cancel that went astray
    const astray = stray.stream({ requestId: stream.requestId });
    astray.seqno = stream.seqno;
    const replies = [
      transport === "sse"
        ? await astray.send(
            {
              message: {
                case: "conversationAction",
                value: { action: { case: "cancelAction", value: { reason: "" } } },
              },
            },
            { mayFail: true },
          )
        : undefined,
      await astray.send(stray.runRequest("Here?"), { mayFail: true, ...(transport === "sse" ? { seqno: 0 } : {}) }),
    ];
    if (transport === "sse") expect(replies.map((reply) => reply?.status)).toEqual([503, 503]);
    await astray.down.over();
    expect(astray.down.end).toMatchObject({ kind: "error", code: "unavailable" });
    expect(await owner()).toEqual(before);

    hold.resolve();
    await stream.down.over();
    expectFinished(stream.down);
    expect(stream.down.text).toBe("Half whole.");
    expect(await runStatuses(town.store, person.conversationId)).toEqual(["completed"]);
    await expectOneOwner(town.store, person.conversationId);
  });
});
