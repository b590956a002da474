import type { CommandEnvelope, NodeId, Receipt, RequestId, RunRow } from "@chartroom/domain";
import type { Carrier } from "../../lifecycle/table.ts";
import { MemoryTruth } from "../../support/memory-store.ts";
import { turn } from "../../support/turn.ts";
import type { Coverage } from "./coverage.ts";
import { ServingNode } from "./node.ts";
import { SimDownlink } from "./sim-downlink.ts";
import { type ClientInit, uplink } from "./wire.ts";
import { type ClientStream, principal, World } from "./world.ts";

/** The world in one thread of simulated time: memory as the store, the service's own door as the wire. */
export class SimWorld extends World {
  readonly truth = new MemoryTruth();
  node: ServingNode;
  #uuids = 0;
  /** What the process that serves was asked and has not answered. */
  readonly #unanswered = new Set<Promise<unknown>>();

  constructor(coverage: Coverage) {
    super(coverage);
    this.truth.onCommit = (conversation, barrier, before) => this.judge.committed(conversation, barrier, before);
    this.node = this.#start();
  }

  #start(): ServingNode {
    const id = this.name("node-") as NodeId;
    const node: ServingNode = new ServingNode({
      id,
      store: this.truth.node(id),
      holdsLease: () => this.truth.lives(id),
      clock: this.time.node(),
      entropy: {
        uuid: () => `00000000-0000-7000-8000-${(++this.#uuids).toString(16).padStart(12, "0")}`,
        random: () => 0.5,
      },
      onEvent: (event) => this.heard(event, node),
    });
    node.models.onRequest = (request) => this.judge.asked(request, node);
    return node;
  }

  async kill(): Promise<void> {
    this.#end(this.node);
    for (const zombie of this.zombies.splice(0)) this.#end(zombie);
    for (const { downlinks } of this.streams) for (const downlink of downlinks) downlink.vanish();
    this.owesNothing();
    this.#unanswered.clear();
    this.node = this.#start();
  }

  async freeze(): Promise<void> {
    for (const zombie of this.zombies.splice(0)) this.#end(zombie);
    this.truth.expire(this.node.id);
    this.zombies.push(this.node);
    this.owesNothing();
    this.#unanswered.clear();
    this.node = this.#start();
  }

  async close(): Promise<void> {
    for (const node of [this.node, ...this.zombies]) this.#end(node);
  }

  #end(node: ServingNode): void {
    this.truth.expire(node.id);
    node.kill();
  }

  attach(stream: ClientStream): void {
    const downlink = new SimDownlink(stream.generation.streamId);
    const node = this.node;
    downlink.onFrame = (frame) => this.frame(stream, downlink, frame, node);
    downlink.onTerminal = (terminal) => this.judge.ended(stream, downlink, terminal, node);
    stream.downlinks.push(downlink);
    this.#watch(this.node.service.attach(principal, stream.generation, downlink));
  }

  hangUp(): void {
    // without a downlink nothing breaks
  }

  /** The gateway's rule: what comes on the request id of a generation that is over begins the next one. */
  next({ generation }: ClientStream): ClientStream {
    const stream = this.open(generation.requestId);
    this.attach(stream);
    return stream;
  }

  protected submit(
    stream: ClientStream,
    carrier: Carrier,
    init: ClientInit,
    original: string | undefined,
  ): Promise<Receipt> {
    const message = uplink(init);
    if (message.kind !== "run" && message.kind !== "prewarm" && message.kind !== "action")
      throw new Error(`not a command: ${message.kind}`);
    const envelope: CommandEnvelope = {
      principal,
      generation: stream.generation,
      carrier,
      message,
      ...(original === undefined ? {} : { originalRequestId: original as RequestId }),
    };
    const receipt = this.node.service.submit(envelope);
    this.#watch(receipt.then((given) => this.judge.received(stream, carrier, given)));
    return receipt;
  }

  protected give({ generation }: ClientStream, init: ClientInit): void {
    const { service } = this.node;
    const message = uplink(init);
    switch (message.kind) {
      case "exec":
        return this.#watch(service.exec(generation, message.reply));
      case "execControl":
        return this.#watch(service.control(generation, message.control));
      case "kv":
        return this.#watch(service.kv(generation, message.reply));
      case "query":
        return this.#watch(service.query(generation, message.reply));
      default:
        throw new Error(`not an answer: ${message.kind}`);
    }
  }

  #watch(promise: Promise<unknown>): void {
    const node = this.node;
    this.#unanswered.add(promise);
    promise
      .catch((error: unknown) => {
        if (node.alive)
          this.judge.accuse(`the service rejected: ${error instanceof Error ? error.message : String(error)}`);
      })
      .finally(() => this.#unanswered.delete(promise));
  }

  isOf({ generation: at }: ClientStream, run: Pick<RunRow, "runId" | "requestId" | "generation">): boolean {
    if (run.requestId === at.requestId && run.generation === at.generation) return true;
    const claimed = this.truth.conversation(this.conversationId)?.claimsOf(at.requestId, at.generation);
    return claimed?.has(run.runId) === true;
  }
  lifeOf({ generation }: ClientStream): string {
    return generation.streamId;
  }
  isSettled(callId: string): boolean {
    return this.truth.conversation(this.conversationId)?.calls.get(callId)?.status === "settled";
  }
  isRobbed(node: ServingNode): boolean {
    return node !== this.node && this.truth.conversation(this.conversationId)?.owner !== node.id;
  }

  settle(): Promise<void> {
    return turn();
  }
  async finale(): Promise<void> {
    if (this.#unanswered.size > 0) this.judge.accuse(`9: ${this.#unanswered.size} calls were never answered`);
  }
}
