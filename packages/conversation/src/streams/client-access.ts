import type { BlobId, RequestContext } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import { whenAttached } from "./attachment.ts";
import type { Bound, ClientStream } from "./client-stream.ts";
import type { LiveRun } from "../activation/live-run.ts";

/** Questions to the client of a Run; the Run is made durable first, since an answer takes a round trip. */
export class ClientAccess {
  readonly #activation: Activation;
  readonly #run: LiveRun;
  readonly #signal: AbortSignal;

  constructor(activation: Activation, run: LiveRun, signal: AbortSignal) {
    this.#activation = activation;
    this.#run = run;
    this.#signal = signal;
  }

  /** A blob of the client's store. One whose transport went is asked for again on the next; `undefined`: the client has it not. */
  get(id: BlobId): Promise<Uint8Array | undefined> {
    const { codec } = this.#activation.deps;
    return this.#insist((stream) => stream.getBlob(id, codec, this.#bound()));
  }

  /** The same of a client that is there now; nobody is waited for. */
  async getNow(id: BlobId): Promise<Uint8Array | undefined> {
    const { attached } = this.#run;
    return attached?.attached ? attached.getBlob(id, this.#activation.deps.codec, this.#bound()) : undefined;
  }

  async context(): Promise<RequestContext | undefined> {
    const { codec } = this.#activation.deps;
    const reply = await this.#insist((stream) =>
      stream.ask(
        (id) => codec.requestContext(id, this.#activation.conversationId),
        this.#activation.streamAppend(this.#run),
        this.#bound(),
      ),
    );
    const decoded = reply && codec.decodeRequestContext(reply);
    return decoded?.ok ? decoded.value : undefined;
  }

  #bound(): Bound {
    const { clock, settings } = this.#activation.deps;
    return { clock, ms: settings.clientReplyMs, signal: this.#signal };
  }

  /** Losing a transport is no answer: what was asked over it is asked again on the one that comes next. */
  async #insist<T>(question: (stream: ClientStream) => Promise<T | undefined>): Promise<T | undefined> {
    await this.#keepRun();
    for (;;) {
      await whenAttached(this.#run, this.#signal);
      const stream = this.#run.attached;
      if (!stream || this.#signal.aborted) return undefined;
      const { downlink } = stream;
      const reply = await question(stream);
      const stays = this.#run.attached === stream && stream.attached && stream.downlink === downlink;
      if (reply !== undefined || stays || this.#signal.aborted) return reply;
    }
  }

  async #keepRun(): Promise<void> {
    const run = this.#run;
    if (!run.accepted.settled && (await this.#activation.commit(() => ({ runsOpened: [run.row] }))))
      run.accepted.resolve(true);
  }
}
