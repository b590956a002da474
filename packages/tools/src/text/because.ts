/** A reason behind a sentence without an end: `: reason`, or just the full stop. */
export const because = (reason: string): string => (reason === "" ? "." : `: ${reason}`);
