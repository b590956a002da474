import { type ActorRefFrom, createActor, type InspectionEvent, setup, SimulatedClock, spawnChild } from "xstate";
import type { CursorRunContext, CursorRunEvent, CursorRunInput, RunChildReport } from "@chartroom/domain";
import { cursorRunMachine } from "../cursor-run.machine.ts";

export const runBounds = {
  openingLimit: 60_000,
  parkMs: 900_000,
  claimLimit: 30_000,
  streamIdleLimit: 300_000,
  heartbeatMs: 5_000,
} as const;

export interface RunChartOptions {
  readonly direction?: CursorRunInput["direction"];
  readonly restored?: boolean;
  readonly parkDeadline?: number;
  /** Delay of each beat in turn; the last one again and again. */
  readonly beats?: readonly number[];
}

/** The Run's chart alone on a simulated clock: a served one under a parent that remembers its reports, a consumed one as a root. */
export function openRun({
  direction = "served",
  restored = false,
  parkDeadline = runBounds.parkMs,
  beats = [runBounds.heartbeatMs],
}: RunChartOptions = {}) {
  const clock = new SimulatedClock();
  const reports: RunChildReport[] = [];
  const heartbeats: number[] = [];
  const unhandled: string[] = [];
  const reentered: string[] = [];
  const errors: unknown[] = [];
  let beat = 0;
  const machine = cursorRunMachine.provide({
    delays: {
      openingLimit: runBounds.openingLimit,
      heartbeatDelay: () => beats[Math.min(beat++, beats.length - 1)] ?? 0,
      parkDelay: ({ context }) => (context.parkDeadline > 0 ? context.parkDeadline - clock.now() : runBounds.parkMs),
      claimLimit: runBounds.claimLimit,
      streamIdleLimit: runBounds.streamIdleLimit,
    },
  });
  const input: CursorRunInput = { runId: "r1", direction, parkDeadline, restored };
  let actor: ActorRefFrom<typeof cursorRunMachine>;
  const inspect = (event: InspectionEvent): void => {
    if (event.type !== "@xstate.microstep" || event.actorRef !== actor) return;
    if (event._transitions.length === 0) unhandled.push(event.event.type);
    else if (event._transitions.some(({ reenter }) => reenter)) reentered.push(event.event.type);
  };
  if (direction === "consumed") {
    const root = createActor(machine, { clock, input, inspect });
    actor = root;
    root.subscribe({ error: (error) => errors.push(error) });
    root.on("heartbeat", () => heartbeats.push(clock.now()));
    root.start();
  } else {
    const parent = createActor(
      setup({ types: { events: {} as RunChildReport }, actors: { run: machine } }).createMachine({
        entry: spawnChild("run", { id: "run", input }),
        on: { "*": { actions: ({ event }) => reports.push(event) } },
      }),
      { clock, inspect },
    );
    parent.subscribe({ error: (error) => errors.push(error) });
    parent.start();
    actor = parent.getSnapshot().children["run"] as typeof actor;
    actor.on("heartbeat", () => heartbeats.push(clock.now()));
  }
  return {
    actor,
    clock,
    /** What the conversation was told, without XState's own notice of the end. */
    get reports(): readonly RunChildReport[] {
      return reports.filter(({ type }) => !type.startsWith("xstate."));
    },
    /** Epoch ms of each heartbeat. */
    heartbeats,
    unhandled,
    reentered,
    errors,
    get context(): CursorRunContext {
      return actor.getSnapshot().context;
    },
    get state(): string {
      const { value } = actor.getSnapshot();
      return typeof value === "string" ? value : (Object.keys(value)[0] ?? "");
    },
    /** Lets time pass in small steps, so that a timer which arms itself anew does so in its own moment. */
    pass(ms: number): void {
      const end = clock.now() + ms;
      while (clock.now() < end) clock.increment(Math.min(500, end - clock.now()));
    },
    send: (...events: readonly CursorRunEvent[]) => events.forEach((event) => actor.send(event)),
    /** The transport goes now. */
    lose(): void {
      actor.send({ type: "transport.lost", atMs: clock.now(), parkDeadline: clock.now() + runBounds.parkMs });
    },
    /** Every call of the step is out, now. */
    boundary(): void {
      actor.send({ type: "tool.boundary", atMs: clock.now(), parkDeadline: clock.now() + runBounds.parkMs });
    },
  };
}
export type OpenRun = ReturnType<typeof openRun>;

export const runStates = {
  opn: "opening",
  act: "active",
  prk: "parked",
  clm: "claimed",
  cls: "closed",
} as const;
export type RunState = keyof typeof runStates;

/** A Run's chart in a state. */
export function runIn(state: RunState, direction: "served" | "consumed" = "served"): OpenRun {
  const run = openRun({ direction });
  const to: Record<RunState, () => void> = {
    opn: () => undefined,
    act: () => run.send({ type: "transport.attached" }),
    prk: () => {
      to.act();
      if (direction === "served") run.lose();
      else run.boundary();
    },
    clm: () => {
      to.prk();
      run.send({ type: "claim" });
    },
    cls: () => run.send({ type: "close", reason: "dispose" }),
  };
  to[state]();
  return run;
}
