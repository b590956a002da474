import { assign, emit, enqueueActions, fromCallback, setup, spawnChild, stopChild } from "xstate";
import type {
  ChartContext,
  ConversationEmitted,
  ConversationEvent,
  ConversationInput,
  CursorRunInput,
  FailureCode,
  Outcome,
  OutcomeKind,
  ReleaseReason,
  Urgency,
} from "@chartroom/domain";

/** Input of each port: which Run, which Step. Everything else is the activation's. */
type PortInput = { readonly conversationId: string; readonly runId: string; readonly step: number };

const urgencies: Readonly<Record<Urgency, number>> = { border: 0, settle: 1, now: 2 };
const fresh = {
  step: 0,
  attempt: 0,
  retryAfterMs: 0,
  compacted: false,
  asked: false,
  openCalls: 0,
  outcome: null,
  stop: null,
  callDeadline: 0,
} as const;
const noWaiting = {
  nextRunId: null,
  nextRunKind: "turn",
  nextAttached: false,
  nextAsked: false,
  nextParkDeadline: 0,
  followUp: false,
} as const;
const isCurrent = (context: ChartContext, event: ConversationEvent): boolean =>
  "runId" in event && event.runId === context.runId;
const settledAll = (event: ConversationEvent): boolean => event.type === "tool.settled" && event.open === 0;
const isWaiting = (context: ChartContext, event: ConversationEvent): boolean =>
  "runId" in event && event.runId === context.nextRunId;

/** The lifecycle of one conversation; see `conversation.spec.md`. */
export const conversationMachine = setup({
  types: {
    context: {} as ChartContext,
    events: {} as ConversationEvent,
    input: {} as ConversationInput,
    emitted: {} as ConversationEmitted,
    tags: {} as "active" | "ending" | "commit",
  },
  actors: {
    restore: fromCallback<ConversationEvent, PortInput>(() => {
      throw new Error("restore: not provided");
    }),
    prepare: fromCallback<ConversationEvent, PortInput>(() => {
      throw new Error("prepare: not provided");
    }),
    streamModel: fromCallback<ConversationEvent, PortInput>(() => {
      throw new Error("streamModel: not provided");
    }),
    summarize: fromCallback<ConversationEvent, PortInput>(() => {
      throw new Error("summarize: not provided");
    }),
    commitCompaction: fromCallback<ConversationEvent, PortInput>(() => {
      throw new Error("commitCompaction: not provided");
    }),
    recordStep: fromCallback<ConversationEvent, PortInput>(() => {
      throw new Error("recordStep: not provided");
    }),
    dispatchTools: fromCallback<ConversationEvent, PortInput>(() => {
      throw new Error("dispatchTools: not provided");
    }),
    stopWork: fromCallback<ConversationEvent, PortInput>(() => {
      throw new Error("stopWork: not provided");
    }),
    appendInbox: fromCallback<ConversationEvent, PortInput>(() => {
      throw new Error("appendInbox: not provided");
    }),
    commitCheckpoint: fromCallback<ConversationEvent, PortInput>(() => {
      throw new Error("commitCheckpoint: not provided");
    }),
    publishCheckpoint: fromCallback<ConversationEvent, PortInput>(() => {
      throw new Error("publishCheckpoint: not provided");
    }),
    finalizeRun: fromCallback<ConversationEvent, PortInput>(() => {
      throw new Error("finalizeRun: not provided");
    }),
    closeRun: fromCallback<ConversationEvent, PortInput>(() => {
      throw new Error("closeRun: not provided");
    }),
    expireCalls: fromCallback<ConversationEvent, PortInput>(() => {
      throw new Error("expireCalls: not provided");
    }),
    cursorRun: fromCallback<ConversationEvent, CursorRunInput>(() => {
      throw new Error("cursorRun: not provided");
    }),
  },
  delays: {
    restoreLimit: () => {
      throw new Error("restoreLimit: not provided");
    },
    passivateAfter: () => {
      throw new Error("passivateAfter: not provided");
    },
    prepareLimit: () => {
      throw new Error("prepareLimit: not provided");
    },
    modelLimit: () => {
      throw new Error("modelLimit: not provided");
    },
    retryDelay: () => {
      throw new Error("retryDelay: not provided");
    },
    parkedGateLimit: () => {
      throw new Error("parkedGateLimit: not provided");
    },
    callDeadline: () => {
      throw new Error("callDeadline: not provided");
    },
    interruptLimit: () => {
      throw new Error("interruptLimit: not provided");
    },
    commitLimit: () => {
      throw new Error("commitLimit: not provided");
    },
    ackLimit: () => {
      throw new Error("ackLimit: not provided");
    },
    closeLimit: () => {
      throw new Error("closeLimit: not provided");
    },
  },
  guards: {
    isCurrentRun: ({ context, event }) => isCurrent(context, event),
    isWaitingRun: ({ context, event }) => isWaiting(context, event),
    closedWithWaiting: ({ context, event }) => isCurrent(context, event) && context.nextRunId !== null,
    hasWaitingRun: ({ context }) => context.nextRunId !== null,
    restoresTo: ({ event }, params: { readonly state: string }) =>
      event.type === "restored" && event.resume === params.state,
    restoredStopped: ({ event }) =>
      event.type === "restored" && event.resume !== "idle" && (event.context?.stop ?? null) !== null,
    inboxNotEmpty: ({ context }) => context.joins > 0,
    preparedToSummarize: ({ context, event }) => isCurrent(context, event) && context.runKind === "summarize",
    completedWithInbox: ({ context, event }) => isCurrent(context, event) && context.joins > 0,
    isParked: ({ context }) => !context.attached && !context.nextAttached,
    isAttached: ({ context }) => context.attached,
    mayCallModel: ({ context }) => context.attached || context.asked,
    mayRetry: ({ context, event }) =>
      isCurrent(context, event) &&
      event.type === "model.failed" &&
      event.retryable &&
      context.attempt + 1 < context.maxAttempts,
    mayCompact: ({ context, event }) => isCurrent(context, event) && !context.compacted,
    summarizeRunDone: ({ context, event }) => isCurrent(context, event) && context.runKind === "summarize",
    interruptsNow: ({ event }) => event.type === "inbox.filled" && event.joins > 0 && event.urgency === "now",
    interruptsModel: ({ event }) => event.type === "inbox.filled" && event.joins > 0 && event.urgency !== "border",
    fillsInbox: ({ event }) => event.type === "inbox.filled" && event.joins > 0,
    stopFlagged: ({ context, event }) => isCurrent(context, event) && context.stop !== null,
    recordedWithUrgentInbox: ({ context, event }) =>
      isCurrent(context, event) && context.joins > 0 && context.urgency === "now",
    settledAtStepLimit: ({ context, event }) =>
      isCurrent(context, event) && settledAll(event) && context.step >= context.maxSteps,
    lastCallSettled: ({ context, event }) => isCurrent(context, event) && settledAll(event),
    settledWithMoreInbox: ({ context, event }) =>
      isCurrent(context, event) && event.type === "interrupt.settled" && event.joins > 0,
    mayPublish: ({ context, event }) =>
      isCurrent(context, event) && context.attached && context.outcome?.kind !== "superseded",
  },
  actions: {
    takeRestored: assign(({ context, event }) =>
      event.type === "restored" && event.context !== null
        ? {
            ...event.context,
            fence: context.fence,
            conversationId: context.conversationId,
            maxAttempts: context.maxAttempts,
            maxSteps: context.maxSteps,
            attached: false,
            asked: false,
            nextAttached: false,
            release: null,
          }
        : {},
    ),
    adoptRun: assign(({ event }) =>
      event.type === "run.requested"
        ? { ...fresh, runId: event.runId, runKind: event.kind, asked: event.asked, parkDeadline: 0 }
        : {},
    ),
    adoptWaiting: assign(({ context }) => ({
      ...fresh,
      runId: context.nextRunId,
      runKind: context.nextRunKind,
      attached: context.nextAttached,
      asked: context.nextAsked,
      parkDeadline: context.nextParkDeadline,
      urgency: "border" as const,
      ...noWaiting,
    })),
    queueRun: assign(({ event }) =>
      event.type === "run.requested"
        ? {
            nextRunId: event.runId,
            nextRunKind: event.kind,
            nextAttached: false,
            nextAsked: event.asked,
            followUp: event.followUp,
            nextParkDeadline: 0,
          }
        : {},
    ),
    dropWaiting: assign(noWaiting),
    leaveRun: assign({ ...fresh, runId: null, runKind: "turn", attached: false, parkDeadline: 0, urgency: "border" }),
    spawnRequested: spawnChild("cursorRun", {
      id: ({ event }) => `run:${"runId" in event ? event.runId : ""}`,
      input: ({ event }): CursorRunInput => ({
        runId: "runId" in event ? event.runId : "",
        direction: "served",
        parkDeadline: event.type === "run.requested" ? event.parkDeadline : 0,
        restored: false,
      }),
    }),
    spawnRestored: enqueueActions(({ context, enqueue }) => {
      const parked = (runId: string, parkDeadline: number): void => {
        const input: CursorRunInput = { runId, direction: "served", parkDeadline, restored: true };
        enqueue.spawnChild("cursorRun", { id: `run:${runId}`, input });
      };
      if (context.runId !== null) parked(context.runId, context.parkDeadline);
      if (context.nextRunId !== null) parked(context.nextRunId, context.nextParkDeadline);
    }),
    stopRun: stopChild(({ context }) => `run:${context.runId ?? ""}`),
    stopWaiting: stopChild(({ context }) => `run:${context.nextRunId ?? ""}`),
    tellWaitingReplaced: emit(({ context }): ConversationEmitted => ({
      type: "waiting.replaced",
      runId: context.nextRunId ?? "",
    })),
    tellWaitingCancelled: emit(({ context }): ConversationEmitted => ({
      type: "waiting.cancelled",
      runId: context.nextRunId ?? "",
    })),
    tellWaitingEnded: emit(({ context }, params: { readonly code: FailureCode }): ConversationEmitted => ({
      type: "waiting.expired",
      runId: context.nextRunId ?? "",
      code: params.code,
    })),
    noteInbox: assign(({ context, event }) =>
      event.type === "inbox.filled"
        ? {
            joins: event.joins,
            urgency: urgencies[event.urgency] > urgencies[context.urgency] ? event.urgency : context.urgency,
          }
        : {},
    ),
    notePrepared: assign(({ event }) => (event.type === "prepared" ? { joins: event.joins } : {})),
    noteAppended: assign(({ event }) =>
      event.type === "interrupt.settled"
        ? { joins: event.joins, urgency: "border" as const, attempt: 0, asked: true }
        : {},
    ),
    noteAttached: assign({ attached: true, parkDeadline: 0 }),
    noteParked: assign(({ event }) =>
      event.type === "run.parked" ? { attached: false, parkDeadline: event.parkDeadline } : {},
    ),
    noteWaitingAttached: assign({ nextAttached: true, nextParkDeadline: 0 }),
    noteWaitingParked: assign(({ event }) =>
      event.type === "run.parked" ? { nextAttached: false, nextParkDeadline: event.parkDeadline } : {},
    ),
    beginStep: assign(({ context }) => ({
      step: context.attempt === 0 ? context.step + 1 : context.step,
      retryAfterMs: 0,
    })),
    endStep: assign({ attempt: 0, asked: false }),
    noteFailure: assign(({ context, event }) =>
      event.type === "model.failed" ? { attempt: context.attempt + 1, retryAfterMs: event.retryAfterMs } : {},
    ),
    noteCompaction: assign({ compacted: true, attempt: 1 }),
    noteOpenCalls: assign(({ event }) =>
      event.type === "step.recorded" || event.type === "tool.settled"
        ? { openCalls: event.open, callDeadline: event.callDeadline }
        : event.type === "tool.renewed"
          ? { callDeadline: event.callDeadline }
          : {},
    ),
    noCallsOpen: assign({ openCalls: 0, callDeadline: 0 }),
    decide: assign(({ context }, params: { readonly kind: OutcomeKind; readonly code: FailureCode | null }) => ({
      outcome: context.outcome ?? context.stop ?? ({ kind: params.kind, code: params.code } satisfies Outcome),
      stop: null,
    })),
    // no stop is flagged where a port's own failure decides: the states of a commit look at the flag first
    decideByEvent: assign(({ context, event }) => ({
      outcome:
        context.outcome ?? ({ kind: "failed", code: "code" in event ? event.code : "INTERNAL" } satisfies Outcome),
    })),
    decideFlagged: assign(({ context }) => ({ outcome: context.outcome ?? context.stop, stop: null })),
    flagStop: assign(({ context }, params: { readonly kind: OutcomeKind; readonly code: FailureCode }) => ({
      stop: context.stop ?? ({ kind: params.kind, code: params.code } satisfies Outcome),
    })),
    noteRelease: assign((_, params: { readonly reason: ReleaseReason }) => ({ release: params.reason })),
  },
}).createMachine({
  id: "conversation",
  version: "1",
  options: { maxIterations: 100 },
  description: "One conversation. The only writer of its lifecycle; gateway, tools and providers send it events.",
  context: ({ input }) => ({
    conversationId: input?.conversationId ?? "",
    fence: input?.fence ?? 0,
    runId: null,
    runKind: "turn",
    ...fresh,
    ...noWaiting,
    maxAttempts: input?.maxAttempts ?? 1,
    maxSteps: input?.maxSteps ?? 1,
    attached: false,
    joins: 0,
    urgency: "border",
    parkDeadline: 0,
    release: null,
  }),
  initial: "restoring",
  on: {
    "run.requested": [
      {
        guard: "hasWaitingRun",
        actions: ["tellWaitingReplaced", "stopWaiting", "queueRun", "spawnRequested"],
        description: "One Run may wait; a newer one replaces it.",
      },
      { actions: ["queueRun", "spawnRequested"], description: "It waits for the end of the Run that lives." },
    ],
    "inbox.filled": { actions: "noteInbox", description: "Looked at at the next border." },
    cancel: [
      {
        guard: "isCurrentRun",
        target: ".checkpointing",
        actions: { type: "decide", params: { kind: "cancelled", code: "CANCELLED" } },
      },
      {
        guard: "isWaitingRun",
        actions: ["tellWaitingCancelled", "stopWaiting", "dropWaiting"],
        description: "The Run that lives goes its own way.",
      },
    ],
    "run.superseded": {
      guard: "isCurrentRun",
      target: ".checkpointing",
      actions: { type: "decide", params: { kind: "superseded", code: "SUPERSEDED" } },
    },
    "park.expired": [
      {
        guard: "isCurrentRun",
        target: ".checkpointing",
        actions: { type: "decide", params: { kind: "failed", code: "PARK_EXPIRED" } },
      },
      {
        guard: "isWaitingRun",
        actions: [{ type: "tellWaitingEnded", params: { code: "PARK_EXPIRED" } }, "stopWaiting", "dropWaiting"],
      },
    ],
    "capacity.evicted": [
      {
        guard: "isCurrentRun",
        target: ".checkpointing",
        actions: { type: "decide", params: { kind: "failed", code: "PARK_CAPACITY" } },
      },
      {
        guard: "isWaitingRun",
        actions: [{ type: "tellWaitingEnded", params: { code: "PARK_CAPACITY" } }, "stopWaiting", "dropWaiting"],
      },
    ],
    "run.attached": [
      { guard: "isCurrentRun", actions: "noteAttached" },
      { guard: "isWaitingRun", actions: "noteWaitingAttached" },
    ],
    "run.parked": [
      { guard: "isCurrentRun", actions: "noteParked", description: "Losing a transport never cancels." },
      { guard: "isWaitingRun", actions: "noteWaitingParked" },
    ],
    "store.unavailable": {
      target: ".released",
      actions: { type: "noteRelease", params: { reason: "store-unavailable" } },
    },
    "fence.lost": { target: ".released", actions: { type: "noteRelease", params: { reason: "fence-lost" } } },
    "port.failed": {
      target: ".checkpointing",
      actions: { type: "decide", params: { kind: "failed", code: "INTERNAL" } },
    },
    passivate: { description: "What works or is read stays in memory." },
  },
  states: {
    restoring: {
      id: "restoring",
      description: "Decodes and validates the stored state and decides where to go on.",
      invoke: {
        id: "restore",
        src: "restore",
        input: ({ context }) => ({ conversationId: context.conversationId, runId: "", step: 0 }),
        onError: { target: "released", actions: { type: "noteRelease", params: { reason: "restore-failed" } } },
      },
      on: {
        restored: [
          {
            guard: "restoredStopped",
            target: "checkpointing",
            actions: ["takeRestored", "spawnRestored", "decideFlagged"],
            description: "A stop that came during the commit which the node did not survive.",
          },
          {
            guard: { type: "restoresTo", params: { state: "preparing" } },
            target: "preparing",
            actions: ["takeRestored", "spawnRestored"],
          },
          {
            guard: { type: "restoresTo", params: { state: "modeling" } },
            target: "modeling",
            actions: ["takeRestored", "spawnRestored"],
          },
          {
            guard: { type: "restoresTo", params: { state: "waitingTools" } },
            target: "#dispatching",
            actions: ["takeRestored", "spawnRestored"],
          },
          {
            guard: { type: "restoresTo", params: { state: "interrupting" } },
            target: "interrupting",
            actions: ["takeRestored", "spawnRestored"],
          },
          {
            guard: { type: "restoresTo", params: { state: "checkpointing" } },
            target: "checkpointing",
            actions: ["takeRestored", "spawnRestored"],
          },
          {
            guard: { type: "restoresTo", params: { state: "finalizing" } },
            target: "finalizing",
            actions: ["takeRestored", "spawnRestored"],
          },
          { target: "idle", actions: "takeRestored" },
        ],
        "restore.failed": {
          target: "released",
          actions: { type: "noteRelease", params: { reason: "restore-failed" } },
        },
        cancel: { description: "The service sends no command before the actor is restored." },
        "run.superseded": { description: "The service sends no command before the actor is restored." },
        "port.failed": { target: "released", actions: { type: "noteRelease", params: { reason: "restore-failed" } } },
      },
      after: {
        restoreLimit: {
          target: "released",
          actions: { type: "noteRelease", params: { reason: "store-unavailable" } },
          description: "It waits for the store alone.",
        },
      },
    },
    idle: {
      id: "idle",
      description: "No Run. May leave memory.",
      on: {
        "run.requested": { target: "preparing", actions: ["adoptRun", "spawnRequested"] },
        passivate: { target: "released", actions: { type: "noteRelease", params: { reason: "passivated" } } },
        cancel: { description: "Acknowledged: there is nothing to stop." },
        "run.superseded": { description: "Acknowledged: there is nothing to stop." },
        "port.failed": { description: "No port works here." },
      },
      after: {
        passivateAfter: { target: "released", actions: { type: "noteRelease", params: { reason: "passivated" } } },
      },
    },
    preparing: {
      id: "preparing",
      tags: "active",
      description:
        "Claims the Run in the store, imports blobs, adopts or branches history, appends context and the user's event, resolves the model, compiles.",
      invoke: {
        id: "prepare",
        src: "prepare",
        input: ({ context }) => ({
          conversationId: context.conversationId,
          runId: context.runId ?? "",
          step: context.step,
        }),
        onError: {
          target: "finalizing",
          actions: { type: "decide", params: { kind: "failed", code: "PREPARE_FAILED" } },
        },
      },
      on: {
        prepared: [
          { guard: "preparedToSummarize", target: "#compacting", actions: "notePrepared" },
          { guard: "isCurrentRun", target: "modeling", actions: "notePrepared" },
        ],
        "prepare.failed": { guard: "isCurrentRun", target: "finalizing", actions: "decideByEvent" },
        "port.failed": {
          target: "finalizing",
          actions: { type: "decide", params: { kind: "failed", code: "PREPARE_FAILED" } },
        },
      },
      initial: "parked",
      states: {
        attached: {
          id: "preparingAttached",
          description: "A client is there, and answers or not: the bound counts, anew for one that takes over.",
          on: {
            "run.parked": { guard: "isCurrentRun", target: "parked", actions: "noteParked" },
            "run.attached": { guard: "isCurrentRun", target: "attached", reenter: true },
          },
          after: {
            prepareLimit: {
              target: "#finalizing",
              actions: { type: "decide", params: { kind: "failed", code: "PREPARE_TIMEOUT" } },
            },
          },
        },
        parked: {
          id: "preparingParked",
          description: "No transport: what only the client has is asked again of the one that comes.",
          always: { guard: "isAttached", target: "attached" },
          on: {
            passivate: {
              guard: "isParked",
              target: "#released",
              actions: { type: "noteRelease", params: { reason: "passivated" } },
              description: "A parked Run leaves memory; its deadline is in the store.",
            },
          },
          after: {
            parkedGateLimit: {
              target: "#checkpointing",
              actions: { type: "decide", params: { kind: "failed", code: "PARK_EXPIRED" } },
            },
          },
        },
      },
    },
    modeling: {
      id: "modeling",
      tags: "active",
      description: "One provider call; its deltas go straight to the output log.",
      initial: "gate",
      states: {
        gate: {
          id: "gate",
          description:
            "A model step does not begin without a transport, nobody would read it; unless an inbox entry asks for it.",
          always: [
            {
              guard: "inboxNotEmpty",
              target: "#interrupting",
              description: "What came in joins before the model is called.",
            },
            { guard: "mayCallModel", target: "streaming" },
          ],
          on: {
            passivate: {
              guard: "isParked",
              target: "#released",
              actions: { type: "noteRelease", params: { reason: "passivated" } },
              description: "A parked Run leaves memory; its deadline is in the store.",
            },
          },
          after: {
            parkedGateLimit: {
              target: "#checkpointing",
              actions: { type: "decide", params: { kind: "failed", code: "PARK_EXPIRED" } },
            },
          },
        },
        streaming: {
          id: "streaming",
          description: "The provider streams.",
          entry: "beginStep",
          invoke: {
            id: "streamModel",
            src: "streamModel",
            input: ({ context }) => ({
              conversationId: context.conversationId,
              runId: context.runId ?? "",
              step: context.step,
            }),
            onError: {
              target: "#checkpointing",
              actions: { type: "decide", params: { kind: "failed", code: "INTERNAL" } },
            },
          },
          on: {
            "model.toolCalls": { guard: "isCurrentRun", target: "#waitingTools", actions: "endStep" },
            "model.completed": [
              { guard: "completedWithInbox", target: "#interrupting", actions: "endStep" },
              {
                guard: "isCurrentRun",
                target: "#checkpointing",
                actions: ["endStep", { type: "decide", params: { kind: "completed", code: null } }],
              },
            ],
            "model.failed": [
              { guard: "mayRetry", target: "retrying", actions: "noteFailure" },
              { guard: "isCurrentRun", target: "#checkpointing", actions: "decideByEvent" },
            ],
            "model.overflowed": [
              { guard: "mayCompact", target: "compacting" },
              {
                guard: "isCurrentRun",
                target: "#checkpointing",
                actions: { type: "decide", params: { kind: "failed", code: "CONTEXT_TOO_LONG" } },
              },
            ],
            "inbox.filled": { guard: "interruptsModel", target: "#interrupting", actions: "noteInbox" },
          },
          after: {
            modelLimit: {
              target: "#checkpointing",
              actions: { type: "decide", params: { kind: "failed", code: "PROVIDER_TIMEOUT" } },
            },
          },
        },
        retrying: {
          id: "retrying",
          description: "Nothing of this Step was shown: the call is made again after the provider's own delay.",
          on: { "inbox.filled": { guard: "fillsInbox", target: "#interrupting", actions: "noteInbox" } },
          after: { retryDelay: "gate" },
        },
        compacting: {
          id: "compacting",
          description: "The history outgrew the model's window, or the user asked: a summary becomes the new prefix.",
          initial: "waiting",
          states: {
            waiting: {
              id: "compactionGate",
              description: "A summary is a model call too.",
              always: { guard: "mayCallModel", target: "summarizing" },
              on: {
                "inbox.filled": { guard: "interruptsModel", target: "#interrupting", actions: "noteInbox" },
              },
              after: {
                parkedGateLimit: {
                  target: "#checkpointing",
                  actions: { type: "decide", params: { kind: "failed", code: "PARK_EXPIRED" } },
                },
              },
            },
            summarizing: {
              id: "summarizing",
              description: "A model call without tools writes the summary.",
              invoke: {
                id: "summarize",
                src: "summarize",
                input: ({ context }) => ({
                  conversationId: context.conversationId,
                  runId: context.runId ?? "",
                  step: context.step,
                }),
                onError: {
                  target: "#checkpointing",
                  actions: { type: "decide", params: { kind: "failed", code: "INTERNAL" } },
                },
              },
              on: {
                "compaction.summarized": { guard: "isCurrentRun", target: "commit" },
                "compaction.failed": { guard: "isCurrentRun", target: "#checkpointing", actions: "decideByEvent" },
                "inbox.filled": { guard: "interruptsModel", target: "#interrupting", actions: "noteInbox" },
              },
              after: {
                modelLimit: {
                  target: "#checkpointing",
                  actions: { type: "decide", params: { kind: "failed", code: "PROVIDER_TIMEOUT" } },
                },
              },
            },
            commit: {
              id: "compactionCommit",
              tags: "commit",
              description: "Commits the new prefix; commands wait.",
              invoke: {
                id: "commitCompaction",
                src: "commitCompaction",
                input: ({ context }) => ({
                  conversationId: context.conversationId,
                  runId: context.runId ?? "",
                  step: context.step,
                }),
                onError: {
                  target: "#checkpointing",
                  actions: { type: "decide", params: { kind: "failed", code: "INTERNAL" } },
                },
              },
              on: {
                "compaction.committed": [
                  { guard: "stopFlagged", target: "#checkpointing", actions: ["noteCompaction", "decideFlagged"] },
                  {
                    guard: "summarizeRunDone",
                    target: "#checkpointing",
                    actions: ["noteCompaction", { type: "decide", params: { kind: "completed", code: null } }],
                  },
                  { guard: "isCurrentRun", target: "#gate", actions: "noteCompaction" },
                ],
                cancel: {
                  guard: "isCurrentRun",
                  actions: { type: "flagStop", params: { kind: "cancelled", code: "CANCELLED" } },
                },
                "run.superseded": {
                  guard: "isCurrentRun",
                  actions: { type: "flagStop", params: { kind: "superseded", code: "SUPERSEDED" } },
                },
                "park.expired": {
                  guard: "isCurrentRun",
                  actions: { type: "flagStop", params: { kind: "failed", code: "PARK_EXPIRED" } },
                },
                "capacity.evicted": {
                  guard: "isCurrentRun",
                  actions: { type: "flagStop", params: { kind: "failed", code: "PARK_CAPACITY" } },
                },
              },
              after: {
                commitLimit: {
                  target: "#released",
                  actions: { type: "noteRelease", params: { reason: "store-unavailable" } },
                },
              },
            },
          },
        },
      },
    },
    waitingTools: {
      id: "waitingTools",
      tags: "active",
      description: "The calls of the Step: committed, then carried out by the client in parallel.",
      initial: "recording",
      states: {
        recording: {
          id: "recording",
          tags: "commit",
          description:
            "Barrier: the assistant message and its calls are committed before any call goes out; commands wait.",
          invoke: {
            id: "recordStep",
            src: "recordStep",
            input: ({ context }) => ({
              conversationId: context.conversationId,
              runId: context.runId ?? "",
              step: context.step,
            }),
            onError: {
              target: "#checkpointing",
              actions: { type: "decide", params: { kind: "failed", code: "INTERNAL" } },
            },
          },
          on: {
            "step.recorded": [
              { guard: "stopFlagged", target: "#checkpointing", actions: ["noteOpenCalls", "decideFlagged"] },
              { guard: "recordedWithUrgentInbox", target: "#interrupting", actions: "noteOpenCalls" },
              { guard: "isCurrentRun", target: "dispatching", actions: "noteOpenCalls" },
            ],
            cancel: {
              guard: "isCurrentRun",
              actions: { type: "flagStop", params: { kind: "cancelled", code: "CANCELLED" } },
            },
            "run.superseded": {
              guard: "isCurrentRun",
              actions: { type: "flagStop", params: { kind: "superseded", code: "SUPERSEDED" } },
            },
            "park.expired": {
              guard: "isCurrentRun",
              actions: { type: "flagStop", params: { kind: "failed", code: "PARK_EXPIRED" } },
            },
            "capacity.evicted": {
              guard: "isCurrentRun",
              actions: { type: "flagStop", params: { kind: "failed", code: "PARK_CAPACITY" } },
            },
          },
          after: {
            commitLimit: {
              target: "#released",
              actions: { type: "noteRelease", params: { reason: "store-unavailable" } },
            },
          },
        },
        dispatching: {
          id: "dispatching",
          description: "Calls are out; each result is committed when it arrives.",
          invoke: {
            id: "dispatchTools",
            src: "dispatchTools",
            input: ({ context }) => ({
              conversationId: context.conversationId,
              runId: context.runId ?? "",
              step: context.step,
            }),
            onError: {
              target: "#checkpointing",
              actions: { type: "decide", params: { kind: "failed", code: "INTERNAL" } },
            },
          },
          on: {
            "tool.settled": [
              {
                guard: "settledAtStepLimit",
                target: "#checkpointing",
                actions: ["noteOpenCalls", { type: "decide", params: { kind: "failed", code: "STEP_LIMIT" } }],
              },
              { guard: "lastCallSettled", target: "#modeling", actions: "noteOpenCalls" },
              { guard: "isCurrentRun", actions: "noteOpenCalls" },
            ],
            passivate: {
              guard: "isParked",
              target: "#released",
              actions: { type: "noteRelease", params: { reason: "passivated" } },
              description: "A parked Run leaves memory; its deadline is in the store.",
            },
            "inbox.filled": { guard: "interruptsNow", target: "#interrupting", actions: "noteInbox" },
          },
          initial: "watching",
          states: {
            watching: {
              id: "watching",
              description: "Waits for the earliest deadline of an open call; exec heartbeats renew it.",
              on: {
                "tool.renewed": { guard: "isCurrentRun", target: "watching", reenter: true, actions: "noteOpenCalls" },
              },
              after: { callDeadline: "expiring" },
            },
            expiring: {
              id: "expiring",
              description:
                "Calls whose deadline has passed are closed as failed; each gives a `tool.settled`, a call that was renewed meanwhile a `tool.renewed`.",
              invoke: {
                id: "expireCalls",
                src: "expireCalls",
                input: ({ context }) => ({
                  conversationId: context.conversationId,
                  runId: context.runId ?? "",
                  step: context.step,
                }),
                onError: {
                  target: "#checkpointing",
                  actions: { type: "decide", params: { kind: "failed", code: "INTERNAL" } },
                },
              },
              on: { "tool.renewed": { guard: "isCurrentRun", target: "watching", actions: "noteOpenCalls" } },
              after: {
                commitLimit: {
                  target: "#released",
                  actions: { type: "noteRelease", params: { reason: "store-unavailable" } },
                },
              },
            },
          },
        },
      },
    },
    interrupting: {
      id: "interrupting",
      tags: "active",
      description: "Stops what runs, then lets the inbox join: same Run, same conversation.",
      initial: "stopping",
      states: {
        stopping: {
          id: "stopping",
          description: "Stops the model, aborts the open calls; writes nothing.",
          invoke: {
            id: "stopWork",
            src: "stopWork",
            input: ({ context }) => ({
              conversationId: context.conversationId,
              runId: context.runId ?? "",
              step: context.step,
            }),
            onError: {
              target: "#checkpointing",
              actions: { type: "decide", params: { kind: "failed", code: "INTERNAL" } },
            },
          },
          on: { "work.stopped": { guard: "isCurrentRun", target: "appending", actions: "noCallsOpen" } },
          after: {
            interruptLimit: {
              target: "#checkpointing",
              actions: { type: "decide", params: { kind: "failed", code: "INTERNAL" } },
            },
          },
        },
        appending: {
          id: "appending",
          tags: "commit",
          description:
            "Commits shown text as partial, results of aborted calls, then the inbox rows in order; commands wait.",
          invoke: {
            id: "appendInbox",
            src: "appendInbox",
            input: ({ context }) => ({
              conversationId: context.conversationId,
              runId: context.runId ?? "",
              step: context.step,
            }),
            onError: {
              target: "#checkpointing",
              actions: { type: "decide", params: { kind: "failed", code: "INTERNAL" } },
            },
          },
          on: {
            "interrupt.settled": [
              { guard: "stopFlagged", target: "#checkpointing", actions: ["noteAppended", "decideFlagged"] },
              { guard: "settledWithMoreInbox", target: "appending", reenter: true, actions: "noteAppended" },
              { guard: "isCurrentRun", target: "#modeling", actions: "noteAppended" },
            ],
            cancel: {
              guard: "isCurrentRun",
              actions: { type: "flagStop", params: { kind: "cancelled", code: "CANCELLED" } },
            },
            "run.superseded": {
              guard: "isCurrentRun",
              actions: { type: "flagStop", params: { kind: "superseded", code: "SUPERSEDED" } },
            },
            "park.expired": {
              guard: "isCurrentRun",
              actions: { type: "flagStop", params: { kind: "failed", code: "PARK_EXPIRED" } },
            },
            "capacity.evicted": {
              guard: "isCurrentRun",
              actions: { type: "flagStop", params: { kind: "failed", code: "PARK_CAPACITY" } },
            },
          },
          after: {
            commitLimit: {
              target: "#released",
              actions: { type: "noteRelease", params: { reason: "store-unavailable" } },
            },
          },
        },
      },
    },
    checkpointing: {
      id: "checkpointing",
      tags: "ending",
      description: "The Run's work is over: the last checkpoint, before the terminal.",
      initial: "commit",
      on: {
        cancel: [
          { guard: "isWaitingRun", actions: ["tellWaitingCancelled", "stopWaiting", "dropWaiting"] },
          { description: "Acknowledged; the outcome stays." },
        ],
        "run.superseded": { description: "Acknowledged; the outcome stays." },
        "park.expired": { guard: "isCurrentRun", description: "Acknowledged; the outcome stays." },
        "capacity.evicted": { guard: "isCurrentRun", description: "Acknowledged; the outcome stays." },
        "port.failed": { target: "finalizing" },
      },
      states: {
        commit: {
          id: "checkpointCommit",
          tags: "commit",
          description: "Keeps shown text as partial, closes open calls as interrupted, commits the head.",
          invoke: {
            id: "commitCheckpoint",
            src: "commitCheckpoint",
            input: ({ context }) => ({
              conversationId: context.conversationId,
              runId: context.runId ?? "",
              step: context.step,
            }),
            onError: { target: "#finalizing" },
          },
          on: {
            "checkpoint.committed": [
              { guard: "mayPublish", target: "publishing", actions: "noCallsOpen" },
              { guard: "isCurrentRun", target: "#finalizing", actions: "noCallsOpen" },
            ],
          },
          after: {
            commitLimit: {
              target: "#released",
              actions: { type: "noteRelease", params: { reason: "store-unavailable" } },
            },
          },
        },
        publishing: {
          id: "publishing",
          description: "Missing blobs go to the client; once they are acknowledged the checkpoint is published.",
          invoke: {
            id: "publishCheckpoint",
            src: "publishCheckpoint",
            input: ({ context }) => ({
              conversationId: context.conversationId,
              runId: context.runId ?? "",
              step: context.step,
            }),
            onError: { target: "#finalizing" },
          },
          on: {
            "checkpoint.published": { guard: "isCurrentRun", target: "#finalizing" },
            "run.parked": { guard: "isCurrentRun", target: "#finalizing", actions: "noteParked" },
          },
          after: {
            ackLimit: {
              target: "#finalizing",
              description: "Not published: the head counts as undelivered and is sent first at the next contact.",
            },
          },
        },
      },
    },
    finalizing: {
      id: "finalizing",
      tags: "ending",
      description: "Outcome and release of the Run in one transaction; then turn_ended, the terminal, and `delivered`.",
      initial: "commit",
      on: {
        cancel: [
          { guard: "isWaitingRun", actions: ["tellWaitingCancelled", "stopWaiting", "dropWaiting"] },
          { description: "Acknowledged; the outcome stays." },
        ],
        "run.superseded": { description: "Acknowledged; the outcome stays." },
        "park.expired": { guard: "isCurrentRun", description: "Acknowledged; the outcome stays." },
        "capacity.evicted": { guard: "isCurrentRun", description: "Acknowledged; the outcome stays." },
        "port.failed": { target: "released", actions: { type: "noteRelease", params: { reason: "port-failed" } } },
      },
      states: {
        commit: {
          id: "finalCommit",
          tags: "commit",
          description: "Commits the outcome and the release of the Run.",
          invoke: {
            id: "finalizeRun",
            src: "finalizeRun",
            input: ({ context }) => ({
              conversationId: context.conversationId,
              runId: context.runId ?? "",
              step: context.step,
            }),
            onError: { target: "#released", actions: { type: "noteRelease", params: { reason: "port-failed" } } },
          },
          on: { "run.finalized": { guard: "isCurrentRun", target: "closing" } },
          after: {
            commitLimit: {
              target: "#released",
              actions: { type: "noteRelease", params: { reason: "store-unavailable" } },
            },
          },
        },
        closing: {
          id: "closing",
          description: "Tells the client: turn_ended, then the terminal unless a follow-up is queued on this stream.",
          invoke: {
            id: "closeRun",
            src: "closeRun",
            input: ({ context }) => ({
              conversationId: context.conversationId,
              runId: context.runId ?? "",
              step: context.step,
            }),
            onError: { target: "#released", actions: { type: "noteRelease", params: { reason: "port-failed" } } },
          },
          on: {
            "run.closed": [
              { guard: "closedWithWaiting", target: "#preparing", actions: ["stopRun", "adoptWaiting"] },
              { guard: "isCurrentRun", target: "#idle", actions: ["stopRun", "leaveRun"] },
            ],
          },
          after: {
            closeLimit: { target: "#released", actions: { type: "noteRelease", params: { reason: "port-failed" } } },
          },
        },
      },
    },
    released: {
      id: "released",
      type: "final",
      description: "This activation is over, the conversation is not: it comes back by any command.",
    },
  },
  output: ({ context }) => context.release,
});
