import type { CommandEnvelope, ConversationStore, Receipt } from "@chartroom/domain";
import { createGateway, type Gateway } from "@chartroom/gateway";
import { type Peer, peerOf } from "../../support/gateway/peer.ts";
import { type NodeParts, ServingNode, settings } from "../lifecycle/node.ts";
import { principal } from "../lifecycle/world.ts";
import type { Mirror } from "./mirror.ts";
import type { NodeStore } from "./node-stores.ts";
import type { WireTransport } from "../../support/wire-client.ts";

export interface WireNodeParts extends Omit<NodeParts, "id" | "store" | "holdsLease"> {
  readonly store: NodeStore;
  readonly transport: WireTransport;
  readonly mirror: Mirror;
  readonly conversationId: Parameters<Mirror["watch"]>[2];
  /** A call reached the conversations, or was answered. */
  readonly onTraffic: () => void;
  readonly onReceipt: (envelope: CommandEnvelope, receipt: Receipt) => void;
  /** An error that the gateway did not expect. */
  readonly onReport: (cause: unknown) => void;
}

/**
 * A server on a free port of loopback with a node of its own in the database, and the way of the client to it. The time of the
 * server is the schedule's: its clock is a port. The time of the database, its leases and its connections is real.
 */
export class WireNode extends ServingNode {
  readonly #own: NodeStore;
  readonly #gateway: Gateway;
  readonly #closing: Promise<void>[] = [];
  #peer: Peer | undefined;

  static async start(parts: WireNodeParts): Promise<WireNode> {
    const node = new WireNode(parts);
    const { port } = await node.#gateway.listen("127.0.0.1", 0);
    node.#peer = peerOf(parts.transport === "run" ? "h2c" : "h1", port, "", "");
    return node;
  }

  private constructor(parts: WireNodeParts) {
    const { store, mirror, conversationId, clock, entropy, onEvent, onTraffic, onReceipt } = parts;
    super({
      id: store.nodeId,
      store: mirror.watch(store.nodeId, store.store, conversationId),
      holdsLease: () => store.nodeLease.held(),
      clock,
      entropy,
      onEvent,
    });
    this.#own = store;
    const { service } = this;
    this.#gateway = createGateway({
      conversations: new Proxy(service, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name, target);
          if (typeof member !== "function") return member;
          return async (...args: unknown[]): Promise<unknown> => {
            onTraffic();
            const result: unknown = await Reflect.apply(member, target, args);
            onTraffic();
            if (name === "submit") onReceipt(args[0] as CommandEnvelope, result as Receipt);
            return result;
          };
        },
      }),
      authenticate: () => ({ ok: true, value: principal }),
      clock,
      entropy,
      apis: [],
      readiness: () => ({ ready: true }),
      events: (event) => {
        if (this.alive) onEvent(event);
      },
      report: (cause) => {
        if (this.alive) parts.onReport(cause);
      },
      limits: { heartbeatMs: settings.heartbeatIntervalMs },
    });
  }

  /** The database itself, to look into. */
  get database(): ConversationStore {
    return this.#own.store;
  }

  get peer(): Peer {
    if (!this.#peer) throw new Error("the node has not started");
    return this.#peer;
  }

  /** Its lease ends; the process goes on. */
  expire(): Promise<void> {
    return this.#own.nodeLease.stop();
  }

  override kill(): void {
    super.kill();
    this.#peer?.close();
    this.#closing.push(this.#gateway.close());
  }

  /** After `kill`: when its port is closed and its lease has ended. */
  async gone(): Promise<void> {
    await Promise.all(this.#closing);
    await this.expire();
  }
}
