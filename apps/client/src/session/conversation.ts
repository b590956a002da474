import type { Clock } from "@chartroom/domain";
import { mkdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { Shells } from "../shells/shells.ts";
import type { ConversationRecord, ConversationStore, Mode, OpenTurn } from "../store/conversations.ts";
import { Folder } from "../workspace/folder.ts";

const MAX_TITLE_CHARS = 80;

/** One chat: its record and checkpoint on disk, its folder and its running commands. */
export class Conversation {
  readonly folder: Folder;
  readonly shells: Shells;
  readonly terminalsFolder: string;
  readonly #store: ConversationStore;
  readonly #clock: Clock;
  #record: ConversationRecord;
  #checkpoint: Uint8Array | undefined;
  #plans = 0;
  /** Writes happen one after the other, in the order in which they were asked for. */
  #writes: Promise<void> = Promise.resolve();
  #writeError: unknown;

  private constructor(
    store: ConversationStore,
    clock: Clock,
    record: ConversationRecord,
    checkpoint: Uint8Array | undefined,
    folder: Folder,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#record = record;
    this.#checkpoint = checkpoint;
    this.folder = folder;
    this.terminalsFolder = store.terminalsFolder(record.id);
    this.shells = new Shells(clock, this.terminalsFolder);
  }

  /** Opens a conversation, new or known, in its folder; its record is not written before its first turn. */
  static async open(store: ConversationStore, clock: Clock, record: ConversationRecord): Promise<Conversation> {
    const terminals = store.terminalsFolder(record.id);
    mkdirSync(terminals, { recursive: true, mode: 0o700 });
    const folder = await Folder.open(record.folder, [terminals]);
    return new Conversation(store, clock, record, await store.checkpoint(record.id), folder);
  }

  get id(): string {
    return this.#record.id;
  }

  get record(): ConversationRecord {
    return this.#record;
  }

  get model(): string {
    return this.#record.model;
  }

  get mode(): Mode {
    return this.#record.mode;
  }

  /** The last checkpoint, as it came; undefined in a new chat. */
  get checkpoint(): Uint8Array | undefined {
    return this.#checkpoint;
  }

  /** A turn that was begun and not seen to its end. */
  get openTurn(): OpenTurn | undefined {
    return this.#record.openTurn;
  }

  setModel(model: string): void {
    this.#change({ model });
  }

  setMode(mode: Mode): void {
    this.#change({ mode });
  }

  /** A turn begins; from here on a restart can go on with it. */
  begin(openTurn: OpenTurn): void {
    const title = this.#record.title === "" ? titleOf(openTurn.text) : this.#record.title;
    this.#change({ openTurn, title });
    this.#save();
  }

  /** A checkpoint came; `resumable` when it is one of the turn under way. */
  keepCheckpoint(bytes: Uint8Array, resumable: boolean): void {
    this.#checkpoint = bytes;
    this.#write(() => this.#store.saveCheckpoint(this.id, bytes));
    const { openTurn } = this.#record;
    if (!resumable || openTurn === undefined || openTurn.checkpointed) return;
    this.#change({ openTurn: { ...openTurn, checkpointed: true } });
    // after the checkpoint: the record must not promise one that is not there
    this.#save();
  }

  /** The turn is over; `goesOn` when it may still be taken up again. Throws when something could not be stored. */
  async end(goesOn: boolean): Promise<void> {
    if (!goesOn) this.#change({ openTurn: undefined });
    this.#save();
    await this.#writes;
    const error = this.#writeError;
    this.#writeError = undefined;
    if (error !== undefined) throw error;
  }

  /** Keeps a plan beside the conversation; gives its address. */
  async savePlan(name: string, text: string): Promise<string> {
    this.#plans += 1;
    const folder = this.#store.plansFolder(this.id);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const slug = name
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, "-")
      .slice(0, 40);
    const file = path.join(folder, `${this.#clock.now()}-${this.#plans}-${slug === "" ? "plan" : slug}.md`);
    await writeFile(file, text, { mode: 0o600 });
    return pathToFileURL(file).href;
  }

  /** Stops what still runs. */
  close(): void {
    this.shells.close();
  }

  #change(change: Partial<ConversationRecord>): void {
    this.#record = { ...this.#record, ...change, updatedAt: this.#clock.now() };
  }

  #save(): void {
    const record = this.#record;
    this.#write(() => this.#store.save(record));
  }

  #write(write: () => Promise<void>): void {
    this.#writes = this.#writes.then(write).catch((error: unknown) => {
      this.#writeError ??= error;
    });
  }
}

function titleOf(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > MAX_TITLE_CHARS ? `${line.slice(0, MAX_TITLE_CHARS - 1).toWellFormed()}…` : line;
}
