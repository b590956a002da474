import type { CanonicalMessage } from "@chartroom/domain";
import { HEALING, type Problem } from "./problem.ts";
import { project } from "./project.ts";

export interface Finding extends Problem {
  /** What projection does about it, in words. */
  readonly healing: string;
}

/** What is wrong with a history, and how projection heals it. The rows are not touched. */
export function doctor(messages: readonly CanonicalMessage[]): readonly Finding[] {
  const { problems } = project(messages, { vendor: "", supportsImages: false, image: () => undefined });
  return problems.map((problem) => ({ ...problem, healing: HEALING[problem.kind] }));
}
