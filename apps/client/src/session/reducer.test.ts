import { describe, expect, it } from "vitest";
import {
  checkpoint,
  completed,
  heartbeat,
  incoming,
  output,
  partial,
  started,
  text,
  thinking,
  thought,
  turnEnded,
} from "../../test/messages.ts";
import type { ClientFailure } from "../transport/failure.ts";
import type { TurnEvent } from "./events.ts";
import { delayOf, step } from "./reducer.ts";
import { DEFAULT_LIMITS, initialState, type TurnEffect, type TurnInput, type TurnState } from "./state.ts";

const limits = DEFAULT_LIMITS;

/** A turn that is driven by hand, with its own time. */
class Drive {
  state: TurnState = initialState(false, 0);
  now = 0;
  effects: TurnEffect[] = [];

  take(...inputs: TurnInput[]): this {
    for (const input of inputs) {
      const next = step(this.state, input, { limits, now: this.now, random: 0.5 });
      this.state = next.state;
      this.effects.push(...next.effects);
    }
    return this;
  }

  after(ms: number): this {
    this.now += ms;
    return this.take({ type: "tick" });
  }

  /** The effects since the last look, without what is told. */
  done(): TurnEffect[] {
    return this.drain().filter(({ type }) => type !== "emit");
  }

  told(): TurnEvent[] {
    return this.drain().flatMap((effect) => (effect.type === "emit" ? [effect.event] : []));
  }

  drain(): TurnEffect[] {
    const { effects } = this;
    this.effects = [];
    return effects;
  }
}

const live = () => {
  const drive = new Drive().take({ type: "open" }, { type: "requested" }, { type: "opened" });
  drive.drain();
  return drive;
};
const lost: ClientFailure = { kind: "lost", code: "unavailable", title: "Lost", detail: "", retryable: true };
const fatal: ClientFailure = { ...lost, kind: "server", retryable: false };
const failed = (failure: ClientFailure): TurnInput => ({ type: "failed", failure });
const again: TurnInput[] = [{ type: "open" }, { type: "requested" }, { type: "opened" }];

describe("silence", () => {
  it("gives a hint at 20 s and counts as broken at 30 s", () => {
    const drive = live();
    expect(drive.after(19_999).drain()).toEqual([]);
    expect(drive.after(1).told()).toEqual([{ type: "stalled", silentMs: 20_000 }]);
    expect(drive.after(9_999).drain()).toEqual([]);
    expect(drive.after(1).done()).toEqual([{ type: "close" }, { type: "wait", ms: 1_100 }]);
  });

  it("ends with any frame, also a heartbeat", () => {
    const drive = live();
    for (let times = 0; times < 10; times++) drive.after(15_000).take(heartbeat());
    expect(drive.drain()).toEqual([]);
  });

  it("counts from the beginning of an attempt that nothing comes from", () => {
    const drive = new Drive().take({ type: "open" });
    drive.drain();
    expect(drive.after(30_000).done()).toMatchObject([{ type: "close" }, { type: "wait" }]);
  });

  it("does not count between attempts", () => {
    const drive = live().take(failed(lost));
    drive.drain();
    expect(drive.after(120_000).drain()).toEqual([]);
  });
});

describe("the delay before another try", () => {
  it("doubles up to a minute, with up to a fifth more by chance", () => {
    const delays = [0, 1, 2, 5, 6, 7, 100].map((failures) => delayOf(failures, { limits, now: 0, random: 0 }));
    expect(delays).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000, 60_000]);
    expect(delayOf(0, { limits, now: 0, random: 0.999_999 })).toBe(1_200);
  });

  it("begins anew after a checkpoint, not after mere words", () => {
    const drive = live().take(failed(lost), ...again, text("x"), failed(lost));
    expect(drive.done().at(-1)).toEqual({ type: "wait", ms: 2_200 });
    drive.take(...again, checkpoint(), failed(lost));
    expect(drive.done().at(-1)).toEqual({ type: "wait", ms: 1_100 });
  });
});

describe("what is tried again", () => {
  it("a failure that may be retried, so many times", () => {
    const drive = live();
    for (let times = 0; times < limits.retries; times++) drive.take(failed(lost), ...again);
    expect(drive.state.phase).toBe("streaming");
    expect(drive.take(failed(lost)).done().at(-1)).toMatchObject({
      type: "finish",
      result: { outcome: "failed", attempts: 11, error: lost },
    });
  });

  it("TR-22: not what the server says may not be", () => {
    expect(live().take(failed(fatal)).done()).toMatchObject([{ type: "close" }, { type: "finish" }]);
  });

  it("a server that was never reached, only a few times", () => {
    const drive = new Drive().take({ type: "open" });
    for (let times = 0; times < limits.connectRetries; times++) drive.take(failed(lost), { type: "open" });
    expect(drive.take(failed(lost)).state.phase).toBe("done");
  });

  it("from the last checkpoint of this turn, where there is one", () => {
    const drive = live().take(failed(lost), { type: "open" });
    expect(drive.done().at(-1)).toEqual({ type: "open", from: "message" });
    drive.take(checkpoint(), failed(lost), { type: "open" });
    expect(drive.done().at(-1)).toEqual({ type: "open", from: "resume" });
  });

  it("a checkpoint after the end of the turn is kept but is nothing to resume from", () => {
    const drive = live().take(turnEnded(), checkpoint());
    expect(drive.done()).toMatchObject([{ type: "checkpoint", resumable: false }]);
    expect(drive.state.resumable).toBe(false);
    expect(live().take(checkpoint()).done()).toMatchObject([{ type: "checkpoint", resumable: true }]);
  });

  it("one failure is one retry, however often it is told", () => {
    expect(live().take(failed(lost), failed(lost), { type: "ended" }).done()).toHaveLength(2);
  });
});

describe("the end", () => {
  it("is the end of the turn and then of the stream", () => {
    const drive = live().take(text("Hi"), turnEnded());
    expect(drive.done()).toEqual([]);
    expect(drive.take({ type: "ended" }).done()).toMatchObject([
      { type: "close" },
      { type: "finish", result: { outcome: "completed", text: "Hi" } },
    ]);
    expect(drive.take(text("late"), { type: "cancel", reason: "" }, failed(lost)).drain()).toEqual([]);
  });

  it("the end of the stream may get lost, or take too long although heartbeats come", () => {
    expect(live().take(turnEnded(), failed(fatal)).state.phase).toBe("done");
    const drive = live().take(turnEnded());
    drive.after(9_000).take(heartbeat()).drain();
    expect(drive.after(1_000).done()).toMatchObject([
      { type: "close" },
      { type: "finish", result: { outcome: "completed" } },
    ]);
  });

  it("a stream that ends before the turn is a broken one", () => {
    expect(live().take({ type: "ended" }).told()).toMatchObject([{ type: "retry", from: "message" }]);
  });

  it("a follow-up on the same stream takes it back", () => {
    const drive = live().take(text("One."), turnEnded(), text(" Two."));
    expect(drive.state.phase).toBe("streaming");
    expect(drive.take(turnEnded(), { type: "ended" }).done().at(-1)).toMatchObject({ result: { text: "One. Two." } });
    const request = incoming({ case: "execServerMessage", value: { id: 1 } });
    expect(live().take(turnEnded(), request).state.phase).toBe("streaming");
  });
});

describe("LC-01: a cancel", () => {
  const cancel: TurnInput = { type: "cancel", reason: "r" };

  it("while the stream lives is told to the server, once", () => {
    const drive = live().take(cancel, cancel);
    expect(drive.drain()).toEqual([
      { type: "emit", event: { type: "cancelling" } },
      { type: "cancel", reason: "r" },
    ]);
    const canceled: ClientFailure = { ...fatal, code: "canceled" };
    expect(drive.take(failed(canceled)).done().at(-1)).toMatchObject({ result: { outcome: "cancelled" } });
  });

  it("before there is a stream, and between two, ends the turn at once", () => {
    expect(new Drive().take({ type: "open" }, cancel).state.phase).toBe("done");
    expect(live().take(failed(lost), cancel).state.phase).toBe("done");
  });

  it("is not retried when the connection breaks, and does not wait for ever", () => {
    expect(live().take(cancel, failed(lost)).done().at(-1)).toMatchObject({ result: { outcome: "cancelled" } });
    const drive = live().take(cancel).after(9_999).take(heartbeat());
    expect(drive.state.phase).toBe("streaming");
    expect(drive.after(1).state.phase).toBe("done");
  });

  it("after the end of the turn changes nothing", () => {
    expect(live().take(turnEnded(), cancel, { type: "ended" }).done().at(-1)).toMatchObject({
      result: { outcome: "completed" },
    });
  });

  it("of the server's own is told as such", () => {
    expect(
      live()
        .take(failed({ ...fatal, code: "canceled", title: "stopped" }))
        .done()
        .at(-1),
    ).toMatchObject({
      result: { outcome: "cancelled", error: { title: "stopped" } },
    });
  });

  it("leaving ends it without a word", () => {
    expect(live().take({ type: "leave" }).done()).toMatchObject([
      { type: "close" },
      { type: "finish", result: { outcome: "cancelled" } },
    ]);
  });
});

describe("a message while the turn runs", () => {
  const message = { messageId: "m", text: "t" };
  const say: TurnInput = { type: "say", message };
  const appended = { case: "userMessageAppended", value: { userMessage: message } };

  it("goes out at once, or when a stream is there, and again on a new stream until it is taken", () => {
    expect(live().take(say).done()).toEqual([{ type: "say", message }]);
    const drive = new Drive().take({ type: "open" }, say);
    expect(drive.done()).toEqual([{ type: "open", from: "message" }]);
    expect(drive.take({ type: "requested" }).done()).toEqual([{ type: "say", message }]);
    drive.take(failed(lost), ...again);
    expect(drive.done()).toContainEqual({ type: "say", message });
    drive.take(incoming({ case: "interactionUpdate", value: { message: appended } as never }), failed(lost), ...again);
    expect(drive.done()).not.toContainEqual({ type: "say", message });
  });
});

describe("a replay after a reconnect shows nothing twice", () => {
  const told = (drive: Drive) =>
    drive.told().flatMap((event): string[] => {
      if (event.type === "text" || event.type === "thinking") return [`${event.type}:${event.text}`];
      if (event.type === "tool.output") return [`output:${event.text}`];
      if (event.type === "tool.started" || event.type === "tool.completed" || event.type === "tool.partial") {
        return [`${event.type}:${event.callId}`];
      }
      return event.type === "restarted" || event.type === "thinking.completed" ? [event.type] : [];
    });

  it("text in other pieces, and what is new behind it", () => {
    const drive = live().take(text("Hello "), text("wor"), failed(lost), ...again);
    drive.drain();
    expect(told(drive.take(text("He"), text("llo w"), text("orld"), text("!")))).toEqual(["text:ld", "text:!"]);
    expect(drive.state.text).toBe("Hello world!");
  });

  it("thoughts and tool cards with their output", () => {
    const first = [thinking("Hm"), thought(), partial("c"), started("c"), output("c", "one\n")];
    const drive = live().take(...first, failed(lost), ...again);
    drive.drain();
    expect(told(drive.take(...first))).toEqual([]);
    expect(told(drive.take(output("c", "two\n"), completed("c"), started("d"), thinking("And"), thought()))).toEqual([
      "output:two\n",
      "tool.completed:c",
      "tool.started:d",
      "thinking:And",
      "thinking.completed",
    ]);
  });

  it("only what followed the checkpoint counts", () => {
    const drive = live().take(text("a"), completed("c"), checkpoint(), text("b"), failed(lost), ...again);
    drive.drain();
    expect(told(drive.take(text("b"), text("a")))).toEqual(["text:a"]);
    expect(drive.state.text).toBe("aba");
  });

  it("LC-05: another answer than before is told as such, and the former one is void", () => {
    const drive = live().take(text("kept "), checkpoint(), text("old answer"), failed(lost), ...again);
    drive.drain();
    expect(told(drive.take(text("new "), text("answer")))).toEqual(["restarted", "text:new ", "text:answer"]);
    expect(drive.state.text).toBe("kept new answer");
  });

  it("a second drop in the middle of a replay", () => {
    const drive = live().take(text("abcdef"), failed(lost), ...again, text("abc"), failed(lost), ...again);
    drive.drain();
    expect(told(drive.take(text("abcdefg")))).toEqual(["text:g"]);
  });

  it("tokens", () => {
    const tokens = (count: number) =>
      incoming({
        case: "interactionUpdate",
        value: { message: { case: "tokenDelta", value: { tokens: count } } } as never,
      });
    const drive = live().take(tokens(5), checkpoint(), tokens(3), failed(lost), failed(lost), ...again);
    drive.take(failed(lost), ...again, tokens(2), tokens(2), tokens(1));
    expect(drive.state.tokens).toBe(10);
  });

  it("cards are known by their id, also from before the checkpoint, and an open one is opened once", () => {
    const first = [started("c"), completed("c"), started("d"), checkpoint()];
    const drive = live().take(...first, failed(lost), ...again);
    drive.drain();
    expect(told(drive.take(started("c"), completed("c"), started("d"), started("d"), completed("d")))).toEqual([
      "tool.completed:d",
    ]);
  });

  it("a checkpoint with pending calls does not cover the step that asked for them", () => {
    const first = [text("One. "), started("a"), completed("a"), text("Two. "), started("b"), checkpoint(["b"])];
    const drive = live().take(...first, output("b", "x"), failed(lost), ...again);
    drive.drain();
    expect(told(drive.take(text("Two. "), started("b"), output("b", "xy"), completed("b"), text("Three.")))).toEqual([
      "output:y",
      "tool.completed:b",
      "text:Three.",
    ]);
    expect(drive.state.text).toBe("One. Two. Three.");
  });

  it("or, where the server says only what followed the checkpoint, that", () => {
    const drive = live().take(text("Two. "), checkpoint(["b"]), text("More "), failed(lost), ...again);
    drive.drain();
    expect(told(drive.take(text("M"), text("ore and"), text(" more.")))).toEqual(["text:and", "text: more."]);
    expect(drive.state.text).toBe("Two. More and more.");
  });

  it("whichever it is becomes clear late, and nothing is lost meanwhile", () => {
    const first = [text("ab"), checkpoint(["b"]), text("aX")];
    const wholly = live().take(...first, failed(lost), ...again);
    wholly.drain();
    expect(told(wholly.take(text("a"), text("b"), text("aXY")))).toEqual(["text:Y"]);
    const after = live().take(...first, failed(lost), ...again);
    after.drain();
    expect(told(after.take(text("a"), text("X"), text("Y")))).toEqual(["text:Y"]);
    const other = live().take(...first, failed(lost), ...again);
    other.drain();
    expect(told(other.take(text("a"), text("Z")))).toEqual(["restarted", "text:aZ"]);
    expect(other.state.text).toBe("aZ");
  });

  it("where the server goes on without a replay, nothing is void", () => {
    const drive = live().take(text("Two. "), started("b"), checkpoint(["b"]), failed(lost), ...again);
    drive.drain();
    expect(told(drive.take(completed("b"), text("Three.")))).toEqual(["tool.completed:b", "text:Three."]);
    expect(drive.state.text).toBe("Two. Three.");
  });

  it("a card that comes again without a reconnect is another card", () => {
    expect(told(live().take(started("c"), completed("c"), started("c")))).toHaveLength(3);
  });
});
