import { userParts } from "@chartroom/prompting";
import type { Action, Barrier, BlobId, ContentPart, MessageId, UserMessage } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import type { ClientBlobs } from "../history/client-state.ts";
import type { LiveRun } from "../activation/live-run.ts";

/** What stands for a text that nobody has, in a message that joins a Run which goes on. */
const NO_TEXT = "(The text of this message was not delivered. Ask the user for it.)";

/** Blobs that came ahead with the request, for whoever asks. */
export function keepPrefetched({ wire }: Activation, { request }: LiveRun): void {
  for (const { id, data } of request.prefetched) {
    wire.blobs.set(id, data);
    wire.hold(id);
  }
}

/** The message by which the user asked for an action. */
export function messageIdOf(action: Action): MessageId | undefined {
  return action.kind === "summarize" ? action.messageId : "message" in action ? action.message.messageId : undefined;
}

/** The user's messages in an action, first to last. */
export function messagesOf(action: Action): readonly UserMessage[] {
  if (action.kind === "inject")
    return action.injection.payload.type === "user" ? [action.injection.payload.message] : [];
  if (!("message" in action)) return [];
  return action.kind === "userMessage" ? [...action.prepend, action.message] : [action.message];
}

/**
 * Long texts and pictures that came as blob ids (wire section 4.6): from the store, from what the client sent ahead, or from
 * the client. `false`: a text cannot be had. A picture that cannot be had is told to the model in its place.
 */
export async function fetchContent(
  activation: Activation,
  run: LiveRun,
  messages: readonly UserMessage[],
  client: ClientBlobs,
): Promise<boolean> {
  const had = await Promise.all(
    messages.flatMap((message) => [
      textOf(activation, run, message, client),
      ...message.attachments.map(async (attachment) => {
        if (attachment.type !== "image" || attachment.data) return true;
        if ((await activation.deps.store.hasBlobs(activation.member, [attachment.blob])).has(attachment.blob))
          return true;
        const data = await ofClient(activation, attachment.blob, client);
        if (data) run.pictures.set(attachment.blob, data);
        else run.absent.add(attachment.blob);
        return true;
      }),
    ]),
  );
  return !had.includes(false);
}

async function textOf(
  activation: Activation,
  run: LiveRun,
  { textBlob, messageId }: UserMessage,
  client: ClientBlobs,
): Promise<boolean> {
  if (!textBlob || run.texts.has(messageId)) return true;
  const stored = (await activation.deps.store.blobs(activation.member, [textBlob])).get(textBlob);
  const data = stored ?? (await ofClient(activation, textBlob, client));
  if (data) run.texts.set(messageId, new TextDecoder().decode(data));
  return data !== undefined;
}

/** Pictures of the messages that the store does not have yet. */
export function pictureBlobs(run: LiveRun, messages: readonly UserMessage[]): Barrier {
  const blobs = messages.flatMap(({ attachments }) =>
    attachments.flatMap((attachment) => {
      const data = attachment.type === "image" ? (attachment.data ?? run.pictures.get(attachment.blob)) : undefined;
      return attachment.type === "image" && data ? [{ id: attachment.blob, data }] : [];
    }),
  );
  return blobs.length > 0 ? { blobs } : {};
}

/** A message as the model reads it, with what was fetched for it. */
export function partsOf(run: LiveRun, message: UserMessage): readonly ContentPart[] {
  const text = run.texts.get(message.messageId) ?? (message.textBlob ? NO_TEXT : message.text);
  return userParts(message, text, run.absent);
}

/** What the client sent ahead, or sends now; checked against its id. */
async function ofClient({ wire, deps }: Activation, id: BlobId, client: ClientBlobs): Promise<Uint8Array | undefined> {
  const data = wire.blobs.get(id) ?? (await client.get(id));
  return data && deps.codec.blobId(data) === id ? data : undefined;
}
