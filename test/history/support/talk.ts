import { agent } from "@chartroom/protocol";
import { expect, onTestFinished } from "vitest";
import { killable, type Killable } from "../../support/killable.ts";
import type { StubAnswer } from "../../support/openai-stub.ts";
import { expectFinished } from "../../support/wire-checks.ts";
import { type ClientInit, WireClient, type WireClientOptions, type WireStream } from "../../support/wire-client.ts";
import { workspace } from "./chat.ts";
import { type Entry, Ledger } from "./ledger.ts";

/** Server processes with a vendor whose answers a test writes turn by turn, and the ledger of what the vendor was asked. */
export class Journey {
  readonly town: Killable;
  readonly ledger = new Ledger();
  /** Answers to the calls of the turn; one that asks for no tools is a summary. */
  answers: StubAnswer[] = [];
  /** Number of the turn that runs. */
  turn = 0;
  /** Git status of the workspace. */
  git = "";

  private constructor(town: Killable) {
    this.town = town;
  }

  /** `window`: that of the vendor's model, in tokens. */
  static async begin(url: string, window: number): Promise<Journey> {
    const answer = (body: string): StubAnswer => {
      if (!body.includes('"tools":[')) return { text: ["Many files were read, and nothing was changed."] };
      const next = journey.answers.shift();
      if (next === undefined) throw new Error("a request that nobody expected");
      return next;
    };
    const journey = new Journey(await killable(url, answer, {}, { contextWindow: window }));
    onTestFinished(() => journey.town.close());
    return journey;
  }

  /** How many requests the vendor has had. */
  get asked(): number {
    return this.town.vendor.requests.length;
  }
}

/** What a person holds of a branch: its state, and the request that was sent for it last. */
export interface Place {
  readonly state: Uint8Array;
  readonly last: number | undefined;
}

export interface Said {
  readonly answers: readonly StubAnswer[];
  readonly messageId?: string;
  /** While the turn runs. */
  readonly meanwhile?: (stream: WireStream) => Promise<void>;
  /** The turn ends cancelled, not completed. */
  readonly cancelled?: boolean;
}

/** A person who speaks in one conversation, and the request that came last on the branch where they stand. */
export class Talk {
  readonly client: WireClient;
  readonly journey: Journey;
  last: number | undefined;
  /** Why the next request keeps no more than tools and system text of the last one. */
  reset: string | undefined;

  /** `from`: the same person before, with all that they hold. */
  constructor(journey: Journey, port: number, transport: WireClientOptions["transport"], from?: Talk) {
    this.journey = journey;
    this.client = from?.client.twin(port, { transport }) ?? new WireClient(port, { transport });
    if (from) {
      this.client.onExec = from.client.onExec;
      this.last = from.last;
      this.reset = from.reset;
    }
    onTestFinished(() => this.client.close());
  }

  get place(): Place {
    return { state: this.client.state, last: this.last };
  }

  goTo({ state, last }: Place): void {
    this.client.state = state;
    this.last = last;
  }

  message(text: string, messageId = `message-${this.journey.turn}`): ClientInit {
    const { git } = this.journey;
    const made = workspace({
      ...{ rules: ["Use tabs."], skills: ["deploy"], mcp: ["tracker"] },
      ...(git === "" ? {} : { git }),
    });
    return this.client.action({
      case: "userMessageAction",
      value: {
        userMessage: { text, messageId, mode: agent.AgentMode.AGENT },
        requestContext: { ...made, env: { ...made.env, timeZone: ZONE } },
      },
    });
  }

  /** A whole turn, to its end. */
  async say(what: string, text: string, said: Said): Promise<void> {
    const { journey } = this;
    journey.turn += 1;
    journey.answers = [...said.answers];
    const from = journey.asked;
    const stream = this.client.stream();
    await stream.send(this.message(text, said.messageId));
    await said.meanwhile?.(stream);
    await stream.down.over();
    if (said.cancelled === true) expect(stream.down.end).toMatchObject({ kind: "error", code: "canceled" });
    else expectFinished(stream.down);
    expect(journey.answers, `${what}: answers that nobody asked for`).toEqual([]);
    this.note(what, from);
  }

  /** Asks for a summary, and notes the call that writes it: one of its own, on no branch. */
  async summarize(what: string): Promise<void> {
    const { journey } = this;
    journey.turn += 1;
    const from = journey.asked;
    const stream = this.client.stream();
    await stream.send(this.client.action({ case: "summarizeAction", value: {} }));
    await stream.down.over();
    expectFinished(stream.down);
    expect(journey.asked).toBe(from + 1);
    const { body } = journey.town.vendor.requests[from]!;
    journey.ledger.note({ turn: journey.turn, what, body, relation: "first" });
    this.reset = "compaction";
  }

  /** Notes what the vendor was asked from its `from`th request on: one behind the other on this branch. */
  note(what: string, from: number, relation?: Entry["relation"]): void {
    const { turn, ledger, town } = this.journey;
    for (const [at, { body }] of town.vendor.requests.slice(from).entries()) {
      const own = this.last === undefined ? "first" : this.reset === undefined ? "grows" : { reset: this.reset };
      const after = this.last === undefined ? {} : { after: this.last };
      const name = at === 0 ? what : "  and on";
      this.last = ledger.note({ turn, what: name, body, ...after, relation: relation ?? own });
      this.reset = undefined;
    }
  }
}

/** A zone where it is about noon, so that no test run meets another date. All such names are equally long. */
const ZONE = ((hours: number) => `${hours < 0 ? "-" : "+"}${String(Math.abs(hours)).padStart(2, "0")}:00`)(
  12 - new Date().getUTCHours(),
);
