import { describe, expect, it } from "vitest";
import { activeStates, drawAscii, drawChart, type ChartLayout, type LaidState } from "./index.ts";

const state = (id: string, parent: string | null, path: string, more: Partial<LaidState> = {}): LaidState => ({
  id,
  key: path.slice(path.lastIndexOf(".") + 1) || id,
  path,
  parent,
  kind: "atomic",
  box: { x: 10, y: 20, width: 200, height: 40 },
  description: `what ${id} is`,
  lines: [{ kind: "title", text: id }],
  ...more,
});

const layout: ChartLayout = {
  id: "light",
  description: "on & off",
  width: 400,
  height: 300,
  fontSize: 12,
  lineHeight: 16,
  states: [
    state("light", null, "", { kind: "compound" }),
    state("off", "light", "off"),
    state("lit", "light", "on", { kind: "parallel" }),
    state("bulb", "lit", "on.bulb", { kind: "compound" }),
    state("dim", "bulb", "on.bulb.dim"),
    state("bright", "bulb", "on.bulb.bright"),
    state("fan", "lit", "on.fan"),
    state("broken", "light", "broken", { kind: "final", lines: [{ kind: "way", text: '<a & "b">' }] }),
  ],
  edges: [
    {
      source: null,
      target: "off",
      from: [],
      points: [
        { x: 0, y: 0 },
        { x: 9, y: 0 },
      ],
      label: [],
      labelBox: null,
    },
    {
      source: "off",
      target: "lit",
      from: ["off"],
      points: [
        { x: 0, y: 0 },
        { x: 50, y: 0 },
        { x: 50, y: 80 },
      ],
      label: ["press [hasPower]"],
      labelBox: { x: 1, y: 2, width: 100, height: 16 },
    },
    {
      source: "lit",
      target: "broken",
      from: ["bright"],
      points: [
        { x: 0, y: 0 },
        { x: 0, y: 9 },
      ],
      label: [],
      labelBox: null,
    },
  ],
  ways: [
    { source: "off", target: "lit", label: "press [hasPower]" },
    { source: "bright", target: "broken", label: "after bound" },
  ],
};

describe("the states of a value", () => {
  it("are the ones it names, by key, and those around them", () => {
    expect(activeStates(layout, "off")).toEqual(["light", "off"]);
    expect(activeStates(layout, { on: { bulb: "dim", fan: {} } })).toEqual(["light", "lit", "bulb", "dim", "fan"]);
  });

  it("leave out keys that the chart does not have", () => {
    expect(activeStates(layout, "nowhere")).toEqual(["light"]);
  });
});

describe("the drawing", () => {
  it("highlights the current states and the ways out of them, and nothing else", () => {
    const drawn = drawChart(layout, activeStates(layout, { on: { bulb: "bright", fan: {} } }));
    const active = [...drawn.matchAll(/<g id="state-(\w+)"><title>[^<]*<\/title><rect class="[^"]*\bactive\b/g)].map(
      ([, id]) => id,
    );
    expect(active).toEqual(["light", "lit", "bulb", "bright", "fan"]);
    expect(drawn.match(/class="edge active"/g)).toHaveLength(1);
  });

  it("highlights nothing without a current state", () => {
    expect(drawChart(layout)).not.toMatch(/class="(state|edge|label)[^"]* active"/);
  });

  it("escapes what it shows", () => {
    const drawn = drawChart(layout);
    expect(drawn).toContain("&lt;a &amp; &quot;b&quot;&gt;");
    expect(drawn).toContain("light: on &amp; off");
  });

  it("is the same each time", () => {
    expect(drawChart(layout, ["off"])).toBe(drawChart(layout, ["off"]));
  });
});

describe("the drawing for a terminal", () => {
  it("is a tree with the current states marked and the ways out", () => {
    expect(drawAscii(layout, ["light", "off"])).toBe(
      [
        "▶ light",
        "▶ ├─ off (initial)",
        "  │      press [hasPower] → on",
        "  ├─ on (parallel)",
        "  │  ├─ bulb",
        "  │  │  ├─ dim",
        "  │  │  └─ bright",
        "  │  │         after bound → broken",
        "  │  └─ fan",
        "  └─ broken (final)",
        "",
      ].join("\n"),
    );
  });

  it("shows the ways out of current states alone if asked", () => {
    expect(drawAscii(layout, ["light", "off"], { currentOnly: true })).not.toContain("after bound");
  });
});
