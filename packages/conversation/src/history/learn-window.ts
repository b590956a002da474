import type { ProviderFailure } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import { compiledOf } from "./compile.ts";
import type { LiveRun } from "../activation/live-run.ts";

/** The provider refused a request as too long: its real window is remembered, and told to whoever watches. */
export function learnWindow(
  { window, history, deps, conversationId }: Activation,
  run: LiveRun,
  failure: ProviderFailure,
): void {
  const compiled = compiledOf(run);
  const tokens = window.learn(history.view, compiled, failure.limitTokens);
  const { id, contextWindow } = compiled.model;
  if (tokens < contextWindow)
    deps.events({ type: "window.learned", conversationId, modelId: id, tokens, configured: contextWindow });
}
