import { rawItems } from '@svc/protocol';
import { rateLimited } from '../../core/call-error.ts';
import { emptyCallLog, type Exchange } from '../../http/exchange.ts';
import type { RequestLimiter } from '../../access/rate-limit.ts';
import { ACCEPTED, batchAnswer, errorAnswer, type Answer } from './protocol/answer.ts';
import { badRequest, idOf, readMessage, RPC, RpcError } from './protocol/message.ts';
import type { Revisions } from './protocol/revisions.ts';
import type { Sender, ServeMessage } from './serve-message.ts';

export interface BatchOptions {
  readonly rateLimiter: RequestLimiter | undefined;
  readonly principalRate: RequestLimiter | undefined;
  readonly serveMessage: ServeMessage;
  readonly revisions: Revisions;
}

interface BatchContext extends BatchOptions {
  readonly exchange: Exchange;
  readonly sender: Omit<Sender, 'log' | 'batched'>;
}

export const BATCH_MAX = 50;

/**
 * Serves the messages of one body side by side and answers them in order; each counts as a request for the rate limit and
 * in the log. No result may need reserved memory: batches that hold some while they wait for more would block each other.
 * Throws RpcError (400) when a batch is not allowed, CallError when the rate is exceeded.
 */
export async function serveBatch(
  values: readonly unknown[],
  body: Buffer,
  { exchange, sender, rateLimiter, principalRate, serveMessage, revisions }: BatchContext,
): Promise<Answer> {
  revisions.checkBatchAllowed(exchange.headers);
  // A larger batch would never find enough tokens.
  const largest = Math.min(BATCH_MAX, rateLimiter?.burst ?? BATCH_MAX, principalRate?.burst ?? BATCH_MAX);
  if (values.length === 0 || values.length > largest) {
    const size = largest === 1 ? '1 message' : `1 to ${largest} messages`;
    throw badRequest(RPC.invalidRequest, `a batch holds ${size}`);
  }
  // The request itself has been counted, and counts again on a retry.
  const further = values.length - 1;
  const ofSource = await rateLimiter?.take(exchange.sourceBucket, further, values.length);
  const rate =
    ofSource?.ok === false
      ? ofSource
      : await principalRate?.take(sender.principal.id, further, values.length);
  if (rate?.ok === false) throw rateLimited(rate);
  const logs = values.map(emptyCallLog);
  exchange.batch = logs;
  const serve = (item: unknown, raw: Buffer, at: number): Promise<Answer> => {
    const log = logs[at];
    if (log === undefined) throw new Error('a message of a batch has no log');
    return serveItem(item, raw, { log, batched: true, ...sender }, serveMessage).finally(() => {
      log.durationMs = exchange.elapsedMs();
    });
  };
  return answerItems(values, body, serve);
}

/** Serves the messages side by side. Rejects with the first failure of `serve`, when all have ended. */
export async function answerItems(
  values: readonly unknown[],
  body: Buffer,
  serve: (value: unknown, raw: Buffer, at: number) => Promise<Answer>,
): Promise<Answer> {
  const raw = rawItems(body);
  const served = await Promise.allSettled(values.map((value, at) => serve(value, raw[at] ?? body, at)));
  const answers = served.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const failure = served.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) {
    for (const { release } of answers) release?.();
    throw failure.reason;
  }
  const replies = answers.filter(({ parts }) => parts.length > 0);
  return replies.length === 0 ? ACCEPTED : batchAnswer(replies);
}

async function serveItem(
  value: unknown,
  raw: Buffer,
  sender: Sender,
  serveMessage: ServeMessage,
): Promise<Answer> {
  try {
    return await serveMessage(readMessage(value, raw), sender);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    sender.log.errorCode = error.logCode;
    return errorAnswer(idOf(value, raw), error);
  }
}
