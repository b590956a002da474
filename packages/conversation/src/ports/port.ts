import { fromCallback } from "xstate";
import type { ConversationEvent, RunId } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import { isUnavailable } from "../failures.ts";
import { faultText } from "../fault-text.ts";
import type { LiveRun } from "../activation/live-run.ts";

/** One invocation of a port of the chart: works for the state that invoked it, and is silent once that state is left. */
export interface PortCall {
  readonly activation: Activation;
  readonly run: LiveRun;
  readonly step: number;
  /** Aborted when the state is left or the activation ends. */
  readonly signal: AbortSignal;
  /** Reports to the chart; without effect once the state is left. */
  send(event: ConversationEvent): void;
}

export interface PortInput {
  readonly conversationId: string;
  readonly runId: string;
  readonly step: number;
}

export type FindActivation = (conversationId: string) => Activation | undefined;

const LEFT = "the state was left";

/** Binds a port: what it throws becomes `port.failed`, so that the chart never hears nothing. */
export function bindPort(name: string, find: FindActivation, work: (call: PortCall) => Promise<void>) {
  return fromCallback<ConversationEvent, PortInput>(({ input, sendBack }) => {
    const activation = find(input.conversationId);
    const run = activation?.runs.get(input.runId as RunId);
    const controller = new AbortController();
    let live = true;
    const send = (event: ConversationEvent): void => {
      if (live) sendBack(event);
    };
    // with a reason of its own: without one an exception is made, with its stack, at each end of a state
    const stop = (): void => controller.abort(LEFT);
    activation?.abort.signal.addEventListener("abort", stop);
    // after the transition that invoked it: a port must not send from within that transition
    queueMicrotask(() => {
      if (!live) return;
      if (!activation || !run) return send({ type: "port.failed", port: name });
      work({ activation, run, step: input.step, signal: controller.signal, send }).catch((error: unknown) => {
        // nothing that was read can be missing: the Run goes on where it is once the store is back
        if (isUnavailable(error)) return send({ type: "store.unavailable" });
        activation.deps.events({
          type: "chart.error",
          conversationId: activation.conversationId,
          message: `${name}: ${faultText(error)}`,
        });
        send({ type: "port.failed", port: name });
      });
    });
    return () => {
      live = false;
      activation?.abort.signal.removeEventListener("abort", stop);
      controller.abort(LEFT);
    };
  });
}
