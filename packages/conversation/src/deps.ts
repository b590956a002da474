import type {
  ClientCodec,
  Clock,
  ConversationStore,
  DomainEventListener,
  Entropy,
  ModelDirectory,
  OutputLog,
  ToolPort,
} from "@chartroom/domain";
import type { ConversationSettings } from "./settings.ts";

/** The ports that the composition root hands in. */
export interface ConversationDeps {
  readonly store: ConversationStore;
  /** False once this node's lease may have ended: it must not speak for its conversations any more. */
  readonly holdsLease: () => boolean;
  readonly log: OutputLog;
  readonly tools: ToolPort;
  readonly models: ModelDirectory;
  readonly codec: ClientCodec;
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** Replaced as a whole when they change; read where they are used. */
  settings: ConversationSettings;
  readonly events: DomainEventListener;
}
