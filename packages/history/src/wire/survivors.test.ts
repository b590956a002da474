import { agent, blobId, blobIdBytes, create, toBinary } from "@chartroom/protocol";
import type { BlobId } from "@chartroom/domain";
import { expect, test } from "vitest";
import { readState } from "./state.ts";
import { stateSurvivors } from "./survivors.ts";

test("CO-01 goal, plan and to-dos of a state, by blob or in place; what is lost or broken is left out", () => {
  const blobs = new Map<BlobId, Uint8Array>();
  const put = (data: Uint8Array) => {
    blobs.set(blobId(data), data);
    return blobIdBytes(blobId(data));
  };
  const todo = (content: string, status: agent.TodoStatus) =>
    toBinary(agent.TodoItemSchema, create(agent.TodoItemSchema, { id: content, content, status }));
  const state = toBinary(
    agent.ConversationStateStructureSchema,
    create(agent.ConversationStateStructureSchema, {
      goalState: create(agent.GoalStateSchema, { objective: "win" }),
      plan: put(toBinary(agent.ConversationPlanSchema, create(agent.ConversationPlanSchema, { plan: "1. go" }))),
      todos: [
        put(todo("one", agent.TodoStatus.COMPLETED)),
        todo("two", agent.TodoStatus.IN_PROGRESS),
        blobIdBytes(blobId(new Uint8Array([7]))),
        put(new Uint8Array([0xff])),
      ],
    }),
  );
  const outline = readState(state);
  expect(outline.ok && stateSurvivors(outline.outline, (id) => blobs.get(id))).toEqual({
    goal: "win",
    plan: "1. go",
    todos: [
      { content: "one", status: "completed" },
      { content: "two", status: "in progress" },
    ],
  });
  const reached = toBinary(
    agent.ConversationStateStructureSchema,
    create(agent.ConversationStateStructureSchema, {
      goalState: create(agent.GoalStateSchema, { objective: "won", status: agent.GoalStatus.COMPLETE }),
    }),
  );
  const over = readState(reached);
  expect(over.ok && stateSurvivors(over.outline, () => undefined)).toEqual({ todos: [] });
  const empty = readState(new Uint8Array());
  expect(empty.ok && stateSurvivors(empty.outline, () => undefined)).toEqual({ todos: [] });
});
