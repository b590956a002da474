import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { DomainEvent, DomainEventListener, Usage } from "@chartroom/domain";
import { boundedNames } from "./bounded-names.ts";

export interface EventMetrics {
  /** Counts a domain event. */
  readonly listener: DomainEventListener;
  /** Adds `chartroom_<name>`, read whenever somebody scrapes. */
  gauge(name: string, help: string, read: () => number): void;
  /** Media type of `text`. */
  readonly contentType: string;
  /** All series in the text format of Prometheus. */
  text(): Promise<string>;
}

/** Series of one label that comes from outside; the names beyond it are counted as `other`. */
const MAX_TOOLS = 200;
const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800];

/**
 * Counts of domain events for a scraper: enums, counts and durations (seconds), never an id, a member or content. The series of
 * the process itself (CPU, memory, event loop) are those that every exporter of this language has. `docs/operations.md` lists
 * the others.
 */
export function eventMetrics(): EventMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return {
    listener: listenerOf(registry),
    contentType: registry.contentType,
    text: () => registry.metrics(),
    gauge: (name, help, read) =>
      void new Gauge({
        name: `chartroom_${name}`,
        help,
        registers: [registry],
        collect() {
          this.set(read());
        },
      }),
  };
}

function listenerOf(registry: Registry): DomainEventListener {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> =>
    new Counter({ name: `chartroom_${name}_total`, help, labelNames, registers });
  const seconds = <L extends string>(name: string, help: string, labelNames: readonly L[]): Histogram<L> =>
    new Histogram({ name: `chartroom_${name}_seconds`, help, labelNames, buckets: SECONDS, registers });

  const activations = counter("conversation_activations", "Conversations taken into memory", ["restored"]);
  const departures = counter("conversation_departures", "Conversations that left memory", ["reason"]);
  const started = counter("runs_started", "Runs that were accepted", []);
  const runs = seconds("run", "From a Run's acceptance to its outcome", ["outcome", "code"]);
  const streams = counter("run_streams", "What became of Runs' streams", ["event"]);
  const steps = seconds("step", "Model calls, retries apart", ["outcome"]);
  const tokens = counter("tokens", "Tokens as the providers counted them", ["kind"]);
  const tools = seconds("tool_call", "From a call's dispatch to its result", ["tool", "error"]);
  const breaks = counter("prefix_breaks", "Model calls whose prompt did not begin as the one before", ["cause"]);
  const lost = counter("prefix_tokens_lost", "Tokens behind the first difference of a broken prefix", ["cause"]);
  const relations = counter("history_relations", "Where the client's state stood at a Run's beginning", ["relation"]);
  const healed = counter("history_healed", "Faults of a history that projection healed", ["kind"]);
  const windows = counter("windows_learned", "Models whose real window turned out smaller", []);
  const unhandled = counter("chart_unhandled", "Events that a state does not know", ["event"]);
  const dropped = counter("inputs_dropped", "What a client sent late, twice or to nobody", ["reason"]);
  const unserved = counter("rpcs_unserved", "Calls that this server does not have", []);
  const errors = counter("errors", "Faults of the server itself", ["area"]);
  const outages = counter("store_unavailable", "Writes that found no database", []);
  const toolNames = boundedNames(MAX_TOOLS);

  const count = (usage: Usage): void => {
    for (const [kind, value] of Object.entries(usage) as [string, number | undefined][])
      if (value !== undefined) tokens.inc({ kind: TOKEN_KINDS[kind as keyof Usage] }, value);
  };
  return (event: DomainEvent) => {
    switch (event.type) {
      case "conversation.activated":
        return activations.inc({ restored: String(event.restored) });
      case "conversation.passivated":
        return departures.inc({ reason: "passivated" });
      case "conversation.fenced":
        return departures.inc({ reason: "fenced" });
      case "run.started":
        return started.inc();
      case "run.ended":
        return runs.observe({ outcome: event.outcome.kind, code: event.outcome.code ?? "" }, event.durationMs / 1_000);
      case "run.attached":
      case "run.claimed":
      case "run.parked":
        return streams.inc({ event: event.type.slice("run.".length) });
      case "step.ended":
        count(event.usage);
        return steps.observe({ outcome: event.outcome }, event.durationMs / 1_000);
      case "tool.settled":
        return tools.observe({ tool: toolNames(event.tool), error: String(event.error) }, event.durationMs / 1_000);
      case "prefix.broken":
        breaks.inc({ cause: event.cause });
        return lost.inc({ cause: event.cause }, event.tokensLost);
      case "history.related":
        return relations.inc({ relation: event.relation });
      case "history.healed":
        for (const kind of event.kinds) healed.inc({ kind });
        return;
      case "window.learned":
        return windows.inc();
      case "chart.unhandled":
        return unhandled.inc({ event: event.event });
      case "input.dropped":
        return dropped.inc({ reason: event.reason });
      case "rpc.unserved":
        return unserved.inc();
      case "chart.error":
        return errors.inc({ area: "chart" });
      case "gateway.error":
        return errors.inc({ area: "gateway" });
      case "store.unavailable":
        return outages.inc();
      case "chart.transition":
        return;
    }
  };
}

const TOKEN_KINDS: Readonly<Record<keyof Usage, string>> = {
  inputTokens: "input",
  outputTokens: "output",
  cacheReadTokens: "cache_read",
  cacheWriteTokens: "cache_write",
  reasoningTokens: "reasoning",
};
