import type {
  AttachReceipt,
  CommandEnvelope,
  Conversations,
  Failure,
  Generation,
  Principal,
  Receipt,
  UplinkMessage,
} from "@chartroom/domain";
import type { CallHeaders } from "@chartroom/protocol";
import { FAILURES } from "../failures.ts";

/** `undefined`: taken, answer 200. */
export type Answer = Failure | undefined;

/** Whose message it is, on which generation, and what the call said about itself. */
export interface Sender {
  readonly principal: Principal;
  readonly generation: Generation;
  readonly headers: Partial<CallHeaders>;
}

type Opener = { readonly kind: "run" | "prewarm" };
/** A message that opens nothing and means something to the conversation. */
export type Following = Exclude<UplinkMessage, Opener | { readonly kind: "heartbeat" | "unknown" }>;

/** Hands a message to the conversation in the way that its kind asks for. */
export function handOver(conversations: Conversations, message: Following, sender: Sender): Promise<Receipt> {
  switch (message.kind) {
    case "action":
      return conversations.submit(envelope("B", message, sender));
    case "exec":
      return conversations.exec(sender.generation, message.reply);
    case "execControl":
      return conversations.control(sender.generation, message.control);
    case "kv":
      return conversations.kv(sender.generation, message.reply);
    case "query":
      return conversations.query(sender.generation, message.reply);
  }
}

export function envelope(
  carrier: CommandEnvelope["carrier"],
  message: CommandEnvelope["message"],
  { principal, generation, headers }: Sender,
): CommandEnvelope {
  const { originalRequestId, parent, clientVersion } = headers;
  return {
    principal,
    generation,
    carrier,
    message,
    ...(originalRequestId === undefined ? {} : { originalRequestId }),
    ...(parent === undefined ? {} : { parent }),
    ...(clientVersion === undefined ? {} : { clientVersion }),
  };
}

/** The conversations' border: what they throw is reported, and becomes a refusal. */
export async function receiptOf<R extends Receipt | AttachReceipt>(
  call: () => Promise<R>,
  report: (cause: unknown) => void,
): Promise<R | Extract<Receipt, { kind: "refused" }>> {
  try {
    return await call();
  } catch (cause) {
    report(cause);
    return { kind: "refused", failure: FAILURES.internal };
  }
}

/**
 * An append fails only for a conflict of identity, and when what it brought could not be kept; other refusals are told
 * on the stream, because a failed append ends the client's Run (wire section 3).
 */
export function appendAnswer(receipt: Receipt): Answer {
  if (receipt.kind !== "refused") return undefined;
  const { failure } = receipt;
  return failure.code === "IDENTITY_CONFLICT" || failure.retryable ? failure : undefined;
}
