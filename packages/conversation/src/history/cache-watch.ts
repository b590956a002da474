import {
  type CachedRequest,
  compareMark,
  comparePrefix,
  isOn,
  type MarkedCall,
  markOf,
  type PrefixReport,
} from "@chartroom/history";
import type { CallMark, CheckpointId, ModelCallRow } from "@chartroom/domain";
import type { BranchHost } from "./branch-host.ts";

/** Calls that are remembered: on a branch that the user comes back to, the last one of that branch is compared with. */
const CALLS_KEPT = 8;

interface Call {
  readonly request: CachedRequest;
  readonly mark: CallMark;
}

export interface Watched {
  /** `undefined` for the first call of a conversation. */
  readonly report: PrefixReport | undefined;
  readonly mark: CallMark;
}

/** What of the last call of a branch the provider's cache still holds; across a restart by the marks that are stored. */
export class CacheWatch {
  /** Newest first. */
  #calls: readonly Call[] = [];
  #stored: Promise<readonly ModelCallRow[]> | undefined;

  /** The newest calls before this activation, newest first; read once. */
  stored({ deps, lease }: BranchHost): Promise<readonly ModelCallRow[]> {
    // it only watches: without the database there is nothing to compare with
    return (this.#stored ??= deps.store.markedCalls(lease, CALLS_KEPT).catch(() => []));
  }

  /** Compares a call with the last one of its branch, or, on a branch without one, with the last one of all. */
  async compare(host: BranchHost, head: CheckpointId, request: CachedRequest): Promise<Watched> {
    const { chain } = host.history;
    const before = this.#calls.find(({ mark }) => isOn(chain, head, mark.head)) ?? this.#calls[0];
    const report = before ? comparePrefix(before.request, request) : await this.#compareStored(host, head, request);
    const mark = markOf(request, head, before && report?.brokenBy === undefined ? before.mark : undefined);
    this.#calls = [{ request, mark }, ...this.#calls].slice(0, CALLS_KEPT);
    return { report, mark };
  }

  async #compareStored(
    host: BranchHost,
    head: CheckpointId,
    request: CachedRequest,
  ): Promise<PrefixReport | undefined> {
    const { chain } = host.history;
    const rows = await this.stored(host);
    const stored = rows.flatMap(({ mark, modelId, usage }): readonly MarkedCall[] =>
      mark ? [{ mark, model: modelId, tokens: usage.inputTokens }] : [],
    );
    const before = stored.find(({ mark }) => isOn(chain, head, mark.head)) ?? stored[0];
    return before && compareMark(before, request, chain, head);
  }
}
