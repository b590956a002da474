import { agent, blobIdOf, fromBinary } from "@chartroom/protocol";
import type { BlobId } from "@chartroom/domain";
import type { Outline } from "./state.ts";

/** What the client's state holds beside history and a compaction must not lose: word for word, as the model is to read it. */
export interface StateSurvivors {
  readonly goal?: string;
  readonly plan?: string;
  readonly todos: readonly { readonly content: string; readonly status: string }[];
}

const STATUS: Readonly<Record<agent.TodoStatus, string>> = {
  [agent.TodoStatus.UNSPECIFIED]: "pending",
  [agent.TodoStatus.PENDING]: "pending",
  [agent.TodoStatus.IN_PROGRESS]: "in progress",
  [agent.TodoStatus.COMPLETED]: "completed",
  [agent.TodoStatus.CANCELLED]: "cancelled",
};

/** Goal, plan and to-dos of a state. What `blob` does not have or what cannot be read is left out. */
export function stateSurvivors(outline: Outline, blob: (id: BlobId) => Uint8Array | undefined): StateSurvivors {
  const { state } = outline;
  const dataOf = (raw: Uint8Array | undefined) => {
    const id = raw === undefined ? undefined : blobIdOf(raw);
    return id === undefined ? raw : blob(id);
  };
  const plan = read(dataOf(state.plan), (data) => fromBinary(agent.ConversationPlanSchema, data).plan);
  const todos = state.todos.flatMap((raw) => {
    const todo = read(dataOf(raw), (data) => fromBinary(agent.TodoItemSchema, data));
    return todo === undefined ? [] : [{ content: todo.content, status: STATUS[todo.status] ?? "pending" }];
  });
  const over: ReadonlySet<agent.GoalStatus> = new Set([agent.GoalStatus.COMPLETE, agent.GoalStatus.CLEARED]);
  const { goalState } = state;
  const goal = goalState === undefined || over.has(goalState.status) ? "" : goalState.objective;
  return { ...(goal === "" ? {} : { goal }), ...(plan === undefined || plan === "" ? {} : { plan }), todos };
}

function read<T>(data: Uint8Array | undefined, decode: (data: Uint8Array) => T): T | undefined {
  if (data === undefined) return undefined;
  try {
    return decode(data);
  } catch {
    return undefined;
  }
}
