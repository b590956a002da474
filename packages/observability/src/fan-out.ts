import type { DomainEvent, DomainEventListener } from "@chartroom/domain";

/** Hands each event to all listeners; one that throws changes nothing for the others or for whoever told. */
export class EventFanOut {
  readonly #listeners = new Set<DomainEventListener>();

  readonly tell: DomainEventListener = (event: DomainEvent) => {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch {
        // a sink has no say in what it is told of
      }
    }
  };

  /** Returns the way to leave. */
  add(listener: DomainEventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
