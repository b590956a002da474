/** A point in the drawing, in pixels from its top left. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

export type StateKind = "atomic" | "compound" | "parallel" | "final" | "history";

/**
 * What a line inside a state says: its name, what it is, its invoked ports, its actions, the events that stay in it, and the
 * ways out that end in another part of the chart.
 */
export type LineKind = "title" | "description" | "invoke" | "action" | "event" | "way";

export interface StateLine {
  readonly kind: LineKind;
  readonly text: string;
}

export interface LaidState {
  /** The state's own id, as in the machine file. */
  readonly id: string;
  readonly key: string;
  /** Keys from the root down to the state, joined by `.`; empty for the root. A stored state value names states so. */
  readonly path: string;
  readonly parent: string | null;
  readonly kind: StateKind;
  readonly box: Box;
  readonly description: string;
  readonly lines: readonly StateLine[];
}

/**
 * An arrow between two states with the same parent. It stands for the transitions between them, which its label names, and for
 * those from inside the one to inside the other, which stand as text in their own states.
 */
export interface LaidEdge {
  /** Null for the mark of an initial state. */
  readonly source: string | null;
  readonly target: string;
  /** Ids of the states whose transitions it stands for. */
  readonly from: readonly string[];
  readonly points: readonly Point[];
  readonly label: readonly string[];
  readonly labelBox: Box | null;
}

/** A transition that leaves its state. */
export interface Way {
  readonly source: string;
  readonly target: string;
  /** `event [guard]`. */
  readonly label: string;
}

/**
 * A chart with its geometry, made when the machine is built (`npm run charts`), so that drawing it needs no layout engine.
 * States stand before their children.
 */
export interface ChartLayout {
  readonly id: string;
  readonly description: string;
  readonly width: number;
  readonly height: number;
  readonly fontSize: number;
  readonly lineHeight: number;
  readonly states: readonly LaidState[];
  readonly edges: readonly LaidEdge[];
  readonly ways: readonly Way[];
}

/** A state value as XState stores it: a state's key, or keys of regions with the values inside them. */
export type StateValue = string | { readonly [key: string]: StateValue | undefined };

/** The ids of all states that a state value is in, the root among them; keys that the chart does not have give nothing. */
export function activeStates(layout: ChartLayout, value: StateValue): string[] {
  const paths = new Set([""]);
  const visit = (at: StateValue, above: string) => {
    const entries = typeof at === "string" ? [[at, undefined] as const] : Object.entries(at);
    for (const [key, below] of entries) {
      const path = above === "" ? key : `${above}.${key}`;
      paths.add(path);
      if (below !== undefined) visit(below, path);
    }
  };
  visit(value, "");
  return layout.states.filter((state) => paths.has(state.path)).map((state) => state.id);
}
