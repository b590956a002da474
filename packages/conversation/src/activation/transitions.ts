import type { AnyActorRef, AnyMachineSnapshot, InspectionEvent } from "xstate";
import type { ChartContext, ConversationId, RunId, StateValue } from "@chartroom/domain";
import type { ConversationDeps } from "../deps.ts";
import type { Journal } from "./journal.ts";

/** Whose chart it is. */
interface TransitionsHost {
  readonly deps: ConversationDeps;
  readonly conversationId: ConversationId;
  readonly actor: AnyActorRef;
  /** The chart took an event. */
  moved(from: StateValue, to: StateValue): void;
}

/** What the chart does with each event: for the journal, for whoever observes, and for its activation. */
export class Transitions {
  readonly #host: TransitionsHost;
  readonly #journal: Journal;
  #value: StateValue = "restoring";

  constructor(host: TransitionsHost, journal: Journal) {
    this.#host = host;
    this.#journal = journal;
  }

  /** The state that the chart is in. */
  get value(): StateValue {
    return this.#value;
  }

  inspect(event: InspectionEvent): void {
    if (event.actorRef !== this.#host.actor) return;
    const { conversationId, deps } = this.#host;
    const unhandled = unhandledIn(event);
    if (unhandled) deps.events({ type: "chart.unhandled", conversationId, event: unhandled, state: this.#value });
    if (event.type !== "@xstate.snapshot") return;
    const snapshot = event.snapshot as AnyMachineSnapshot;
    const to = snapshot.value as StateValue;
    const runId = ((snapshot.context as ChartContext).runId ?? null) as RunId | null;
    const from = this.#value;
    this.#value = to;
    this.#journal.note({ runId, event: event.event, from, to, at: deps.clock.now() });
    this.#host.moved(from, to);
    deps.events({ type: "chart.transition", conversationId, runId, event: event.event.type, from, to });
  }
}

/** The event that no transition of the chart takes; XState's own are none. */
function unhandledIn(event: InspectionEvent): string | undefined {
  const { type } = event;
  if (type !== "@xstate.microstep" || event._transitions.length > 0) return undefined;
  return event.event.type.startsWith("xstate.") ? undefined : event.event.type;
}
