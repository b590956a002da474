import fs from "node:fs";
import path from "node:path";

/** One row of a states × events table: what it is about, and its cell for each column. */
export interface SpecRow {
  /** Event, and the condition behind ` · ` if there is one. */
  readonly label: string;
  readonly cells: Readonly<Record<string, string>>;
}

/** Reads the table below a heading of a specification beside the charts. Its first two columns are the event and its condition. */
export function specTable(file: string, heading: string): readonly SpecRow[] {
  const text = fs.readFileSync(path.join(import.meta.dirname, "..", file), "utf8");
  const section = text.slice(text.indexOf(`## ${heading}\n`)).split("\n## ")[0] ?? "";
  const lines = section.split("\n").filter((line) => line.startsWith("|"));
  const split = (line: string): string[] =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim().replaceAll("`", ""));
  const [, , ...columns] = split(lines[0] ?? "");
  return lines.slice(2).map((line) => {
    const [event = "", when = "", ...cells] = split(line);
    return {
      label: when === "" ? event : `${event} · ${when}`,
      cells: Object.fromEntries(columns.map((column, at) => [column, cells[at] ?? ""])),
    };
  });
}
