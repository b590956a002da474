import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take minutes. Begun last, each of them would keep one core busy and leave the others idle. */
const LONG = [
  "test/property/lifecycle.test.ts",
  "test/property/history/history.test.ts",
  "test/failure/outage.test.ts",
];

/** The longest files begin first; a fresh clone does not know how long each takes. */
export default class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONG.findIndex((name) => moduleId.endsWith(name));
      return at < 0 ? LONG.length : at;
    };
    // oxlint-disable-next-line unicorn/no-array-sort -- the sequencer's, not an array's
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
