import { assign, cancel, emit, enqueueActions, raise, sendParent, setup } from "xstate";
import type {
  CursorRunContext,
  CursorRunEmitted,
  CursorRunEvent,
  CursorRunInput,
  RunChildReport,
  RunCloseReason,
} from "@chartroom/domain";

/** What has to do with one Run's stream; see `cursor-run.spec.md`. */
export const cursorRunMachine = setup({
  types: {
    context: {} as CursorRunContext,
    events: {} as CursorRunEvent,
    input: {} as CursorRunInput,
    emitted: {} as CursorRunEmitted,
    tags: {} as "open",
  },
  delays: {
    openingLimit: () => {
      throw new Error("openingLimit: not provided");
    },
    heartbeatDelay: () => {
      throw new Error("heartbeatDelay: not provided");
    },
    parkDelay: () => {
      throw new Error("parkDelay: not provided");
    },
    claimLimit: () => {
      throw new Error("claimLimit: not provided");
    },
    streamIdleLimit: () => {
      throw new Error("streamIdleLimit: not provided");
    },
  },
  guards: {
    isConsumed: ({ context }) => context.direction === "consumed",
    isRestored: ({ context }) => context.restored,
    isAttached: ({ context }) => context.attached,
  },
  actions: {
    noteAttached: assign({ attached: true, parkedAt: 0, parkDeadline: 0 }),
    noteClaimed: assign({ attached: true }),
    notePark: assign(({ event }) =>
      event.type === "transport.lost" || event.type === "tool.boundary"
        ? { attached: event.type === "tool.boundary", parkedAt: event.atMs, parkDeadline: event.parkDeadline }
        : {},
    ),
    noteParkAgain: assign(({ context, event }) =>
      event.type === "transport.lost"
        ? {
            attached: false,
            parkedAt: context.parkedAt || event.atMs,
            parkDeadline: context.parkDeadline || event.parkDeadline,
          }
        : { attached: false },
    ),
    noteDeadline: assign(({ event }) =>
      event.type === "settings.changed" ? { parkDeadline: event.parkDeadline } : {},
    ),
    noteClosed: assign(({ event }) => ({ attached: false, reason: event.type === "close" ? event.reason : null })),
    noteReason: assign((_, params: { readonly reason: RunCloseReason }) => ({
      attached: false,
      reason: params.reason,
    })),
    // a consumed Run is a root actor: it has no conversation to report to
    reportAttached: enqueueActions(({ context: { direction, runId }, enqueue }) => {
      if (direction === "served") enqueue(sendParent({ type: "run.attached", runId } satisfies RunChildReport));
    }),
    reportParked: enqueueActions(({ context: { direction, runId, parkDeadline }, enqueue }) => {
      if (direction === "served")
        enqueue(sendParent({ type: "run.parked", runId, parkDeadline } satisfies RunChildReport));
    }),
    reportExpired: sendParent(({ context }): RunChildReport => ({ type: "park.expired", runId: context.runId })),
    reportEvicted: sendParent(({ context }): RunChildReport => ({ type: "capacity.evicted", runId: context.runId })),
    beat: emit(({ context }): CursorRunEmitted => ({ type: "heartbeat", runId: context.runId })),
    armBeat: raise({ type: "beat" }, { id: "beat", delay: "heartbeatDelay" }),
    disarmBeat: cancel("beat"),
  },
}).createMachine({
  id: "cursorRun",
  version: "1",
  options: { maxIterations: 100 },
  description:
    "The stream of one Run: attached or not, parked, claimed, expired, heartbeats. It never writes the conversation's lifecycle.",
  context: ({ input }) => ({
    runId: input?.runId ?? "",
    direction: input?.direction ?? "served",
    attached: false,
    parkedAt: 0,
    parkDeadline: input?.parkDeadline ?? 0,
    restored: input?.restored ?? false,
    reason: null,
  }),
  initial: "opening",
  on: {
    close: { target: ".closed", actions: "noteClosed" },
    "settings.changed": { description: "Nothing is parked: new settings hold from the next park on." },
  },
  states: {
    opening: {
      id: "opening",
      tags: "open",
      description: "Capacity is reserved; the transport may come before or after the first append.",
      always: {
        guard: "isRestored",
        target: "parked",
        description: "A restored Run enters parked, with its stored deadline.",
      },
      on: {
        "transport.attached": { target: "active", actions: ["noteAttached", "reportAttached", "armBeat"] },
        "transport.lost": [
          {
            guard: "isConsumed",
            target: "closed",
            actions: { type: "noteReason", params: { reason: "stream-error" } },
          },
          { target: "parked", actions: ["notePark", "reportParked"] },
        ],
        claim: { target: "claimed", actions: "noteClaimed" },
      },
      after: {
        openingLimit: [
          {
            guard: "isConsumed",
            target: "closed",
            actions: { type: "noteReason", params: { reason: "stream-error" } },
          },
          { target: "parked", actions: "reportParked" },
        ],
      },
    },
    active: {
      id: "active",
      tags: "open",
      description: "A transport is attached.",
      on: {
        beat: { actions: ["beat", "armBeat"], description: "One-shot, re-armed with fresh jitter after every beat." },
        "transport.lost": [
          {
            guard: "isConsumed",
            target: "closed",
            actions: { type: "noteReason", params: { reason: "stream-error" } },
          },
          {
            target: "parked",
            actions: ["notePark", "disarmBeat", "reportParked"],
            description: "Losing a transport never cancels.",
          },
        ],
        "tool.boundary": { guard: "isConsumed", target: "parked", actions: "notePark" },
        claim: { target: "claimed" },
      },
      initial: "reading",
      states: {
        reading: {
          id: "reading",
          description: "Consumed Runs: bytes are due. Served Runs: the limit is the transport's own.",
          on: { "bytes.received": { target: "reading", reenter: true } },
          after: {
            streamIdleLimit: {
              guard: "isConsumed",
              target: "#closed",
              actions: { type: "noteReason", params: { reason: "stream-idle" } },
            },
          },
        },
      },
    },
    parked: {
      id: "parked",
      tags: "open",
      description:
        "Served: no transport; the Step in flight ends and is kept, open calls wait. Consumed: the step's results are awaited.",
      on: {
        beat: { guard: "isAttached", actions: ["beat", "armBeat"], description: "Consumed Runs beat while they wait." },
        claim: { target: "claimed", actions: "noteClaimed" },
        "transport.attached": { target: "claimed", actions: "noteClaimed" },
        "transport.lost": {
          guard: "isConsumed",
          target: "closed",
          actions: { type: "noteReason", params: { reason: "heartbeat-closed" } },
        },
        "settings.changed": {
          target: "parked",
          reenter: true,
          actions: ["noteDeadline", "reportParked"],
          description: "Re-armed from the original age.",
        },
        evict: [
          {
            guard: "isConsumed",
            target: "closed",
            actions: { type: "noteReason", params: { reason: "park-capacity" } },
          },
          { target: "closed", actions: [{ type: "noteReason", params: { reason: "park-capacity" } }, "reportEvicted"] },
        ],
      },
      after: {
        parkDelay: [
          {
            guard: "isConsumed",
            target: "closed",
            actions: { type: "noteReason", params: { reason: "park-ttl" } },
            description: "The binding stays.",
          },
          { target: "closed", actions: [{ type: "noteReason", params: { reason: "park-ttl" } }, "reportExpired"] },
        ],
      },
    },
    claimed: {
      id: "claimed",
      tags: "open",
      description: "The old downlink is closed, the replay is under way.",
      on: {
        "replay.finished": { target: "active", actions: ["noteAttached", "reportAttached", "disarmBeat", "armBeat"] },
        "transport.lost": [
          {
            guard: "isConsumed",
            target: "closed",
            actions: { type: "noteReason", params: { reason: "stream-error" } },
          },
          {
            target: "parked",
            actions: ["noteParkAgain", "disarmBeat", "reportParked"],
            description: "With the same deadline.",
          },
        ],
        claim: { description: "A newer downlink took over while the replay ran." },
        beat: { actions: ["beat", "armBeat"], description: "A claim leaves the heartbeats untouched." },
      },
      after: {
        claimLimit: {
          target: "active",
          actions: ["noteAttached", "reportAttached", "disarmBeat", "armBeat"],
          description: "A slow replay does not hold the Run up.",
        },
      },
    },
    closed: {
      id: "closed",
      type: "final",
      description: "With a stable reason.",
    },
  },
  output: ({ context }) => context.reason,
});
