import type { MemberId } from "@chartroom/domain";
import { expect, it } from "vitest";
import { Capacity } from "./capacity.ts";

const [ada, bob] = ["ada" as MemberId, "bob" as MemberId];

it("counts per member and per process, and gives a slot back once", () => {
  const capacity = new Capacity({ perProcess: 2, perMember: 1 });
  const release = capacity.hold(ada);
  expect(capacity.lack(ada)).toBe("member");
  expect(capacity.lack(bob)).toBeUndefined();
  capacity.hold(bob);
  expect(capacity.lack("eve" as MemberId)).toBe("process");
  release();
  release();
  expect(capacity.openRuns).toBe(1);
  expect(capacity.lack(ada)).toBeUndefined();
});
