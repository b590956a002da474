import type { BlobId, RequestContext } from "@chartroom/domain";
import type { Activation } from "./activation.ts";
import { whenAttached } from "./attachment.ts";
import type { Bound } from "./client-stream.ts";
import type { LiveRun } from "./live-run.ts";

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

  async get(id: BlobId): Promise<Uint8Array | undefined> {
    const stream = await this.#stream();
    const { codec } = this.#activation.deps;
    return stream?.getBlob(id, codec, this.#bound());
  }

  async context(): Promise<RequestContext | undefined> {
    const stream = await this.#stream();
    const { codec } = this.#activation.deps;
    const reply = await stream?.ask(
      (id) => codec.requestContext(id, this.#activation.conversationId),
      this.#activation.streamAppend(this.#run),
      this.#bound(),
    );
    const decoded = reply && codec.decodeRequestContext(reply);
    return decoded?.ok ? decoded.value : undefined;
  }

  #bound(): Bound {
    const { clock, settings } = this.#activation.deps;
    return { clock, ms: settings.clientReplyMs, signal: this.#signal };
  }

  async #stream(): Promise<LiveRun["attached"]> {
    const { activation, run } = { activation: this.#activation, run: this.#run };
    if (!run.accepted.settled && (await activation.commit(() => ({ runsOpened: [run.row] }))))
      run.accepted.resolve(true);
    if (!run.attached) await whenAttached(run, this.#signal);
    return run.attached;
  }
}
