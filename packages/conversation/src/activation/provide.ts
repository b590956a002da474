import { conversationMachine, cursorRunMachine } from "@chartroom/machines";
import type { ConversationDeps } from "../deps.ts";
import { appendInbox } from "../ports/append-inbox.ts";
import { closeRun } from "../ports/close-run.ts";
import { commitCheckpoint } from "../ports/commit-checkpoint.ts";
import { commitCompaction } from "../ports/commit-compaction.ts";
import { dispatchTools, expireCalls } from "../ports/dispatch-tools.ts";
import { finalizeRun } from "../ports/finalize-run.ts";
import { bindPort, type FindActivation } from "../ports/port.ts";
import { prepare } from "../ports/prepare.ts";
import { publishCheckpoint } from "../ports/publish-checkpoint.ts";
import { recordStep } from "../ports/record-step.ts";
import { bindRestore } from "../ports/restore.ts";
import { stopWork } from "../ports/stop-work.ts";
import { streamModel } from "../ports/stream-model.ts";
import { summarize } from "../ports/summarize.ts";

const longest = 2 ** 31 - 1;
const clamp = (ms: number): number => Math.max(0, Math.min(longest, Math.round(ms)));

/** The charts with their ports, delays and child: made once per process. */
export function provideCharts(deps: ConversationDeps, find: FindActivation): typeof conversationMachine {
  const { clock, entropy } = deps;
  const until = (deadline: number, otherwise: number): number =>
    clamp(deadline > 0 ? deadline - clock.now() : otherwise);
  const cursorRun = cursorRunMachine.provide({
    delays: {
      openingLimit: () => clamp(deps.settings.openingMs),
      heartbeatDelay: () =>
        clamp(
          deps.settings.heartbeatIntervalMs * (1 + (2 * entropy.random() - 1) * deps.settings.heartbeatJitterRatio),
        ),
      parkDelay: ({ context }) => until(context.parkDeadline, deps.settings.parkedRunTtlMs),
      claimLimit: () => clamp(deps.settings.claimMs),
      // a served Run's transport is watched by the gateway
      streamIdleLimit: () => longest,
    },
  });
  const machine = conversationMachine.provide({
    actors: {
      restore: bindRestore(find),
      prepare: bindPort("prepare", find, prepare),
      streamModel: bindPort("streamModel", find, streamModel),
      summarize: bindPort("summarize", find, summarize),
      commitCompaction: bindPort("commitCompaction", find, commitCompaction),
      recordStep: bindPort("recordStep", find, recordStep),
      dispatchTools: bindPort("dispatchTools", find, dispatchTools),
      stopWork: bindPort("stopWork", find, stopWork),
      appendInbox: bindPort("appendInbox", find, appendInbox),
      commitCheckpoint: bindPort("commitCheckpoint", find, commitCheckpoint),
      publishCheckpoint: bindPort("publishCheckpoint", find, publishCheckpoint),
      finalizeRun: bindPort("finalizeRun", find, finalizeRun),
      closeRun: bindPort("closeRun", find, closeRun),
      expireCalls: bindPort("expireCalls", find, expireCalls),
      // the chart knows its child by name only, so that the file stands alone
      cursorRun: cursorRun as never,
    },
    delays: {
      restoreLimit: () => clamp(deps.settings.restoreMs),
      passivateAfter: () => clamp(deps.settings.passivateMs),
      prepareLimit: () => clamp(deps.settings.prepareMs),
      modelLimit: () => clamp(deps.settings.modelMs),
      retryDelay: ({ context }) => clamp(context.retryAfterMs),
      parkedGateLimit: ({ context }) =>
        clamp(until(context.parkDeadline, deps.settings.parkedRunTtlMs) + deps.settings.claimMs),
      callDeadline: ({ context }) => until(context.callDeadline, deps.settings.callMs),
      interruptLimit: () => clamp(deps.settings.interruptMs),
      commitLimit: () => clamp(deps.settings.commitMs),
      ackLimit: () => clamp(deps.settings.ackMs),
      closeLimit: () => clamp(deps.settings.closeMs),
    },
  });
  const transition = machine.transition.bind(machine);
  machine.transition = (...args) => {
    const next = transition(...args);
    // each assign leaves a context that takes seven times the memory of a copy; one that rests keeps it for long
    if (next.value === "idle") next.context = { ...next.context };
    return next;
  };
  return machine;
}
