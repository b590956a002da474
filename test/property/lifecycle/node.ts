import { LocalOutputLog } from "@chartroom/cluster";
import { ConversationService, type ConversationSettings, defaultSettings } from "@chartroom/conversation";
import type { DomainEvent, Entropy, NodeId } from "@chartroom/domain";
import { clientCodec } from "@chartroom/protocol";
import { createTools } from "@chartroom/tools";
import type { MemoryTruth } from "../../support/memory-store.ts";
import { puppetModels, type PuppetModels } from "../../support/puppet-models.ts";
import type { NodeClock, SimTime } from "./sim-clock.ts";
import { Tap } from "./tap.ts";

/** The product's bounds, but for what would only make the simulated time long. */
export const settings: ConversationSettings = {
  ...defaultSettings,
  heartbeatIntervalMs: 240_000,
  sweepMs: 60_000,
  callMs: 3_600_000,
  maxSteps: 60,
};

/** One process on the truth: its service, its way to the store, its models, its clock. */
export class SimNode {
  readonly id: NodeId;
  readonly tap: Tap;
  readonly models: PuppetModels;
  readonly service: ConversationService;
  readonly clock: NodeClock;
  readonly #truth: MemoryTruth;
  alive = true;

  constructor(id: string, truth: MemoryTruth, time: SimTime, entropy: Entropy, onEvent: (event: DomainEvent) => void) {
    this.id = id as NodeId;
    this.#truth = truth;
    this.tap = new Tap(truth.node(this.id));
    this.models = puppetModels();
    this.clock = time.node();
    this.service = new ConversationService({
      store: this.tap.store,
      holdsLease: () => truth.lives(this.id),
      log: new LocalOutputLog(),
      tools: createTools(),
      models: this.models.directory,
      codec: clientCodec,
      clock: this.clock,
      entropy,
      settings,
      events: (event) => {
        if (this.alive) onEvent(event);
      },
    });
    this.service.start();
  }

  /** Its lease ends; the process goes on. */
  expire(): void {
    this.#truth.expire(this.id);
  }

  /** The process is gone: it asks, writes and says nothing any more. */
  kill(): void {
    this.alive = false;
    this.expire();
    this.tap.kill();
    this.clock.kill();
  }
}
