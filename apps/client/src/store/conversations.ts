import fs from "node:fs/promises";
import path from "node:path";
import { BlobStore } from "./blobs.ts";
import { readIfThere, writeAtomically } from "./files.ts";

export type Mode = "agent" | "ask" | "plan";
export const MODES: readonly Mode[] = ["agent", "ask", "plan"];

/** A turn that was begun and of which the end was not seen: enough to go on with it after a restart. */
export interface OpenTurn {
  readonly messageId: string;
  readonly text: string;
  readonly mode: Mode;
  readonly originalRequestId: string;
  /** A checkpoint of this very turn is stored, so it can be resumed instead of sent again. */
  readonly checkpointed: boolean;
}

/** What is remembered of a conversation beside its checkpoint. */
export interface ConversationRecord {
  readonly id: string;
  /** The folder that it works in, without symbolic links. */
  readonly folder: string;
  /** Beginning of the first message. */
  readonly title: string;
  readonly model: string;
  readonly mode: Mode;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly openTurn: OpenTurn | undefined;
  /** Set on a subagent's conversation: the one that it serves. */
  readonly parent: string | undefined;
}

const RECORD_VERSION = 1;
const RECORD = "conversation.json";
const CHECKPOINT = "checkpoint.bin";
/** An id that a person types is a file name here and nothing more. */
const ID = /^[\w-]{1,128}$/;

/** Conversations and their blobs on disk; readable by their owner alone. */
export class ConversationStore {
  readonly blobs: BlobStore;
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.blobs = new BlobStore(path.join(folder, "blobs"));
  }

  /** Where the output of a conversation's commands goes. */
  terminalsFolder(id: string): string {
    return path.join(this.#folder, "terminals", safeName(id));
  }

  /** Where a conversation's plans go. */
  plansFolder(id: string): string {
    return path.join(this.#folder, "plans", safeName(id));
  }

  save(record: ConversationRecord): Promise<void> {
    const json = JSON.stringify({ version: RECORD_VERSION, ...record }, undefined, 2);
    return writeAtomically(path.join(this.#path(record.id), RECORD), `${json}\n`, true);
  }

  /** A conversation by its id; undefined when there is none or its record cannot be read. */
  async load(id: string): Promise<ConversationRecord | undefined> {
    const text = await readIfThere(path.join(this.#path(id), RECORD));
    return text === undefined ? undefined : parseRecord(text.toString());
  }

  /** The conversations of a folder, the latest first. */
  async list(folder: string): Promise<ConversationRecord[]> {
    const all = path.join(this.#folder, "conversations");
    const entries = await fs.readdir(all, { withFileTypes: true }).catch(() => []);
    const ids = entries.filter((entry) => entry.isDirectory() && ID.test(entry.name)).map(({ name }) => name);
    const records = await Promise.all(ids.map((id) => this.load(id)));
    return records
      .filter((record) => record !== undefined)
      .filter((record) => record.folder === folder)
      .toSorted((a, b) => b.updatedAt - a.updatedAt);
  }

  /** Stores a serialized `ConversationStateStructure`; on disk when this returns. */
  saveCheckpoint(id: string, state: Uint8Array): Promise<void> {
    return writeAtomically(path.join(this.#path(id), CHECKPOINT), state, true);
  }

  checkpoint(id: string): Promise<Uint8Array | undefined> {
    return readIfThere(path.join(this.#path(id), CHECKPOINT));
  }

  #path(id: string): string {
    return path.join(this.#folder, "conversations", safeName(id));
  }
}

function safeName(id: string): string {
  if (!ID.test(id)) throw new Error(`not a conversation id: ${JSON.stringify(id)}`);
  return id;
}

function parseRecord(text: string): ConversationRecord | undefined {
  try {
    const { version, ...record } = JSON.parse(text) as ConversationRecord & { readonly version: number };
    if (version !== RECORD_VERSION || typeof record.id !== "string") return undefined;
    return { ...record, openTurn: record.openTurn, parent: record.parent };
  } catch {
    return undefined;
  }
}
