const MIB = 1_048_576;

/** The longest message that is read from a database: the longest result that a capability can have, and a little more. */
export const MESSAGE_MAX_BYTES: number = 68 * MIB;

/** How many bytes a database may send for a result of at most `maxBytes`, which its protocol adds to. */
export function answerMaxBytes(maxBytes: number): number {
  return 2 * maxBytes + MIB;
}
