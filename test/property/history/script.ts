import fc from "fast-check";

/*
 * What can happen to a conversation, as data: fast-check makes and shrinks it, `play` carries it out. All texts come from
 * small pools, so that equal content at different places is common.
 */

export interface CallScript {
  readonly tool: string;
  readonly args: string;
  readonly text: string;
  readonly error: boolean;
  readonly image: boolean;
}

export interface StepScript {
  readonly thinking: string | undefined;
  readonly vendor: string;
  readonly text: string;
  readonly calls: readonly CallScript[];
  /** Order in which results are committed: sorted by these keys. */
  readonly order: readonly number[];
  /** Calls from this place on are closed as interrupted. */
  readonly interruptedFrom: number;
  readonly border: readonly BorderScript[];
}

export type BorderScript =
  | { readonly kind: "injection"; readonly id: number; readonly from: "user" | "system"; readonly text: string }
  | { readonly kind: "completion"; readonly id: number; readonly text: string }
  | { readonly kind: "message"; readonly text: string };

export interface ContextScript {
  readonly git: string;
  readonly rules: string | undefined;
  readonly mcp: string | undefined;
}

export interface TurnScript {
  readonly text: string;
  readonly attach: boolean;
  readonly context: ContextScript | undefined;
  readonly day: number;
  readonly queued: readonly string[];
  readonly steps: readonly StepScript[];
  /** The last answer; an empty one can be all thinking or nothing at all. */
  readonly answer: string;
  readonly answerThinking: string | undefined;
  /** The answer is cut off, and the turn is resumed. */
  readonly cutOff: boolean;
  /** Times that the client sends the turn's request again before its first model call. */
  readonly retries: number;
  /** The final checkpoint never reaches the client. */
  readonly lost: boolean;
}

export type Event =
  | { readonly kind: "turn"; readonly turn: TurnScript }
  /** Back to the `back`th last final checkpoint, then a new message. */
  | { readonly kind: "rewind"; readonly back: number; readonly turn: TurnScript }
  /** The same, with the message id that was said there and other words. */
  | { readonly kind: "edit"; readonly back: number; readonly turn: TurnScript }
  /** Back, and the very same message once more. */
  | { readonly kind: "repeat"; readonly back: number; readonly turn: TurnScript }
  | { readonly kind: "compact"; readonly window: number; readonly text: string }
  | { readonly kind: "restart" }
  /** The server's database is lost: a new one goes on from the client's checkpoint. */
  | { readonly kind: "emptyServer" }
  | { readonly kind: "completionTurn"; readonly id: number; readonly text: string };

const words = fc.constantFrom(
  "fix the bug",
  "why?",
  "go on",
  "ünïcödé ✓ 漢字",
  "a\nb\n",
  "   x",
  'say "hi"',
  "<date>",
  "9007199254740993",
);
const answers = fc.constantFrom("Done.", "I look.", "", "It is `x`.", "…", "one\n\ntwo");
const args = fc.constantFrom(
  '{"path":"a.ts"}',
  '{"path": "a.ts", "limit": 10}',
  '{"b":1,"a":1.0,"z":{"y":[1,2.50]}}',
  '{"n":1e3,"10":"x","9":"y"}',
  "{}",
  "",
  "{not json",
  '["list"]',
);
const results = fc.oneof(
  { weight: 40, arbitrary: fc.constantFrom("ok", "", "line 1\nline 2\n", "漢字 and more", '{"b":1,"a":2}') },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 65_000, max: 70_000 })
      .map((length) => "0123456789abcde\n".repeat(length / 16 + 1).slice(0, length)),
  },
);

const callScript: fc.Arbitrary<CallScript> = fc.record({
  tool: fc.constantFrom("Read", "Shell", "tracker-search"),
  args,
  text: results,
  error: fc.boolean(),
  image: fc.boolean(),
});

const border: fc.Arbitrary<BorderScript> = fc.oneof(
  fc.record({
    kind: fc.constant("injection" as const),
    id: fc.nat(5),
    from: fc.constantFrom("user" as const, "system" as const),
    text: words,
  }),
  fc.record({ kind: fc.constant("completion" as const), id: fc.nat(5), text: words }),
  fc.record({ kind: fc.constant("message" as const), text: words }),
);

const stepScript: fc.Arbitrary<StepScript> = fc.record({
  thinking: fc.option(fc.constantFrom("hm", "", "let me see"), { nil: undefined }),
  vendor: fc.constantFrom("here", "elsewhere"),
  text: answers,
  calls: fc.array(callScript, { minLength: 1, maxLength: 3 }),
  order: fc.array(fc.nat(9), { minLength: 3, maxLength: 3 }),
  interruptedFrom: fc.oneof(fc.constant(9), fc.nat(3)),
  border: fc.array(border, { maxLength: 2 }),
});

const contextScript: fc.Arbitrary<ContextScript> = fc.record({
  git: fc.constantFrom("clean", "M a.ts", "M a.ts\nM b.ts"),
  rules: fc.option(fc.constantFrom("be brief", "use tabs"), { nil: undefined }),
  mcp: fc.option(fc.constantFrom("tracker", "tracker and wiki"), { nil: undefined }),
});

const turnScript: fc.Arbitrary<TurnScript> = fc.record({
  text: words,
  attach: fc.boolean(),
  context: fc.option(contextScript, { nil: undefined }),
  day: fc.integer({ min: 1, max: 3 }),
  queued: fc.array(words, { maxLength: 1 }),
  steps: fc.array(stepScript, { maxLength: 2 }),
  answer: answers,
  answerThinking: fc.option(fc.constantFrom("hm", ""), { nil: undefined }),
  cutOff: fc.boolean(),
  retries: fc.constantFrom(0, 0, 0, 1, 5),
  lost: fc.constantFrom(false, false, false, true),
});

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("turn" as const), turn: turnScript }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("rewind" as const), back: fc.nat(4), turn: turnScript }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("edit" as const), back: fc.nat(4), turn: turnScript }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("repeat" as const), back: fc.nat(4), turn: turnScript }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("compact" as const),
      window: fc.constantFrom(200, 2_000, 200_000),
      text: words,
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "restart" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "emptyServer" as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("completionTurn" as const), id: fc.nat(9), text: words }) },
);

/** A conversation's whole life. */
export const life: fc.Arbitrary<readonly Event[]> = fc.array(event, { minLength: 1, maxLength: 7 });
