import type { Barrier, CommitResult, ConversationStore } from "@chartroom/domain";
import { until } from "./gateway/until.ts";

export interface GatedStore {
  readonly store: ConversationStore;
  /** From now on commits for which `held` is true wait. */
  hold(held: (barrier: Barrier) => boolean): void;
  /** Resolves once a commit waits. */
  waiting(): Promise<void>;
  /** Lets go of all that wait, and holds nothing more. */
  release(): void;
}

/** A store whose commits a test can hold back: what has not been committed holds a conversation in its phase. */
export function gatedStore(store: ConversationStore): GatedStore {
  let gate = Promise.withResolvers<void>();
  let held: ((barrier: Barrier) => boolean) | undefined;
  let count = 0;
  return {
    store: new Proxy(store, {
      get(target, name, receiver) {
        if (name !== "commit") {
          const member: unknown = Reflect.get(target, name, receiver);
          return typeof member === "function" ? member.bind(target) : member;
        }
        return async (lease: Parameters<typeof store.commit>[0], barrier: Barrier): Promise<CommitResult> => {
          if (held?.(barrier) === true) {
            count++;
            await gate.promise;
          }
          return target.commit(lease, barrier);
        };
      },
    }),
    hold(next) {
      gate = Promise.withResolvers<void>();
      count = 0;
      held = next;
    },
    waiting: () => until(() => count > 0, "a commit that is held"),
    release() {
      held = undefined;
      gate.resolve();
    },
  };
}

/** The commit that ends a Run. */
export const endsRun = (barrier: Barrier): boolean =>
  barrier.runsChanged?.some(({ status }) => status !== undefined && status !== "running" && status !== "waiting") ===
  true;
