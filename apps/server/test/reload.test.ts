import { defaultSettings, settingsProblems, type ConversationSettings } from "@chartroom/conversation";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Config } from "../src/config/load.ts";
import { ConfigError } from "../src/config/problem.ts";
import { reload } from "../src/reload.ts";

function fixture() {
  const told: string[] = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => told.push(String(text)) > 0);
  const taken: ConversationSettings[] = [];
  const conversations = {
    applySettings(settings: ConversationSettings) {
      const problems = settingsProblems(settings);
      if (problems.length === 0) taken.push(settings);
      return problems;
    },
  };
  const run = (read: () => Config): void => reload({ conversations: conversations as never }, read);
  return { told, taken, run };
}

afterEach(() => void vi.restoreAllMocks());

describe("a reload", () => {
  it("takes the limits of the configuration over", () => {
    const { told, taken, run } = fixture();
    const settings = { ...defaultSettings, maxOpenRuns: 7, maxOpenRunsPerMember: 7 };
    run(() => ({ settings }) as Config);
    expect(taken).toEqual([settings]);
    expect(told.join("")).toContain("hold now");
  });

  it("changes nothing when the configuration is wrong, and says what is", () => {
    const { told, taken, run } = fixture();
    run(() => {
      throw new ConfigError("chartroom.yaml", [{ path: "limits.maxOpenRuns", reason: "a whole number" }]);
    });
    run(() => ({ settings: { ...defaultSettings, heartbeatJitterRatio: 2 } }) as Config);
    expect(taken).toEqual([]);
    expect(told.join("")).toContain("limits.maxOpenRuns: a whole number");
    expect(told.join("")).toContain("heartbeatJitterRatio");
    expect(told.join("").match(/stay as they were/gu)).toHaveLength(2);
  });
});
