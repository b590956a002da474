import type { ConnectCode, FailureCode, Terminal } from "@chartroom/domain";
import type { StreamEnd } from "@chartroom/protocol";

/**
 * How each reason is told on the wire: Connect code, the title that the user reads, and whether the client may retry
 * (lifecycle specification, section 8; wire section 12). Written from these, not from the server's own tables.
 */
const ENDS: readonly (readonly [FailureCode, ConnectCode, string, boolean])[] = [
  ["CANCELLED", "canceled", "Cancelled", false],
  ["SUPERSEDED", "aborted", "Superseded", false],
  ["REPLACED", "aborted", "Replaced", false],
  ["PARK_EXPIRED", "resource_exhausted", "Run expired", false],
  ["PARK_CAPACITY", "resource_exhausted", "Run ended for capacity", false],
  ["PROVIDER_AUTH", "unavailable", "Provider refused the key", false],
  ["PROVIDER_SERVER", "unavailable", "Provider error", true],
  ["PROVIDER_TIMEOUT", "unavailable", "Provider timed out", true],
  ["CONTEXT_TOO_LONG", "invalid_argument", "Conversation too long", false],
  ["COMPACTION_FAILED", "resource_exhausted", "Could not summarize", false],
  ["STEP_LIMIT", "resource_exhausted", "Step limit reached", false],
  ["PREPARE_TIMEOUT", "deadline_exceeded", "Could not start", true],
  ["PREPARE_FAILED", "internal", "Could not start", true],
  ["STORE_UNAVAILABLE", "unavailable", "Storage unavailable", true],
  ["NOT_OWNER", "unavailable", "Busy on another server", true],
  ["TRANSPORT_WAIT_EXPIRED", "deadline_exceeded", "No run", true],
  ["INTERNAL", "internal", "Server error", true],
];

/** The terminal that an end of stream stands for; `undefined`: one that nothing in the specifications ends with. */
export function terminalOf(end: StreamEnd): Terminal | undefined {
  if (end.kind === "completed") return end;
  const { code, message, details } = end;
  const told = details?.details;
  const known = ENDS.find(([, wire, title]) => wire === code && title.toLowerCase() === message.toLowerCase());
  if (!known || told?.title !== message || told.isRetryable !== known[3]) return undefined;
  return {
    kind: "error",
    failure: { code: known[0], title: message, detail: told.detail, retryable: known[3] },
  };
}
