import type { ConversationStore } from "@chartroom/domain";
import { StoreError } from "@chartroom/store";

/** Answers of the store's contract that say so themselves; all other calls throw. */
const SAYS_SO: readonly string[] = ["activate", "commit", "bind"];

/** A store whose database can go away: by the contract of `ConversationStore`, from one call to the next. */
export function awayStore(store: ConversationStore): {
  readonly store: ConversationStore;
  leave(): void;
  comeBack(): void;
  /** Commits that were refused since it went. */
  readonly refused: number;
} {
  let away = false;
  let refused = 0;
  return {
    leave() {
      away = true;
      refused = 0;
    },
    comeBack: () => void (away = false),
    get refused() {
      return refused;
    },
    store: new Proxy(store, {
      get(target, name, receiver) {
        const member: unknown = Reflect.get(target, name, receiver);
        if (typeof member !== "function") return member;
        return async (...args: unknown[]): Promise<unknown> => {
          if (!away) return Reflect.apply(member, target, args);
          if (name === "commit") refused++;
          if (SAYS_SO.includes(String(name))) return { kind: "unavailable" };
          throw new StoreError("unavailable", "the database is away");
        };
      },
    }),
  };
}
