import type { Clock, ModelProvider, ModelRequest } from "@chartroom/domain";
import type { DemoConfig } from "../config.ts";
import { scripted } from "./directives.ts";
import type { Pass } from "./pass.ts";
import { play } from "./play.ts";
import { nextPass } from "./script.ts";
import { smallJob } from "./small-jobs.ts";
import { readTurn } from "./turn.ts";

const PACE_MS = 25;

/** The built-in model: no network, no key, the same answer to the same request (docs/demo-model.md). */
export function demoProvider(config: DemoConfig, clock: Clock): ModelProvider {
  const paceMs = config.paceMs ?? PACE_MS;
  return {
    id: config.id,
    stream: (request, _limits, signal) => play({ pass: passFor(request), request, clock, paceMs, signal }),
  };
}

function passFor(request: ModelRequest): Pass {
  const job = smallJob(request);
  if (job) return job;
  const turn = readTurn(request);
  if (turn.notice !== undefined) return [{ type: "say", text: "Thank you, I have taken note of that." }];
  return scripted(turn) ?? nextPass(turn);
}
