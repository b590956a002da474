import type { Blob, BlobId, CanonicalMessage, CheckpointId, UserMessage } from "@chartroom/domain";
import { adopt } from "./adopt.ts";
import { pathTo } from "./chain.ts";
import { relate } from "./relate.ts";
import { Conversation, parts, record, runOf, said, section, userMessage } from "./samples.ts";
import { appendStep } from "./step.ts";
import { decodeCheckpoint } from "./wire/decode.ts";
import { encodeCheckpoint } from "./wire/encode.ts";
import { type Outline, readState } from "./wire/state.ts";

/* For tests, as `samples.ts`. */

/** A conversation whose turns are published, as one server and its client see them. */
export class Published {
  readonly chat = new Conversation();
  readonly blobs = new Map<BlobId, Uint8Array>();
  readonly states: Uint8Array[] = [];
  readonly heads: CheckpointId[] = [];
  #runs = 0;

  turn(
    text: string,
    rest: { readonly id?: string; readonly delivered?: boolean; readonly answer?: string } = {},
  ): UserMessage {
    const run = runOf(`r${(this.#runs += 1)}`);
    const message = userMessage(text, rest.id ?? `m-${text}`);
    const context = [section("git", `status ${this.#runs}`)];
    this.chat.open({ runId: run, input: { message, parts: parts(text) }, context, again: true });
    this.chat.commit(appendStep(this.chat.place(run), record(run, 1, [said(rest.answer ?? `re: ${text}`)])));
    this.publish(rest.delivered ?? true);
    return message;
  }

  publish(delivered: boolean): void {
    const made = encodeCheckpoint({
      system: "sys",
      view: this.chat.view,
      blob: (id) => this.blobs.get(id),
      mode: "agent",
      ...(this.states.length === 0 ? {} : { previous: this.states.at(-1)! }),
    });
    if (!made.ok) throw new Error(made.kind);
    this.keep(made.blobs);
    this.chat.deliver(made.state, delivered);
    this.states.push(made.state);
    this.heads.push(this.chat.view.head!);
  }

  keep(blobs: readonly Blob[]): void {
    for (const blob of blobs) this.blobs.set(blob.id, blob.data);
  }

  relate(state: Uint8Array, message?: UserMessage, unseen?: ReadonlySet<CheckpointId>) {
    return relate(outlineOf(state), this.chat.chain, this.chat.view.head, { message, unseen });
  }

  decode(state: Uint8Array) {
    const read = decodeCheckpoint(state, (id) => this.blobs.get(id));
    if (!read.ok) throw new Error(read.kind);
    return read.value;
  }

  /** Rows of the head's chain, root first. */
  all(): readonly CanonicalMessage[] {
    const { chain, view, rows } = this.chat;
    return pathTo(chain, view.head).flatMap((node) => node.added.map((id) => rows.get(id)!));
  }

  adopt(state: Uint8Array, message?: UserMessage) {
    const head = this.chat.view.head!;
    return adopt(this.decode(state).messages, this.chat.chain, head, [{ head, messages: this.chat.view.messages }], {
      message,
    });
  }
}

export function outlineOf(state: Uint8Array): Outline {
  const read = readState(state);
  if (!read.ok) throw new Error("malformed");
  return read.outline;
}

export function published(...texts: readonly string[]): Published {
  const made = new Published();
  for (const text of texts) made.turn(text);
  return made;
}
