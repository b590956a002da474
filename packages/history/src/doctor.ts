import type { CanonicalMessage } from "@chartroom/domain";
import { HEALING, type Problem } from "./problem.ts";
import { project } from "./project.ts";

export interface Finding extends Problem {
  /** What projection does about it, in words. */
  readonly healing: string;
}

/** Whom the history goes to next: what one vendor refuses another takes. */
export interface DoctorOptions {
  readonly vendor?: string;
  readonly requireThinking?: boolean;
}

/** What is wrong with a history, and how projection heals it. The rows are not touched. */
export function doctor(
  messages: readonly CanonicalMessage[],
  { vendor = "", requireThinking = false }: DoctorOptions = {},
): readonly Finding[] {
  const { problems } = project(messages, { vendor, requireThinking, supportsImages: false, image: () => undefined });
  return problems.map((problem) => ({ ...problem, healing: HEALING[problem.kind] }));
}
