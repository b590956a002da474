import type { MemberId } from "@chartroom/domain";

/** Open Runs of this process: reserved synchronously, before a spawn or a supersede. */
export class Capacity {
  readonly #perProcess: number;
  readonly #perMember: number;
  readonly #open = new Map<MemberId, number>();
  #total = 0;

  constructor(limits: { readonly perProcess: number; readonly perMember: number }) {
    this.#perProcess = limits.perProcess;
    this.#perMember = limits.perMember;
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
