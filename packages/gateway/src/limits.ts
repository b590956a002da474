import { MAX_MESSAGE_BYTES, SEQUENCER_LIMITS, type SequencerLimits } from "@chartroom/protocol";

/** The gateway's bounds; times in milliseconds. */
export interface GatewayLimits {
  /** The largest message on a stream or in a unary body, compressed or not (wire section 2.4). */
  readonly messageBytes: number;
  /** A quiet downlink gets a heartbeat this often, give or take a tenth (wire section 7.1). */
  readonly heartbeatMs: number;
  /** How long a downlink may wait without a Run (lifecycle specification, section 6). */
  readonly waitMs: number;
  /**
   * A downlink for a generation whose terminal a client already has waits so long for the opening of the next one;
   * only then the old output is replayed to it.
   */
  readonly rejoinGraceMs: number;
  /** How long a client may take to read what is left after the terminal. */
  readonly lingerMs: number;
  /** Bytes that wait for a reader who was told to wait; past it the transport is lost. */
  readonly downlinkBytes: number;
  /** An exchange that nobody uses is forgotten after so long; what binds it stays in the store. */
  readonly retentionMs: number;
  /** Exchanges in memory. */
  readonly maxExchanges: number;
  /** Uplink messages of one stream that wait for their receipts before its reading pauses. */
  readonly uplinkMessages: number;
  readonly uplinkBytes: number;
  readonly sequencer: SequencerLimits;
}

export const GATEWAY_LIMITS: GatewayLimits = {
  messageBytes: MAX_MESSAGE_BYTES,
  heartbeatMs: 5000,
  waitMs: 60_000,
  rejoinGraceMs: 1000,
  lingerMs: 120_000,
  downlinkBytes: MAX_MESSAGE_BYTES + 16 * 1024 * 1024,
  retentionMs: 600_000,
  maxExchanges: 16_384,
  uplinkMessages: 64,
  uplinkBytes: 8 * 1024 * 1024,
  sequencer: SEQUENCER_LIMITS,
};
