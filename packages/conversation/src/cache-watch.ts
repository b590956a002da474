import { type CachedRequest, type Chain, comparePrefix, isOn, type PrefixReport } from "@chartroom/history";
import type { CheckpointId } from "@chartroom/domain";

/** Calls that are remembered: on a branch that the user comes back to, the last one of that branch is compared with. */
const CALLS_KEPT = 8;

interface Call {
  readonly head: CheckpointId;
  readonly request: CachedRequest;
}

/** What of the last call of a branch the provider's cache still holds. One activation's memory. */
export class CacheWatch {
  /** Newest first. */
  #calls: readonly Call[] = [];

  /** Compares a call with the last one of its branch, or, on a branch without one, with the last one of all; `undefined` for the first. */
  compare(chain: Chain, head: CheckpointId, request: CachedRequest): PrefixReport | undefined {
    const before = this.#calls.find((call) => isOn(chain, head, call.head)) ?? this.#calls[0];
    this.#calls = [{ head, request }, ...this.#calls].slice(0, CALLS_KEPT);
    return before && comparePrefix(before.request, request);
  }
}
