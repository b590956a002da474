import type { First, Load, Open } from "./phases.ts";

export interface Measured {
  readonly paced?: Load;
  readonly burst?: Load;
  readonly first?: First;
  readonly open?: Open;
}

/** All roads of one run. */
export interface Results {
  readonly direct: Measured;
  readonly pipe: Measured;
  readonly server: Measured;
}

interface Row {
  readonly what: string;
  readonly direct: string;
  readonly pipe: string;
  readonly server: string;
  readonly ratio: string;
  readonly goal: string;
}

/** The table and the goals; gives the lines and how many goals were missed. */
export function report({ direct, pipe, server }: Results): {
  readonly lines: readonly string[];
  readonly missed: number;
} {
  let missed = 0;
  const goal = (text: string, met: boolean): string => {
    if (!met) missed++;
    return `${text}: ${met ? "met" : "MISSED"}`;
  };
  const rows = [
    ...cpuRows("paced", 2, pipe.paced, server.paced, goal),
    ...cpuRows("burst", 4, pipe.burst, server.burst, goal),
    ...rateRow("paced", direct.paced, pipe.paced, server.paced),
    ...rateRow("burst", direct.burst, pipe.burst, server.burst),
    ...ageRow(direct.paced, pipe.paced, server.paced),
    ...firstRow(direct.first, pipe.first, server.first, goal),
    ...openRow(pipe.open, server.open, goal),
  ];
  return { lines: [...table(rows), "", ...notes({ direct, pipe, server })], missed };
}

type Goal = (text: string, met: boolean) => string;

function cpuRows(
  phase: string,
  limit: number,
  pipe: Load | undefined,
  server: Load | undefined,
  goal: Goal,
): readonly Row[] {
  if (!pipe) return [];
  const what = `CPU ms per 1,000 chunks, ${phase}`;
  const floor = row({ what, pipe: number(pipe.cpuMs) });
  if (!server) return [floor];
  const whole = server.cpuMs + server.childrenCpuMs;
  return [
    {
      ...floor,
      server: number(server.cpuMs),
      ratio: `${number(server.cpuMs / pipe.cpuMs)} ×`,
      goal: goal(`at most ${limit} ×`, server.cpuMs / pipe.cpuMs <= limit),
    },
    row({ what: "  with its database", server: number(whole), ratio: `${number(whole / pipe.cpuMs)} ×` }),
  ];
}

function rateRow(
  phase: string,
  direct: Load | undefined,
  pipe: Load | undefined,
  server: Load | undefined,
): readonly Row[] {
  if (!pipe) return [];
  const ratio = server ? `${number(server.rate / pipe.rate)} ×` : "";
  const cells = { direct: number(direct?.rate), pipe: number(pipe.rate), server: number(server?.rate), ratio };
  return [row({ what: `chunks per second, ${phase}`, ...cells })];
}

function ageRow(direct: Load | undefined, pipe: Load | undefined, server: Load | undefined): readonly Row[] {
  if (!direct || !pipe) return [];
  const added = (one: Load | undefined): string =>
    one ? `${number(one.latencyP50 - direct.latencyP50)} / ${number(one.latencyP99 - direct.latencyP99)}` : "-";
  const alone = `(${number(direct.latencyP50)} / ${number(direct.latencyP99)})`;
  return [
    row({ what: "added ms per chunk p50 / p99, paced", direct: alone, pipe: added(pipe), server: added(server) }),
  ];
}

function firstRow(
  direct: First | undefined,
  pipe: First | undefined,
  server: First | undefined,
  goal: Goal,
): readonly Row[] {
  if (!direct || !pipe) return [];
  const added = (one: First | undefined): string =>
    one ? `${number(one.p50 - direct.p50)} / ${number(one.p99 - direct.p99)}` : "-";
  return [
    row({
      what: "added ms to first chunk p50 / p99",
      direct: `(${number(direct.p50)} / ${number(direct.p99)})`,
      pipe: added(pipe),
      server: added(server),
      ...(server && { goal: goal("under 2 ms p50", server.p50 - direct.p50 < 2) }),
    }),
  ];
}

function openRow(pipe: Open | undefined, server: Open | undefined, goal: Goal): readonly Row[] {
  if (!pipe) return [];
  const per = (open: Open): number => (open.mb / Math.max(1, open.live)) * 1000;
  return [
    row({
      what: "MB per 1,000 open streams",
      pipe: number(per(pipe)),
      ...(server && {
        server: number(per(server)),
        ratio: `${number(per(server) / per(pipe))} ×`,
        goal: goal("under 120 MB", per(server) < 120 && server.failed === 0),
      }),
    }),
  ];
}

function row(cells: Partial<Row>): Row {
  return { what: "", direct: "", pipe: "", server: "", ratio: "", goal: "", ...cells };
}

function table(rows: readonly Row[]): readonly string[] {
  const header: Row = {
    what: "",
    direct: "provider alone",
    pipe: "pipe",
    server: "chartroom",
    ratio: "ratio",
    goal: "goal",
  };
  const all = [header, ...rows];
  const columns = ["what", "direct", "pipe", "server", "ratio", "goal"] as const;
  const widths = columns.map((column) => Math.max(...all.map((row) => row[column].length)));
  return all.map((row) =>
    columns
      .map((column, at) => row[column].padEnd(widths[at]!))
      .join("  ")
      .trimEnd(),
  );
}

/** What makes the numbers less than they look. */
function notes(results: Results): readonly string[] {
  return Object.entries(results).flatMap(([road, measured]: [string, Measured]) => {
    const lines: string[] = [];
    for (const [phase, one] of [
      ["paced", measured.paced],
      ["burst", measured.burst],
    ] as const) {
      if (one && one.errors > 0)
        lines.push(`${road}, ${phase}: ${one.errors} streams failed, the first one: ${one.firstError}`);
      if (one && one.otherCores > 0.3)
        lines.push(`${road}, ${phase}: other programs used ${number(one.otherCores)} cores`);
    }
    if (measured.first && measured.first.errors > 0)
      lines.push(`${road}, first chunk: ${measured.first.errors} streams failed`);
    if (measured.open && measured.open.failed > 0) lines.push(`${road}, open: ${measured.open.failed} streams failed`);
    return lines;
  });
}

function number(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return "-";
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2);
}
