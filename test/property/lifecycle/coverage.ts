import { TABLE, type Carrier, type Command, type Phase } from "../../lifecycle/table.ts";

/** How often each cell of the command table was met, and each event that the chart left unhandled. */
export class Coverage {
  readonly #cells = new Map<string, number>();
  readonly unhandled = new Map<string, number>();
  schedules = 0;
  events = 0;

  constructor() {
    for (const cell of cells) this.#cells.set(cell, 0);
  }

  /** A message that is known is the same command in any phase but idle, however its Run would have ended. */
  hit(command: Command, carrier: Carrier, phase: Phase): void {
    const same = known.includes(command) && phase !== "idle" ? known : [command];
    for (const one of same) {
      const cell = `${one} · ${carrier} · ${phase}`;
      const before = this.#cells.get(cell);
      if (before !== undefined) this.#cells.set(cell, before + 1);
    }
  }

  note(event: string): void {
    this.unhandled.set(event, (this.unhandled.get(event) ?? 0) + 1);
  }

  /** Cells that were met less often than that. */
  below(least: number): readonly string[] {
    return [...this.#cells].filter(([, count]) => count < least).map(([cell, count]) => `${cell}: ${count}`);
  }

  toString(): string {
    const width = Math.max(...[...this.#cells.keys()].map((cell) => cell.length));
    const lines = [...this.#cells].map(([cell, count]) => `  ${cell.padEnd(width)} ${count}`);
    return lines.join("\n");
  }
}

const known: readonly Command[] = [
  "knownMessage, completed undelivered",
  "knownMessage, failed undelivered",
  "knownMessage, delivered",
];

/** All cells of the table that a message of a client can meet. */
export const cells: readonly string[] = (Object.keys(TABLE) as Command[]).flatMap((command) =>
  (["A", "B"] as const).flatMap((carrier) =>
    (["idle", "active", "ending"] as const)
      .filter((phase) => !["gateway", "impossible"].includes(TABLE[command][carrier][phase]))
      .map((phase) => `${command} · ${carrier} · ${phase}`),
  ),
);
