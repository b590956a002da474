import type { Barrier, ConversationStore } from "@chartroom/domain";
import { turn } from "./turn.ts";

export interface CommitGate {
  readonly store: ConversationStore;
  /** Barriers for which `test` holds wait, from now on, until `release`. */
  hold(test: (barrier: Barrier) => boolean): void;
  release(): void;
  /** Barriers that wait at the gate. */
  readonly held: number;
  /** Calls that the store has not answered, but for those at the gate. */
  readonly busy: number;
  /** When nothing is asked of the store any more, and what its last answers led to has happened. */
  quiet(): Promise<void>;
}

/** A store whose commits a test can hold, and which says when nothing is asked of it any more. */
export function commitGate(store: ConversationStore): CommitGate {
  let test: ((barrier: Barrier) => boolean) | undefined;
  let open: () => void = () => undefined;
  let gate = Promise.resolve();
  let held = 0;
  let asked = 0;
  const ask = async (member: (...args: unknown[]) => Promise<unknown>, args: readonly unknown[]): Promise<unknown> => {
    asked++;
    try {
      return await Reflect.apply(member, store, args);
    } finally {
      asked--;
    }
  };
  return {
    store: new Proxy(store, {
      get(target, name, receiver) {
        const member: unknown = Reflect.get(target, name, receiver);
        if (typeof member !== "function") return member;
        return async (...args: unknown[]): Promise<unknown> => {
          const call = member as (...args: unknown[]) => Promise<unknown>;
          if (name !== "commit" || !test?.(args[1] as Barrier)) return ask(call, args);
          held++;
          await gate;
          held--;
          return ask(call, args);
        };
      },
    }),
    hold(next) {
      test = next;
      gate = new Promise((resume) => (open = resume));
    },
    release() {
      test = undefined;
      open();
    },
    get held() {
      return held;
    },
    get busy() {
      return asked;
    },
    async quiet() {
      for (let still = 0; still < 4; still = asked === 0 ? still + 1 : 0) await turn();
    },
  };
}
