import { setTimeout as pause } from 'node:timers/promises';
import { createRandom } from '@svc/testkit';
import { startQuickClient, toolsCall } from './quick-client.testing.ts';

export interface CancelsReport {
  readonly seed: number;
  readonly cancelled: number;
  /** Cancelled calls that were answered before. */
  readonly answered: number;
  /** Calls that nobody cancelled. */
  readonly innocent: number;
  readonly usualMs: number;
  readonly wrong: readonly string[];
}

const CANCELLING = 4;
const INNOCENT = 8;

/** Cancels calls about when they are answered, while others run that nobody cancels. */
export async function raceCancels(options: {
  readonly cancels: number;
  readonly seed: number;
  readonly file: string;
}): Promise<CancelsReport> {
  const { cancels, seed, file } = options;
  const random = createRandom(seed);
  const client = await startQuickClient(['--config', file]);
  const wrong: string[] = [];
  const waiting = new Map<string, { readonly expected: number; readonly done: () => void }>();
  const doomed = new Map<string, number>();
  let answered = 0;
  let innocent = 0;
  let lastId = 0;
  /** How long a call takes, about: the time at which cancels are worth most. */
  let usualMs = 1;
  client.onReply = ({ id, result }) => {
    const key = String(id);
    const rows = JSON.stringify(result?.['structuredContent']);
    const of = (number: number): string =>
      JSON.stringify({ rows: [{ id: number, title: `Book ${number}` }], count: 1 });
    const cancelled = doomed.get(key);
    if (cancelled !== undefined) {
      doomed.delete(key);
      answered += 1;
      if (rows !== of(cancelled)) wrong.push(`cancelled call ${key}: ${JSON.stringify(result)}`);
      return;
    }
    const call = waiting.get(key);
    if (call === undefined) return void wrong.push(`an answer to nothing: ${key}`);
    waiting.delete(key);
    if (rows !== of(call.expected)) wrong.push(`innocent call ${key}: ${JSON.stringify(result)}`);
    call.done();
  };

  let cancelled = 0;
  async function cancelOnes(): Promise<void> {
    while (cancelled < cancels) {
      cancelled += 1;
      const id = `c${(lastId += 1)}`;
      const book = 1 + Math.floor(random() * 500);
      doomed.set(id, book);
      const call = toolsCall(id, 'get_book', { id: book });
      const cancel = { method: 'notifications/cancelled', params: { requestId: id } };
      if (random() < 0.2) client.send(call, cancel);
      else {
        client.send(call);
        await pause(random() * 2 * usualMs);
        client.send(cancel);
      }
      await pause(random() * usualMs);
    }
  }
  async function callOnes(): Promise<void> {
    while (cancelled < cancels) {
      const id = `i${(lastId += 1)}`;
      const expected = 1 + Math.floor(random() * 500);
      innocent += 1;
      const sentAt = performance.now();
      await new Promise<void>((resolve) => {
        waiting.set(id, { expected, done: resolve });
        client.send(toolsCall(id, 'get_book', { id: expected }));
      });
      usualMs = 0.9 * usualMs + 0.1 * (performance.now() - sentAt);
    }
  }
  try {
    const innocents = Promise.all(Array.from({ length: INNOCENT }, callOnes));
    await Promise.all(Array.from({ length: CANCELLING }, cancelOnes));
    const late = pause(10_000).then(() => wrong.push(`${waiting.size} innocent calls have no answer`));
    await Promise.race([innocents, late]);
    const code = await client.end();
    if (code !== 0) wrong.push(`it ended with ${code}`);
  } finally {
    client.kill();
  }
  return { seed, cancelled, answered, innocent, usualMs, wrong };
}
