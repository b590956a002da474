import { expect, it } from "vitest";
import { localTime } from "./local-time.ts";

const at = Date.UTC(2026, 10, 30, 23, 59);

it("tells the time at the user's place, and in UTC where the zone is unknown or missing", () => {
  expect(localTime(at, "UTC")).toBe("2026-11-30 23:59");
  expect(localTime(at, "Asia/Tokyo")).toBe("2026-12-01 08:59");
  expect(localTime(at, "Middle/Earth")).toBe("2026-11-30 23:59");
  expect(localTime(at, undefined)).toBe("2026-11-30 23:59");
});
