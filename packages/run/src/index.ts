export { readArguments, type ReadArguments } from "./arguments.ts";
export { complete, type Completion, type CompletionInput } from "./complete.ts";
export type { CutShort, StepOutcome } from "./outcome.ts";
export { retryDecision, type RetryDecision, type RetryPolicy } from "./retry.ts";
export type { StepSink } from "./sink.ts";
export { streamStep, type StepInput } from "./step.ts";
