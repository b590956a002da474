import type { AssistantRecord, StreamedCall } from "@chartroom/domain";

/**
 * Takes what a Step shows while it streams. Every method is called synchronously and in the order of the stream; adjacent
 * deltas of one network read come joined.
 */
export interface StepSink {
  text(text: string): void;
  thinking(text: string): void;
  /** A block of thinking that was shown has ended; how long it took, in milliseconds. */
  thinkingCompleted(durationMs: number): void;
  callOpened(call: StreamedCall): void;
  /** More argument text of an opened call: `soFar` is all of it, `delta` what is new. */
  callArguments(call: StreamedCall, soFar: string, delta: string): void;
  /** Output tokens that the provider counted since the last report. */
  outputTokens?(tokens: number): void;
  /**
   * A network read has been forwarded. `partial` gives the record of what was shown so far, for whoever stores it now and
   * then. A promise holds the next read back: that is the back-pressure.
   */
  flush(partial: () => AssistantRecord): void | Promise<void>;
}
