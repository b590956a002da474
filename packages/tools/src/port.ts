import type { ModelCallId, ToolCallRecord, ToolPort, ToolScope } from "@chartroom/domain";
import { parseArguments } from "./arguments/parse.ts";
import { createCard, NO_CARD } from "./cards/card.ts";
import { completedFrame, toolCall, type CallIdentity } from "./cards/frames.ts";
import { badArguments, unknownTool } from "./catalogue/refusals.ts";
import { toolbox, type Toolbox } from "./catalogue/toolbox.ts";
import { createExecution } from "./execution/execution.ts";
import { refusedExecution } from "./execution/refused.ts";
import { resolveCall } from "./execution/resolve.ts";
import { cardOf, storedCall } from "./execution/stored.ts";
import { unknownCards } from "./mcp/variants.ts";
import { upperSnake, type CallCards, type CallSite, type Prepared, type ToolSpec } from "./native/tool.ts";

/** The tools: pure, without a clock, without any state beyond what a scope says. */
export function createTools(): ToolPort {
  const boxes = new WeakMap<ToolScope, Toolbox>();
  const boxOf = (scope: ToolScope): Toolbox => {
    const known = boxes.get(scope) ?? toolbox(scope);
    boxes.set(scope, known);
    return known;
  };

  return {
    catalogue: (scope) => boxOf(scope).definitions,
    card(scope, { id, name, modelCallId }) {
      const spec = boxOf(scope).find(name);
      return spec === undefined ? NO_CARD : createCard(spec, { scope, callId: id }, { callId: id, modelCallId });
    },
    execute(scope, call, modelCallId) {
      const box = boxOf(scope);
      const spec = box.find(call.name);
      const site: CallSite = { scope, callId: call.id };
      const identity: CallIdentity = { callId: call.id, modelCallId };
      const cards = cardsOf(spec, site, call);
      if (spec === undefined) return refusedExecution(call, identity, unknownTool(call.name, box), cards);
      const prepared = prepare(spec, site, call);
      return prepared.ok
        ? createExecution(call, identity, prepared.program, { changes: spec.changes, cards })
        : refusedExecution(call, identity, badArguments(spec, prepared.problems, box), cards);
    },
    completedCard(scope, call, modelCallId: ModelCallId, result) {
      const cards = cardsOf(boxOf(scope).known(call.name), { scope, callId: call.id }, call);
      const shown = storedCall(result) ?? toolCall(cardOf(result, cards), call.id);
      return completedFrame({ callId: call.id, modelCallId }, shown);
    },
    resolve(scope, call, resolution) {
      const spec = boxOf(scope).known(call.name);
      if (spec === undefined || spec.dynamic || spec.toolIdentifier !== "SHELL") return undefined;
      const prepared = prepare(spec, { scope, callId: call.id }, call);
      return prepared.ok ? resolveCall(call, prepared.program, resolution) : undefined;
    },
    identifier(scope, toolName) {
      const spec = boxOf(scope).known(toolName);
      return { toolIdentifier: spec?.toolIdentifier ?? upperSnake(toolName), dynamic: spec?.dynamic ?? true };
    },
  };
}

function prepare(spec: ToolSpec, site: CallSite, call: ToolCallRecord): Prepared {
  const args = parseArguments(call);
  return args.ok ? spec.prepare(site, args.value) : { ok: false, problems: [args.problem] };
}

function cardsOf(spec: ToolSpec | undefined, site: CallSite, call: ToolCallRecord): CallCards {
  if (spec === undefined) return unknownCards(call.name, site);
  const args = parseArguments(call);
  return spec.cards(site, args.ok ? args.value : {});
}
