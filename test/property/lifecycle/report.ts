import { Coverage } from "./coverage.ts";
import { minimise } from "./minimise.ts";
import { runSchedule } from "./run-schedule.ts";
import { describeStep, type Step } from "./schedule.ts";

/** Carries a schedule out; rejects with what it breaks. */
export type Runner = (steps: readonly Step[], coverage: Coverage) => Promise<void>;

/** What a schedule breaks; `undefined`: nothing. */
export function faultOf(steps: readonly Step[], run: Runner = runSchedule): Promise<string | undefined> {
  return run(steps, new Coverage()).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

/** The same for all faults that differ only in what they name. */
export const kindOf = (fault: string): string => (fault.split("\n")[0] ?? "").replaceAll(/[0-9][0-9a-f-]*/gu, "#");

/** The fault, and the shortest list of events that still shows one of its kind. */
export async function report(steps: readonly Step[], fault: string, run: Runner = runSchedule): Promise<string> {
  const same = async (list: readonly Step[]): Promise<boolean> => {
    const found = await faultOf(list, run);
    return found !== undefined && kindOf(found) === kindOf(fault);
  };
  const short = await minimise(steps, same);
  const events = short.map((step, at) => `  ${String(at + 1).padStart(2)} ${describeStep(step)}`);
  return [
    (await faultOf(short, run)) ?? fault,
    ...events,
    "  (… the next event comes before all that this one leads to)",
  ].join("\n");
}
