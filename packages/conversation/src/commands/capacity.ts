import type { MemberId } from "@chartroom/domain";

export interface CapacityLimits {
  readonly perProcess: number;
  readonly perMember: number;
}

/** Open Runs of this process: reserved synchronously, before a spawn or a supersede. */
export class Capacity {
  #perProcess = 0;
  #perMember = 0;
  readonly #open = new Map<MemberId, number>();
  #total = 0;

  constructor(limits: CapacityLimits) {
    this.limit(limits);
  }

  /** New limits hold from the next Run on; who is over them is the caller's to find. */
  limit({ perProcess, perMember }: CapacityLimits): void {
    this.#perProcess = perProcess;
    this.#perMember = perMember;
  }

  /** Runs beyond what the process may hold. */
  get excess(): number {
    return Math.max(0, this.#total - this.#perProcess);
  }

  get openRuns(): number {
    return this.#total;
  }

  /** What stands in the way of one more Run of the member. */
  lack(member: MemberId): "process" | "member" | undefined {
    if ((this.#open.get(member) ?? 0) >= this.#perMember) return "member";
    return this.#total >= this.#perProcess ? "process" : undefined;
  }

  /** Takes a slot; the answer gives it back, once. */
  hold(member: MemberId): () => void {
    this.#total++;
    this.#open.set(member, (this.#open.get(member) ?? 0) + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#total--;
      const left = (this.#open.get(member) ?? 0) - 1;
      if (left > 0) this.#open.set(member, left);
      else this.#open.delete(member);
    };
  }
}
