import { expect } from "vitest";

/** One request as a provider got it, and the one of its branch before it. */
export interface Entry {
  readonly turn: number;
  readonly what: string;
  readonly body: string;
  /** Place of the request before it on its branch, from 0; a first one has none. */
  readonly after?: number;
  /**
   * How it stands to that one: it begins with it (`grows`), is it once more (`same`), or keeps only system text and tools
   * because of what is named here.
   */
  readonly relation: "first" | "grows" | "same" | { readonly reset: string };
}

const END = "]}";
/** What a cache keeps of a body: all up to the closing brackets behind its last message. */
const kept = (body: string): string => {
  expect(body.endsWith(END)).toBe(true);
  return body.slice(0, -END.length);
};

interface Chat {
  readonly tools?: unknown;
  readonly messages: readonly unknown[];
}
const read = (body: string): Chat => JSON.parse(body) as Chat;

/** The requests of a conversation and its branches, in the order in which they were sent. */
export class Ledger {
  readonly entries: Entry[] = [];

  /** Notes a request; gives its place. */
  note(entry: Entry): number {
    return this.entries.push(entry) - 1;
  }

  /** Every request stands to the one before it on its branch as it says, to the byte. */
  check(): void {
    for (const [at, { body, after, relation, turn, what }] of this.entries.entries()) {
      const name = `request ${at + 1}, turn ${turn}: ${what}`;
      if (after === undefined) {
        expect(relation, name).toBe("first");
        continue;
      }
      const before = this.entries[after]!.body;
      const common = sharedBytes(kept(before), kept(body));
      if (relation === "same") expect(body, name).toBe(before);
      else if (relation === "grows") {
        // the next byte parts two messages: the last one before is whole, too
        expect(common, name).toBe(Buffer.byteLength(kept(before)));
        expect(Buffer.from(body)[common], name).toBe(",".charCodeAt(0));
      } else {
        expect(relation, name).toHaveProperty("reset");
        const [was, now] = [read(before), read(body)];
        expect(now.tools, name).toEqual(was.tools);
        expect(now.messages[0], name).toEqual(was.messages[0]);
        // they share tools and system text, and no more than the context that may follow
        const first = Buffer.byteLength(before.slice(0, before.indexOf('"messages":[')) + '"messages":[');
        const system = Buffer.byteLength(JSON.stringify(was.messages[0]));
        expect(common, name).toBeGreaterThanOrEqual(first + system);
        expect(now.messages[2], name).not.toEqual(was.messages[2]);
      }
    }
  }

  /** A line for each request: what happened, how long it is, and what it has in common with the one before it on its branch. */
  table(): string {
    const head = ["request", "turn", "what", "messages", "bytes", "after", "in common", "kept", "why not all"];
    const rows = this.entries.map(({ turn, what, body, after, relation }, at) => {
      const before = after === undefined ? undefined : this.entries[after]!.body;
      const common = before === undefined ? 0 : sharedBytes(kept(before), kept(body));
      const share = before === undefined ? "" : `${Math.floor((100 * common) / Buffer.byteLength(kept(before)))} %`;
      const why = typeof relation === "object" ? relation.reset : relation === "same" ? "(the same bytes)" : "";
      return [
        ...[at + 1, turn, what, read(body).messages.length, Buffer.byteLength(body)],
        ...[after === undefined ? "" : after + 1, before === undefined ? "" : common, share, why],
      ].map(String);
    });
    const left = new Set([2, 8]);
    const widths = head.map((name, at) =>
      Math.max(...[name, ...rows.map((row) => row[at]!)].map((cell) => cell.length)),
    );
    return [head, ...rows]
      .map((row) =>
        row
          .map((cell, at) => (left.has(at) ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)))
          .join("  ")
          .trimEnd(),
      )
      .join("\n");
  }
}

/** How many bytes two texts begin with in common. */
function sharedBytes(a: string, b: string): number {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one[at] === other[at]) at += 1;
  return at;
}
