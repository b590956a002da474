import { LocalOutputLog } from "@chartroom/cluster";
import { ConversationService, type ConversationSettings, defaultSettings } from "@chartroom/conversation";
import type { ConversationStore, DomainEvent, Entropy, NodeId } from "@chartroom/domain";
import { clientCodec } from "@chartroom/protocol";
import { createTools } from "@chartroom/tools";
import { puppetModels, type PuppetModels } from "../../support/puppet-models.ts";
import type { NodeClock } from "./sim-clock.ts";
import { Tap } from "./tap.ts";

/** The product's bounds, but for what would only make the simulated time long. */
export const settings: ConversationSettings = {
  ...defaultSettings,
  heartbeatIntervalMs: 240_000,
  sweepMs: 60_000,
  callMs: 3_600_000,
  maxSteps: 60,
};

export interface NodeParts {
  readonly id: NodeId;
  readonly store: ConversationStore;
  /** Whether its lease has not ended. */
  readonly holdsLease: () => boolean;
  readonly clock: NodeClock;
  readonly entropy: Entropy;
  readonly onEvent: (event: DomainEvent) => void;
}

/** One process on the truth: its service, its way to the store, its models, its clock. */
export class ServingNode {
  readonly id: NodeId;
  readonly tap: Tap;
  readonly models: PuppetModels;
  readonly service: ConversationService;
  readonly clock: NodeClock;
  alive = true;

  constructor({ id, store, holdsLease, clock, entropy, onEvent }: NodeParts) {
    this.id = id;
    this.tap = new Tap(store);
    this.models = puppetModels();
    this.clock = clock;
    this.service = new ConversationService({
      store: this.tap.store,
      holdsLease,
      log: new LocalOutputLog(),
      tools: createTools(),
      models: this.models.directory,
      codec: clientCodec,
      clock,
      entropy,
      settings,
      events: (event) => {
        if (this.alive) onEvent(event);
      },
    });
    this.service.start();
  }

  /** The process is gone: it asks, writes and says nothing any more. */
  kill(): void {
    this.alive = false;
    this.tap.kill();
    this.clock.kill();
  }
}
