/** Making a formatter costs more than a turn's whole bookkeeping; there are only so many zones. */
const formatters = new Map<string, Intl.DateTimeFormat>();

/** `2026-11-30 23:59` at the user's place; in UTC where the zone is not known to this machine. */
export function localTime(atMs: number, timeZone: string | undefined): string {
  return formatterOf(timeZone || "UTC").format(atMs);
}

function formatterOf(zone: string): Intl.DateTimeFormat {
  const known = formatters.get(zone);
  if (known) return known;
  let formatter: Intl.DateTimeFormat;
  try {
    formatter = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "short" });
  } catch {
    return formatterOf("UTC");
  }
  formatters.set(zone, formatter);
  return formatter;
}
