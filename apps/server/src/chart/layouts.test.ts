import { conversationMachine, cursorRunMachine } from "@chartroom/machines";
import { describe, expect, it } from "vitest";
import { activeStates, drawAscii, drawChart, type StateValue } from "./index.ts";
import { layouts } from "./layouts.ts";

interface Node {
  readonly id: string;
  readonly path: readonly string[];
  readonly states: Readonly<Record<string, Node>>;
}

const roots: Record<keyof typeof layouts, Node> = {
  conversation: conversationMachine.root,
  cursorRun: cursorRunMachine.root,
};

function nodesOf(node: Node): Node[] {
  return [node, ...Object.values(node.states).flatMap(nodesOf)];
}

describe.each(Object.entries(layouts))("the layout of %s", (id, layout) => {
  const root = roots[id as keyof typeof layouts];
  const nodes = nodesOf(root);

  it("is that of the machine", () => {
    expect(layout.id).toBe(root.id);
    expect(layout.states.map((state) => state.id)).toEqual(nodes.map((node) => node.id));
  });

  it("knows every state by the value that the store holds for it, and draws it", () => {
    for (const node of nodes) {
      const value = node.path.reduceRight<StateValue>((inner, key) => ({ [key]: inner }), {});
      const active = activeStates(layout, value);
      expect(active.at(-1)).toBe(node.id);
      expect(active).toHaveLength(node.path.length + 1);
      expect(drawChart(layout, active).match(/class="state[^"]* active"/g)).toHaveLength(active.length);
      expect(drawAscii(layout, active).match(/^▶/gm)).toHaveLength(active.length);
    }
  });
});
