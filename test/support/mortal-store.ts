import type { ConversationStore } from "@chartroom/domain";

/** A store as a process sees it that is killed at some moment: from then on nothing it asks is ever answered, and nothing is written. */
export function mortalStore(store: ConversationStore): { readonly store: ConversationStore; kill(): void } {
  let alive = true;
  const never = new Promise<never>(() => undefined);
  return {
    kill: () => void (alive = false),
    store: new Proxy(store, {
      get(target, name, receiver) {
        const member: unknown = Reflect.get(target, name, receiver);
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown => (alive ? Reflect.apply(member, target, args) : never);
      },
    }),
  };
}
