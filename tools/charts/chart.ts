import type { AnyStateMachine, AnyStateNode } from "xstate";
import { toDirectedGraph, type DirectedGraphNode } from "xstate/graph";

export type StateKind = "atomic" | "compound" | "parallel" | "final" | "history";

export interface ChartState {
  readonly id: string;
  readonly key: string;
  /** Keys below the root, joined by `.`. */
  readonly path: string;
  readonly parent: string | null;
  readonly kind: StateKind;
  /** Id of the child that it starts in. */
  readonly initial: string | null;
  readonly description: string;
  readonly tags: readonly string[];
  readonly entry: readonly string[];
  readonly exit: readonly string[];
  readonly invoke: readonly { readonly id: string; readonly src: string }[];
}

export interface ChartTransition {
  readonly source: string;
  /** XState's own name of the event, such as `xstate.after.bound.idle`. */
  readonly type: string;
  /** Ids; empty if the event is handled without leaving the state. */
  readonly targets: readonly string[];
  readonly guard: string | null;
  readonly actions: readonly string[];
  readonly reenter: boolean;
  readonly description: string | null;
}

/** What a machine is as a chart: all states in document order, parents first, and all transitions in the order of XState. */
export interface Chart {
  readonly id: string;
  readonly description: string;
  readonly states: readonly ChartState[];
  readonly transitions: readonly ChartTransition[];
}

/** Reads a chart off a machine, by XState's own directed graph of it and the eventless transitions, which that leaves out. */
export function chartOf(machine: AnyStateMachine): Chart {
  const states: ChartState[] = [];
  const transitions: ChartTransition[] = [];
  const visit = (node: DirectedGraphNode, parent: string | null) => {
    const { stateNode } = node;
    states.push(stateOf(stateNode, parent));
    // XState's graph leaves eventless transitions out
    const eventless = (stateNode.always ?? []).map((transition) => ({ source: stateNode, transition }));
    for (const { source, transition } of [...node.edges, ...eventless]) {
      const entry: ChartTransition = {
        source: source.id,
        type: transition.eventType,
        targets: (transition.target ?? []).map((target) => target.id),
        guard: transition.guard === undefined ? null : nameOf(transition.guard),
        actions: transition.actions.map(nameOf),
        reenter: transition.reenter,
        description: transition.description ?? null,
      };
      // the graph has an edge per target; a transition into two regions at once is still one transition
      if (!transitions.some((known) => known.source === entry.source && same(known, entry))) transitions.push(entry);
    }
    for (const child of node.children) visit(child, node.id);
  };
  visit(toDirectedGraph(machine), null);
  return { id: machine.root.id, description: machine.root.description ?? "", states, transitions };
}

function stateOf(node: AnyStateNode, parent: string | null): ChartState {
  const initial = node.type === "compound" ? node.initial.target[0]?.id : undefined;
  return {
    id: node.id,
    key: node.key,
    path: node.path.join("."),
    parent,
    kind: node.type,
    initial: initial ?? null,
    description: node.description ?? "",
    tags: node.tags,
    // delayed transitions add a raise and a cancel of their own, which are not the author's actions
    entry: node.entry.map(nameOf).filter((name) => !name.startsWith("xstate.")),
    exit: node.exit.map(nameOf).filter((name) => !name.startsWith("xstate.")),
    invoke: node.invoke.map(({ id, src }) => ({ id, src: nameOf(src) })),
  };
}

function same(a: ChartTransition, b: ChartTransition): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The name of an action, guard or actor in any of the forms that XState holds it in, with its parameters: `mayRetry(3)`. */
function nameOf(one: unknown): string {
  if (typeof one === "string") return one;
  if ((typeof one !== "object" && typeof one !== "function") || one === null || !("type" in one)) return "(inline)";
  return named(String(one.type), "params" in one ? one.params : undefined);
}

/** `name`, or `name(value, value)` with parameters. */
export function named(name: string, params: unknown): string {
  if (typeof params !== "object" || params === null) return typeof params === "function" ? `${name}(…)` : name;
  return `${name}(${Object.values(params).map(String).join(", ")})`;
}
