import type { RedisClientType } from '@redis/client';
import { AnswerScan } from './answer-scan.ts';

/** On the gateway's channel. If more arrive, the connection is made again, and the list has what they said. */
const MAX_MESSAGES_A_SECOND = 256;

/**
 * Ends a connection that sends what the gateway did not ask for, or more than `maxBytes` in one answer. The library reads
 * each chunk at once, however large, so it only gets chunks that were checked; waiting commands then fail with the reason.
 * Messages are expected on `channel` only.
 */
export function guardAnswers(client: RedisClientType, maxBytes: number, channel: string | undefined): void {
  // oxlint-disable-next-line no-underscore-dangle -- the library has no public place before its reader
  const queue = client._getQueue();
  const { decoder } = queue;
  const scan = new AnswerScan(maxBytes);
  const read = decoder.write.bind(decoder);
  decoder.write = (chunk: Buffer): void => {
    try {
      scan.check(chunk, queue.pendingCount);
      read(chunk);
    } catch (error) {
      queue.flushAll(error instanceof Error ? error : new Error(String(error)));
      // The library passes it to the listeners for errors, which end the connection.
      throw error;
    }
  };
  const { onPush } = decoder;
  let secondAt = Number.NEGATIVE_INFINITY;
  let messages = 0;
  decoder.onPush = (push: unknown[]): void => {
    const [kind, name] = push.slice(0, 2).map(String);
    const isAsked = kind === 'message' || (kind === 'subscribe' && queue.pendingCount > 0);
    if (!isAsked || name !== channel) throw new Error('a message that was not asked for');
    const now = performance.now();
    if (now - secondAt >= 1000) {
      secondAt = now;
      messages = 0;
    }
    if (++messages > MAX_MESSAGES_A_SECOND) {
      throw new Error(`more than ${MAX_MESSAGES_A_SECOND} messages in a second`);
    }
    onPush(push);
  };
}
