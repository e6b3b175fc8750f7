/** What we send at most: with the head of its WebSocket frame it fills the 65,536 bytes that Node.js reads at once. */
export const SENT_MESSAGE_MAX_BYTES = 65_528;

/** Longer messages are sent from the draft itself, shorter ones are copied so as not to hold all of it. */
const COPIED_MAX_BYTES = 16_384;

/** One for all links: a message is begun and taken without anything in between. */
let draft: Buffer | undefined;

/** Memory for one message. What was written there before counts no more. */
export function writableDraft(): Buffer {
  draft ??= Buffer.allocUnsafeSlow(SENT_MESSAGE_MAX_BYTES);
  return draft;
}

/** The first `length` bytes of the draft, which nothing will change from now on. */
export function takeDraft(length: number): Buffer {
  const message = writableDraft().subarray(0, length);
  if (length <= COPIED_MAX_BYTES) return Buffer.from(message);
  draft = undefined;
  return message;
}
