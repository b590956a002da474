import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/**
 * How a message of ours is compared with one of an example exchange, both in protobuf's JSON form.
 *
 * Every field that the example has must be there with the same value. Fields that the example leaves out are free, for an
 * example shows what matters to it (blobs, times and hints are mostly left out). Five kinds of fields are compared otherwise:
 *
 * - ids of calls, execs and model passes are the server's own: the same id of the example stands for the same id of ours,
 *   throughout the exchange (`Names`);
 * - times and durations must be there and be numbers;
 * - the server's own names (delivery batches) must be there;
 * - lists of blob ids must not be empty, and hold blobs that the client has;
 * - words that are the server's own are listed in `OWN`.
 */
export class Names {
  readonly #ours = new Map<string, string>();
  readonly #execs = new Map<number, number>();

  /** Our id for one of the example's; learned where it is first seen. */
  same(example: string, ours: string): boolean {
    const known = this.#ours.get(example);
    if (known === undefined && ![...this.#ours.values()].includes(ours)) this.#ours.set(example, ours);
    return this.#ours.get(example) === ours;
  }
  sameExec(example: number, ours: number): boolean {
    const known = this.#execs.get(example);
    if (known === undefined) this.#execs.set(example, ours);
    return this.#execs.get(example) === ours;
  }
  ours(example: string): string {
    return this.#ours.get(example) ?? example;
  }
  oursExec(example: number): number {
    return this.#execs.get(example) ?? example;
  }
  /** On a new stream ids of execs begin anew. */
  newStream(): void {
    this.#execs.clear();
  }
}

const IDS = new Set(["callId", "toolCallId", "execId", "modelCallId", "conversationId"]);
const DURATIONS = new Set(["thinkingDurationMs", "durationMs"]);
const TIMES = new Set(["startedAtMs", "completedAtMs", "deliveredAtMs", "usedTokens", ...DURATIONS]);
const NAMES = new Set(["deliveryBatchId"]);
const BLOBS = new Set(["rootPromptMessagesJson", "turns"]);

/** Texts, by the end of their path, whose words are the server's own, and what must hold of them all the same. */
const OWN: readonly { readonly path: string; readonly holds: (example: string, ours: string) => boolean }[] = [
  // ours names the file as well
  { path: "readToolCall.result.error.errorMessage", holds: (example, ours) => ours.startsWith(example) },
  { path: "details.title", holds: (example, ours) => ours.toLowerCase() === example.toLowerCase() },
  // ours tells the status before the provider's message
  { path: "details.detail", holds: (example, ours) => ours.endsWith(example) },
];

export interface Held {
  /** Whether the client has this blob; `id` in base64. */
  has(id: string): boolean;
}

/** The differences, as `path: reason`; empty when ours shows what the example shows. */
export function differences(
  example: JsonValue,
  ours: JsonValue | undefined,
  names: Names,
  held: Held,
  at = "",
): readonly string[] {
  const key = at.slice(at.lastIndexOf(".") + 1);
  // a duration of 0 is not on the wire
  if (ours === undefined) return DURATIONS.has(key) ? [] : [`${at}: missing`];
  const own = OWN.find(({ path }) => at.endsWith(path));
  if (own !== undefined)
    return own.holds(plain(example), plain(ours)) ? [] : [`${at}: ${plain(ours)} for ${plain(example)}`];
  if (typeof example === "string" && typeof ours === "string" && IDS.has(key))
    return names.same(example, ours) ? [] : [`${at}: ${ours} is not the id that stands for ${example}`];
  if (TIMES.has(key)) return /^\d+$/u.test(plain(ours)) ? [] : [`${at}: not a number`];
  if (NAMES.has(key)) return ours === "" ? [`${at}: empty`] : [];
  if (key === "id" && typeof example === "number" && typeof ours === "number" && /exec\w*Message/u.test(at))
    return names.sameExec(example, ours) ? [] : [`${at}: exec ${ours} does not stand for ${example}`];
  if (BLOBS.has(key) && Array.isArray(ours))
    return ours.length === 0
      ? [`${at}: empty`]
      : ours.flatMap((id) => (held.has(plain(id)) ? [] : [`${at}: the client does not have ${plain(id)}`]));
  if (key === "pendingToolCalls") return pending(example, ours, names, at);
  if (Array.isArray(example) && Array.isArray(ours))
    return [
      ...(example.length === ours.length ? [] : [`${at}: ${ours.length} entries instead of ${example.length}`]),
      ...example.flatMap((each, index) => differences(each, ours[index], names, held, `${at}[${index}]`)),
    ];
  if (isObject(example) && isObject(ours))
    return Object.entries(example).flatMap(([name, value]) =>
      differences(value, ours[name], names, held, at === "" ? name : `${at}.${name}`),
    );
  return plain(example) === plain(ours) ? [] : [`${at}: ${plain(ours)} instead of ${plain(example)}`];
}

/** The calls that a checkpoint says are open: the same ones, with the same tools and arguments. */
function pending(example: JsonValue, ours: JsonValue, names: Names, at: string): readonly string[] {
  const calls = (from: JsonValue): readonly JsonObject[] =>
    (from as readonly string[]).flatMap((text) =>
      (JSON.parse(text) as { content: readonly JsonObject[] }).content.filter((part) => part["type"] === "tool-call"),
    );
  const mine = calls(ours);
  return calls(example).flatMap((call, index) =>
    differences(call, mine[index], names, { has: () => true }, `${at}[${index}]`),
  );
}

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const plain = (value: JsonValue): string => (typeof value === "object" ? JSON.stringify(value) : String(value));
