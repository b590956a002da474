import type { Coverage } from "./coverage.ts";
import { perform, type Step } from "./schedule.ts";
import { SimWorld } from "./sim-world.ts";
import { actions } from "./wire.ts";
import type { World } from "./world.ts";

/** Carries a schedule out in the simulation. Rejects with what it breaks. */
export function runSchedule(steps: readonly Step[], coverage: Coverage): Promise<void> {
  return runIn(new SimWorld(coverage), steps, coverage);
}

/** Carries a schedule out, looks at the invariants after each event, and at its end that all comes to rest and goes on. */
export async function runIn(world: World, steps: readonly Step[], coverage: Coverage): Promise<void> {
  coverage.schedules++;
  try {
    for (const step of steps) {
      coverage.events++;
      await perform(world, step);
      world.judge.check();
    }
    await comeToRest(world);
    await goOn(world);
    world.judge.finale();
    await world.finale();
    world.judge.check();
  } finally {
    await world.close();
  }
}

/** The store is there, the client answers, the model speaks, time passes: nothing may be stuck. */
async function comeToRest(world: World): Promise<void> {
  world.node.tap.open();
  world.acknowledges = true;
  world.judge.causes.add("finish");
  world.node.models.auto((call) => call.finish(call.summary ? "a summary" : "the end"));
  for (let minutes = 0; minutes < 240; minutes++) {
    for (let busy = true; busy;) {
      busy = world.acknowledge();
      for (const exec of world.execs)
        if (exec.state === "open" && world.current(exec.stream)) {
          world.answer(exec, "ok");
          busy = true;
        }
      await world.settle();
    }
    world.judge.check();
    if (world.resting) return;
    await world.time.advance(60_000);
  }
  world.judge.accuse(`9: not at rest after four hours, in ${world.where}`);
  world.judge.check();
}

/** The conversation takes one more message and answers it. */
async function goOn(world: World): Promise<void> {
  const stream = world.open();
  world.attach(stream);
  void world.send(stream, "A", "userMessage", actions.user("[last]", "m-last"));
  for (let seconds = 0; seconds < 120; seconds++) {
    await world.settle();
    for (const exec of world.execs) if (exec.state === "open" && world.current(exec.stream)) world.answer(exec, "ok");
    await world.settle();
    if (stream.downlinks.at(-1)?.terminal) break;
    await world.time.advance(1_000);
  }
  const terminal = stream.downlinks.at(-1)?.terminal;
  if (terminal?.kind !== "completed")
    world.judge.accuse(`8: the next message was not answered: ${JSON.stringify(terminal ?? null)}, in ${world.where}`);
  for (let minutes = 0; minutes < 30 && !world.resting; minutes++) await world.time.advance(60_000);
  world.judge.check();
}
