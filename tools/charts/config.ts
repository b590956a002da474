import type { Expression, ObjectExpression } from "oxc-parser";
import { named } from "./chart.ts";
import { listOf, members, objectOf, paramsOf, stringOf, writtenOut, type Declared, type Report } from "./literal.ts";

export interface ReadState {
  readonly id: string;
  readonly key: string;
  readonly parent: string | null;
  /** Key of the initial child, or null. */
  readonly initial: string | null;
  readonly description: string;
  readonly invoke: readonly string[];
}

/** A transition under XState's own event names, targets as ids. */
export interface ReadTransition {
  readonly source: string;
  readonly type: string;
  readonly targets: readonly string[];
  readonly guard: string | null;
  readonly actions: readonly string[];
  readonly reenter: boolean;
}

/** Parts of a state that are read one by one, or are functions that no chart shows. */
const READ = new Set([
  "after",
  "always",
  "context",
  "description",
  "entry",
  "exit",
  "id",
  "initial",
  "invoke",
  "on",
  "onDone",
  "output",
  "states",
]);

interface Node {
  readonly at: ObjectExpression;
  readonly id: string;
  readonly key: string;
  readonly parent: Node | null;
  readonly config: ReadonlyMap<string, Expression>;
  readonly children: Node[];
}

/** Reads the states and transitions out of the literal of a chart. */
export function readChart(
  chart: ObjectExpression,
  declared: Declared,
  report: Report,
): { states: ReadState[]; transitions: ReadTransition[] } {
  const nodes: Node[] = [];
  const root = nodeOf("", chart, null, nodes, report);
  checkBound(chart, root, report);
  const reader = new Reader(root, nodes, declared, report);
  return {
    states: nodes.map((node) => reader.state(node)),
    transitions: nodes.flatMap((node) => reader.transitions(node)),
  };
}

function nodeOf(key: string, object: ObjectExpression, parent: Node | null, all: Node[], report: Report): Node {
  const config = members(object, report);
  const own = config.get("id");
  const id = own && stringOf(own, "one-literal", report);
  const implied = parent ? `${parent.id}.${key}` : "(machine)";
  if (id === undefined) report(object, "state-id", implied);
  else if (all.some((other) => other.id === id)) report(object, "state-id", `${id}, which another state has`);
  const node: Node = {
    at: object,
    id: id ?? implied,
    key: parent ? key : (id ?? implied),
    parent,
    config,
    children: [],
  };
  all.push(node);
  const states = config.get("states");
  const below = states && objectOf(states, report);
  for (const [name, value] of below ? members(below, report) : []) {
    const child = objectOf(value, report);
    if (child) node.children.push(nodeOf(name, child, node, all, report));
  }
  return node;
}

function checkBound(chart: ObjectExpression, root: Node, report: Report): void {
  const options = root.config.get("options");
  const object = options && objectOf(options, report);
  if (!object || !members(object, report).has("maxIterations")) report(chart, "max-iterations", root.id);
}

class Reader {
  readonly #root: Node;
  readonly #nodes: readonly Node[];
  readonly #declared: Declared;
  readonly #report: Report;

  constructor(root: Node, nodes: readonly Node[], declared: Declared, report: Report) {
    this.#root = root;
    this.#nodes = nodes;
    this.#declared = declared;
    this.#report = report;
  }

  state({ at, id, key, parent, config }: Node): ReadState {
    const text = (name: string) => {
      const value = config.get(name);
      return value && stringOf(value, "one-literal", this.#report);
    };
    const description = text("description") ?? "";
    if (description.trim() === "") this.#report(at, "state-description", id);
    for (const [name, value] of config) if (!READ.has(name)) writtenOut(value, this.#report);
    // read for their names alone: actions on entry and exit are no transitions
    for (const name of ["entry", "exit"]) this.#actions(config.get(name));
    const invoke = this.#invocations(config).map(({ src }) => src);
    return { id, key, parent: parent?.id ?? null, initial: text("initial") ?? null, description, invoke };
  }

  transitions(node: Node): ReadTransition[] {
    const { config, id } = node;
    const found: ReadTransition[] = [];
    const add = (type: string, value: Expression | undefined) => {
      for (const one of listOf(value, this.#report)) {
        const transition = this.#transition(node, type, one);
        if (transition) found.push(transition);
      }
    };
    for (const [event, value] of this.#entries(config.get("on"))) add(event, value);
    add("", config.get("always"));
    for (const [delay, value] of this.#entries(config.get("after"))) {
      if (!/^\d+$/.test(delay)) this.#known("delays", delay, value);
      add(`xstate.after.${delay}.${id}`, value);
    }
    add(`xstate.done.state.${id}`, config.get("onDone"));
    for (const invoke of this.#invocations(config)) {
      add(`xstate.done.actor.${invoke.id}`, invoke.config.get("onDone"));
      add(`xstate.error.actor.${invoke.id}`, invoke.config.get("onError"));
      if (!invoke.config.has("onError")) this.#report(invoke.at, "on-error", invoke.id);
    }
    return found;
  }

  #entries(value: Expression | undefined): [string, Expression][] {
    const object = value && objectOf(value, this.#report);
    return object ? [...members(object, this.#report)] : [];
  }

  #invocations(config: Node["config"]) {
    return listOf(config.get("invoke"), this.#report).flatMap((at) => {
      const object = objectOf(at, this.#report);
      if (!object) return [];
      const invoke = members(object, this.#report);
      const source = invoke.get("src");
      const src = source && stringOf(source, "names-only", this.#report);
      if (source && src !== undefined) this.#known("actors", src, source);
      const own = invoke.get("id");
      const id = own && stringOf(own, "one-literal", this.#report);
      if (id === undefined && !own) this.#report(at, "one-literal", "an invoke without an id");
      return [{ id: id ?? "?", src: src ?? "?", config: invoke, at }];
    });
  }

  #transition(node: Node, type: string, value: Expression): ReadTransition | undefined {
    const plain = { source: node.id, type, guard: null, actions: [], reenter: false };
    if (value.type === "Literal") {
      const target = stringOf(value, "one-literal", this.#report);
      return target === undefined ? undefined : { ...plain, targets: this.#targets(node, [value]) };
    }
    const object = objectOf(value, this.#report);
    if (!object) return undefined;
    const config = members(object, this.#report);
    const guard = config.get("guard");
    const reenter = config.get("reenter");
    for (const name of ["description", "meta", "reenter"]) {
      const written = config.get(name);
      if (written) writtenOut(written, this.#report);
    }
    return {
      ...plain,
      targets: this.#targets(node, listOf(config.get("target"), this.#report)),
      guard: guard ? this.#name("guards", guard) : null,
      actions: this.#actions(config.get("actions")),
      reenter: reenter?.type === "Literal" && reenter.value === true,
    };
  }

  #actions(value: Expression | undefined): string[] {
    return listOf(value, this.#report).map((one) => this.#name("actions", one));
  }

  /** A name, or `{ type: name, params: {…} }`. */
  #name(kind: "actions" | "guards", value: Expression): string {
    if (value.type !== "ObjectExpression") {
      const name = stringOf(value, "names-only", this.#report);
      if (name !== undefined) this.#known(kind, name, value);
      return name ?? "(inline)";
    }
    const config = members(value, this.#report);
    const type = config.get("type");
    const name = type && stringOf(type, "names-only", this.#report);
    if (name === undefined) {
      this.#report(value, "names-only", "an object without a type");
      return "(inline)";
    }
    this.#known(kind, name, value);
    const params = config.get("params");
    return named(name, params && paramsOf(params, this.#report));
  }

  #known(kind: keyof Declared, name: string, at: Expression): void {
    if (!this.#declared[kind].has(name)) this.#report(at, "declared", `${name} is not among the ${kind}`);
  }

  #targets(node: Node, values: readonly Expression[]): string[] {
    return values.flatMap((value) => {
      const target = stringOf(value, "one-literal", this.#report);
      if (target === undefined) return [];
      const found = this.#resolve(node, target);
      if (!found) this.#report(value, "target", target);
      return found ? [found.id] : [];
    });
  }

  /** `#id`, `#id.child`, `.child` below the state itself, or `sibling`. */
  #resolve(node: Node, target: string): Node | undefined {
    const below = (from: Node | undefined | null, path: string) =>
      path
        .split(".")
        .filter((key) => key !== "")
        .reduce<Node | undefined>((at, key) => at?.children.find((child) => child.key === key), from ?? undefined);
    if (!target.startsWith("#")) return target.startsWith(".") ? below(node, target) : below(node.parent, target);
    const exact = this.#nodes.find((one) => one.id === target.slice(1));
    if (exact) return exact;
    const holder = [this.#root, ...this.#nodes].find((one) => target.startsWith(`#${one.id}.`));
    return holder && below(holder, target.slice(holder.id.length + 2));
  }
}
