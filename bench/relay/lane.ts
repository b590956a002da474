/** What came of one stream. */
export interface Streamed {
  /** Why it is not counted; absent when it ended as it should. */
  readonly error?: string;
  readonly chunks: number;
  /** From the request to the first chunk (microseconds). */
  readonly firstUs: number;
}

/** Called for each chunk with its age on arrival in microseconds. */
export type OnChunk = (latencyUs: number) => void;

/** One client's connection; carries one stream at a time. */
export interface Lane {
  stream(model: string, onChunk?: OnChunk): Promise<Streamed>;
  close(): void;
}

/** A way to the fake provider: straight, through the pipe, or through the server. */
export interface Road {
  readonly name: string;
  lane(): Promise<Lane>;
}
