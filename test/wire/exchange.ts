import { readdirSync, readFileSync } from "node:fs";
import type { JsonValue } from "@bufbuild/protobuf";

/** One of the example exchanges under `fixtures/`: synthetic, each message with its exact bytes. */
export interface Exchange {
  readonly id: string;
  readonly title: string;
  readonly transport: "http1" | "http2";
  readonly notes: readonly string[];
  readonly steps: readonly Step[];
}

export interface Step {
  readonly n: number;
  readonly from: "client" | "server" | "network";
  readonly via?: string;
  /** Full protobuf name of `message`. */
  readonly type?: string;
  /** The message in protobuf's JSON form. */
  readonly message?: JsonValue;
  /** A whole envelope: flags, length, payload. */
  readonly frameHex?: string;
  /** The payload of an end-of-stream frame. */
  readonly json?: JsonValue;
  readonly bidiAppend?: {
    readonly requestId: { readonly requestId: string };
    readonly appendSeqno: string;
    readonly data: string;
  };
  /** Given where an exchange has more than one stream. */
  readonly requestId?: string;
  readonly kind?: "http";
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
  readonly event?: string;
  readonly note?: string;
}

export const exchanges: readonly Exchange[] = readdirSync(new URL("fixtures/", import.meta.url))
  .filter((name) => name.endsWith(".json"))
  .toSorted()
  .map((name) => JSON.parse(readFileSync(new URL(`fixtures/${name}`, import.meta.url), "utf8")) as Exchange);

/** The serialized message of a step that has one. */
export function messageBytes(step: Step): Uint8Array | undefined {
  if (step.message === undefined) return undefined;
  if (step.bidiAppend !== undefined) return Buffer.from(step.bidiAppend.data, "hex");
  return step.frameHex === undefined ? undefined : Buffer.from(step.frameHex, "hex").subarray(5);
}
