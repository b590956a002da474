export { type Adoption, adopt, resultsFor } from "./adopt.ts";
export * from "./chain.ts";
export type { Branch } from "./common.ts";
export * from "./compaction.ts";
export { type ContextSection, contextParts, sectionsOf } from "./context.ts";
export { cutText, RESULT_LIMIT } from "./cut.ts";
export * from "./doctor.ts";
export * from "./ids.ts";
export {
  append,
  type Appended,
  openCompletion,
  openInjection,
  openResume,
  openRuntime,
  openTurn,
  type Place,
  type TurnInput,
  type TurnOpening,
  type UserInput,
} from "./opening.ts";
export * from "./prefix.ts";
export { HEALING, type Problem, type ProblemKind } from "./problem.ts";
export * from "./project.ts";
export * from "./relate.ts";
export * from "./step.ts";
export * from "./tokens.ts";
export * from "./transcript.ts";
export * from "./view.ts";
export { type Imported, type DecodeResult, decodeCheckpoint } from "./wire/decode.ts";
export { CATEGORIES, type Category, type TokenDetails, tokenDetails, type TokenInput } from "./wire/details.ts";
export { type EncodeInput, type EncodeResult, encodeCheckpoint } from "./wire/encode.ts";
export { type PendingMarks, plainContract, type ToolContract } from "./wire/pending.ts";
export { type PlainHistory, readPlainHistory } from "./wire/plain.ts";
export type { BlobLookup } from "./wire/root.ts";
export {
  continuedBlobs,
  type Outline,
  type OutlineResult,
  readState,
  referencedBlobs,
  turnBlobs,
} from "./wire/state.ts";
export { stateSurvivors, type StateSurvivors } from "./wire/survivors.ts";
