import * as fc from "fast-check";
import type { Command } from "../../lifecycle/table.ts";
import type { ClientStream, Input, World } from "./world.ts";
import { actions, type ActionInit } from "./wire.ts";

/** One thing that happens. Numbers choose among what there is; the rest of the world answers as far as it can at once. */
export type Event =
  | {
      readonly type: "message";
      readonly carrier: "A" | "B";
      readonly how: Opening;
      readonly stream: number;
      readonly attach: Attach;
    }
  | {
      readonly type: "again";
      readonly carrier: "A" | "B";
      readonly input: number;
      readonly stream: number;
      readonly original: boolean;
      readonly attach: Attach;
    }
  | { readonly type: "reuse"; readonly stream: number }
  | {
      readonly type: "inject";
      readonly carrier: "A" | "B";
      readonly kind: "user" | "system" | "none";
      readonly stream: number;
      readonly twice: boolean;
    }
  | { readonly type: "completion"; readonly carrier: "A" | "B"; readonly again: boolean; readonly stream: number }
  | {
      readonly type: "command";
      readonly carrier: "A" | "B";
      readonly what: "resume" | "cancel" | "cancelSubagent" | "summarize" | "unknownAction" | "prewarm";
      readonly stream: number;
    }
  | { readonly type: "result"; readonly which: number; readonly how: "ok" | "error" | "throw" | "close" | "heartbeat" }
  | { readonly type: "late"; readonly which: number }
  | {
      readonly type: "model";
      readonly says: "text" | "finish" | "ask" | "ask3" | "failServer" | "failAuth" | "overflow";
    }
  | { readonly type: "lose"; readonly stream: number }
  | { readonly type: "attach"; readonly stream: number }
  | { readonly type: "blobs"; readonly acknowledged: boolean }
  | { readonly type: "time"; readonly ms: number }
  | { readonly type: "store"; readonly does: "hold" | "step" | "open" | "away" }
  | { readonly type: "kill" }
  | { readonly type: "freeze" };
type Opening = "userMessage" | "bare" | "startPlan" | "executePlan" | "asyncAnswer";
type Attach = "before" | "after" | "never";

/** An event, and whether all that it leads to has happened before the next one. */
export interface Step {
  readonly event: Event;
  readonly settle: boolean;
}

const stream = fc.nat(5);
const carrier = fc.constantFrom("A" as const, "B" as const);
const attach = fc.constantFrom<Attach>("before", "before", "before", "after", "after", "never");
const opening = fc.constantFrom<Opening>(
  "userMessage",
  "userMessage",
  "userMessage",
  "bare",
  "startPlan",
  "executePlan",
  "asyncAnswer",
);
const of = <T extends Event["type"]>(
  type: T,
  fields: { [K in keyof Omit<Extract<Event, { type: T }>, "type">]: fc.Arbitrary<Extract<Event, { type: T }>[K]> },
): fc.Arbitrary<Event> => fc.record({ type: fc.constant(type), ...fields }) as unknown as fc.Arbitrary<Event>;

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 14, arbitrary: of("message", { carrier, how: opening, stream, attach }) },
  { weight: 7, arbitrary: of("again", { carrier, input: fc.nat(5), stream, original: fc.boolean(), attach }) },
  { weight: 1, arbitrary: of("reuse", { stream }) },
  {
    weight: 8,
    arbitrary: of("inject", {
      carrier: fc.constantFrom("A" as const, "B" as const, "B" as const, "B" as const),
      kind: fc.constantFrom("user" as const, "system" as const, "none" as const),
      stream,
      twice: fc.boolean(),
    }),
  },
  { weight: 6, arbitrary: of("completion", { carrier, again: fc.boolean(), stream }) },
  {
    weight: 10,
    arbitrary: of("command", {
      carrier,
      what: fc.constantFrom(
        "resume" as const,
        "resume" as const,
        "cancel" as const,
        "cancelSubagent" as const,
        "summarize" as const,
        "unknownAction" as const,
        "prewarm" as const,
      ),
      stream,
    }),
  },
  {
    weight: 16,
    arbitrary: of("result", {
      which: fc.nat(3),
      how: fc.constantFrom(
        "ok" as const,
        "ok" as const,
        "ok" as const,
        "error" as const,
        "throw" as const,
        "close" as const,
        "heartbeat" as const,
      ),
    }),
  },
  { weight: 4, arbitrary: of("late", { which: fc.nat(3) }) },
  {
    weight: 34,
    arbitrary: of("model", {
      says: fc.constantFrom(
        "text" as const,
        "text" as const,
        "finish" as const,
        "finish" as const,
        "finish" as const,
        "ask" as const,
        "ask" as const,
        "ask3" as const,
        "failServer" as const,
        "failAuth" as const,
        "overflow" as const,
      ),
    }),
  },
  { weight: 6, arbitrary: of("lose", { stream }) },
  { weight: 5, arbitrary: of("attach", { stream }) },
  { weight: 5, arbitrary: of("blobs", { acknowledged: fc.boolean() }) },
  { weight: 6, arbitrary: of("time", { ms: fc.constantFrom(500, 1_500, 11_000, 35_000, 61_000, 901_000, 3_700_000) }) },
  {
    weight: 6,
    arbitrary: of("store", {
      does: fc.constantFrom(
        "hold" as const,
        "step" as const,
        "step" as const,
        "open" as const,
        "open" as const,
        "away" as const,
      ),
    }),
  },
  { weight: 2, arbitrary: of("kill", {}) },
  { weight: 1, arbitrary: of("freeze", {}) },
);

/** A schedule of at least `least` events. */
export const schedule = (least: number): fc.Arbitrary<readonly Step[]> =>
  fc.array(
    fc
      .record({ event, settle: fc.constantFrom(true, true, true, false) })
      .map((step): Step => Object.assign(step, { [fc.toStringMethod]: () => describeStep(step) })),
    { minLength: least, maxLength: least + 12 },
  );

export function describeStep({ event: { type, ...rest }, settle }: Step): string {
  const words = Object.entries(rest).map(([name, value]) => `${name} ${String(value)}`);
  return `${[type, ...words].join(", ")}${settle ? "" : " …"}`;
}

/** Lets one thing happen. */
export async function perform(world: World, { event, settle }: Step): Promise<void> {
  await happen(world, event);
  if (settle) await world.settle();
}

async function happen(world: World, event: Event): Promise<void> {
  const { judge } = world;
  switch (event.type) {
    case "message":
      return message(world, event);
    case "again":
      return again(world, event);
    case "reuse": {
      const old = world.streams[event.stream % Math.max(1, world.streams.length)];
      const next = world.open(old?.generation.requestId);
      world.attach(next);
      return give(world, next, "A", "userMessage", (marker, id) => actions.user(marker, id));
    }
    case "inject":
      return inject(world, event);
    case "completion":
      return completion(world, event);
    case "command":
      return command(world, event);
    case "result": {
      // the uplink works without a downlink too, and after the Run's end
      const open = world.execs.filter(
        ({ state, stream: on }) => state === "open" && (event.which === 3 || world.current(on)),
      );
      const exec = open[event.which % Math.max(1, open.length)];
      if (!exec) return;
      world.hitResult("toolResult");
      return world.answer(exec, event.how);
    }
    case "late": {
      const over = world.execs.filter(({ state }) => state !== "open");
      const exec = over[event.which % Math.max(1, over.length)];
      if (!exec) return;
      world.hitResult("toolResult, late");
      return world.answer(exec, "ok");
    }
    case "model":
      return model(world, event.says);
    case "lose": {
      const on = world.streams.filter((one) => world.current(one));
      const chosen = on[event.stream % Math.max(1, on.length)];
      if (chosen) world.current(chosen)?.lose();
      return;
    }
    case "attach": {
      const chosen = world.streams[event.stream % Math.max(1, world.streams.length)];
      if (chosen) world.attach(chosen);
      return;
    }
    case "blobs":
      world.acknowledges = event.acknowledged;
      if (event.acknowledged) world.acknowledge();
      else judge.causes.add("blobs");
      return;
    case "time":
      return world.time.advance(event.ms);
    case "store": {
      const { tap } = world.node;
      if (event.does === "hold" || event.does === "away") judge.causes.add("store");
      if (event.does === "hold") tap.hold();
      else if (event.does === "step") tap.step();
      else if (event.does === "open") tap.open();
      else tap.leave();
      return;
    }
    case "kill":
      judge.causes.add("process");
      return world.kill();
    case "freeze":
      judge.causes.add("process");
      return world.freeze();
  }
}

/** The stream for a command: a new one, or one of those that there are; an ended one is used once more. */
function streamFor(
  world: World,
  carrier: "A" | "B",
  choice: number,
  attach: Attach = "before",
): ClientStream | undefined {
  if (carrier === "A") {
    const fresh = world.open(undefined, choice % 2 === 0 ? world.name("wire-") : undefined);
    if (attach === "before") world.attach(fresh);
    return fresh;
  }
  const old = world.streams[Math.max(0, world.streams.length - 1 - (choice % 3))];
  if (!old) return undefined;
  if (world.carries(old)) return old;
  return world.next(old);
}

function give(
  world: World,
  on: ClientStream,
  carrier: "A" | "B",
  name: Command,
  make: (marker: string, id: string) => ActionInit,
): void {
  const id = world.name("id-");
  const marker = `[${id}]`;
  const action = make(marker, id);
  const input: Input = { marker, carrier, command: name, messageId: id, action, stream: on, receipt: undefined };
  world.inputs.push(input);
  world.judge.causes.add("message");
  world.send(on, carrier, name, action).then(
    (receipt) => (input.receipt = receipt),
    () => undefined,
  );
}

function message(world: World, event: Extract<Event, { type: "message" }>): void {
  const on = streamFor(world, event.carrier, event.stream, event.attach);
  if (!on) return;
  const makes: Record<Opening, (marker: string, id: string) => ActionInit> = {
    userMessage: actions.user,
    bare: actions.bareUser,
    startPlan: actions.startPlan,
    executePlan: actions.executePlan,
    asyncAnswer: actions.asyncAnswer,
  };
  give(world, on, event.carrier, event.how === "bare" ? "userMessage" : event.how, makes[event.how]);
  if (event.carrier === "A") attachLate(world, on, event.attach);
}

/** A Run request whose downlink comes after it, or never. */
function attachLate(world: World, on: ClientStream, attach: Attach): void {
  if (attach === "after") world.attach(on);
  if (attach === "never") world.hangUp(on);
}

function again(world: World, event: Extract<Event, { type: "again" }>): void {
  const sent = world.inputs.filter(({ command: name, carrier }) => name === "userMessage" && carrier === "A");
  const input = sent[Math.max(0, sent.length - 1 - (event.input % 3))];
  if (!input) return;
  const on = streamFor(world, event.carrier, event.stream, event.attach);
  if (!on) return;
  const runs = [...(world.truth.conversation(world.conversationId)?.runs.values() ?? [])];
  const run = runs.findLast(({ messageId }) => messageId === input.messageId);
  const name: Command = run?.delivered
    ? "knownMessage, delivered"
    : run?.status === "failed"
      ? "knownMessage, failed undelivered"
      : "knownMessage, completed undelivered";
  world.judge.causes.add("message");
  void world
    .send(on, event.carrier, name, input.action, {
      ...(event.original ? { original: input.stream.generation.requestId } : {}),
    })
    .catch(() => undefined);
  if (event.carrier === "A") attachLate(world, on, event.attach);
}

function inject(world: World, event: Extract<Event, { type: "inject" }>): void {
  const on = streamFor(world, event.carrier, event.stream);
  if (!on) return;
  const name: Command =
    event.kind === "none"
      ? "inject, no match"
      : event.kind === "user"
        ? "inject user, matches"
        : "inject system, matches";
  const expected = event.kind === "none" ? "no such run" : (world.wireRunId(on) ?? "");
  const id = world.name("id-");
  const action = actions.inject(`[${id}]`, id, expected, event.kind === "system");
  const input: Input = {
    marker: `[${id}]`,
    carrier: event.carrier,
    command: name,
    messageId: id,
    action,
    stream: on,
    receipt: undefined,
  };
  world.inputs.push(input);
  for (let time = 0; time < (event.twice ? 2 : 1); time++)
    world.send(on, event.carrier, name, action).then(
      (receipt) => (input.receipt = receipt),
      () => undefined,
    );
}

function completion(world: World, event: Extract<Event, { type: "completion" }>): void {
  const before = world.inputs.findLast(({ command: name }) => name === "completion");
  const on = streamFor(world, event.carrier, event.stream);
  if (!on) return;
  if (!event.again || !before)
    return give(world, on, event.carrier, "completion", (marker, id) => actions.completion(marker, `task-${id}`));
  void world.send(on, event.carrier, "completion, again", before.action).catch(() => undefined);
}

function command(world: World, event: Extract<Event, { type: "command" }>): void {
  const { what } = event;
  if (what === "prewarm") return world.prewarm(world.open());
  const on = streamFor(world, event.carrier, event.stream);
  if (!on) return;
  if (what === "cancel") world.judge.causes.add("cancel");
  if (what === "summarize") world.judge.causes.add("message");
  const unfinished = world.unfinished ? "resume, unfinished" : "resume, finished";
  const made: Record<typeof what, readonly [Command, ActionInit]> = {
    resume: [unfinished, actions.resume()],
    cancel: ["cancel", actions.cancel()],
    cancelSubagent: ["cancelSubagent", actions.cancelSubagent()],
    summarize: ["summarize", actions.summarize()],
    unknownAction: ["unknownAction", actions.unknown()],
  };
  const [name, action] = made[what];
  void world.send(on, event.carrier, name, action).catch(() => undefined);
}

function model(world: World, says: Extract<Event, { type: "model" }>["says"]): void {
  const call = world.modelCall;
  if (!call) return;
  const read = (n: number) => ({ name: "Read", args: { path: `/ws/${n}.ts` } });
  switch (says) {
    case "text":
      return call.say("some words ");
    case "finish":
      world.judge.causes.add("finish");
      return call.finish("the end");
    case "ask":
    case "ask3":
      if (!call.summary) return says === "ask" ? call.ask(read(1)) : call.ask(read(1), read(2), read(3));
      world.judge.causes.add("finish");
      return call.finish("a summary");
    case "failServer":
      world.judge.causes.add("fail server");
      return call.fail("server", true);
    case "failAuth":
      world.judge.causes.add("fail auth");
      return call.fail("auth", false);
    case "overflow":
      world.judge.causes.add("overflow");
      return call.fail("overflow", false);
  }
}
