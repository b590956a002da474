import type { IncomingHttpHeaders } from "node:http";

/**
 * How long the vendor asks to be left alone, in milliseconds: `retry-after-ms`, or `retry-after` in seconds or as an HTTP
 * date (RFC 9110 10.2.3). `nowMs` is epoch milliseconds. `undefined` when it says nothing readable.
 */
export function retryAfter(headers: IncomingHttpHeaders, nowMs: number): number | undefined {
  const ms = number(headers["retry-after-ms"]);
  if (ms !== undefined) return ms;
  const value = headers["retry-after"];
  const seconds = number(value);
  if (seconds !== undefined) return seconds * 1000;
  // every form of an HTTP date begins with a day's name; more would be taken for a date than is one
  const date = typeof value === "string" && /^\s*[A-Z][a-z]{2,8},? /.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

function number(value: string | string[] | undefined): number | undefined {
  if (typeof value !== "string" || !/^\s*\d+(?:\.\d+)?\s*$/.test(value)) return undefined;
  return Math.ceil(Number(value) * 1000) / 1000;
}
