/**
 * Tries the frame decoder on random and mutated messages: each must be decoded or refused with
 * ProtocolError, and soon. `npx tsx scripts/fuzz-frames.ts [--messages N] [--seed N]`
 */
import { parseArgs } from 'node:util';
import { createMessageSource, tryDecode } from '../packages/protocol/src/frames/mutate.testing.ts';

/** Far above a pause of the garbage collector, far below a loop that does not end. */
const MESSAGE_TIME_MAX_MS = 1000;
const PROGRESS_EVERY = 50_000;

interface Tally {
  decoded: number;
  refused: number;
  slowestMs: number;
}

function main(): number {
  const options = readOptions();
  if (options === undefined) {
    process.stderr.write('usage: fuzz-frames [--messages N] [--seed N], both whole numbers above 0\n');
    return 2;
  }
  const { messages, seed } = options;
  process.stdout.write(`seed ${seed}\n`);
  const next = createMessageSource(seed);
  const tally: Tally = { decoded: 0, refused: 0, slowestMs: 0 };
  const start = performance.now();
  for (let count = 1; count <= messages; count++) {
    const message = next();
    const fault = attempt(message, tally);
    if (fault !== undefined) {
      process.stderr.write(
        `cannot decode message ${count} of seed ${seed}: ${fault}\n${message.toString('hex')}\n`,
      );
      return 1;
    }
    if (process.stdout.isTTY && count % PROGRESS_EVERY === 0) {
      process.stdout.write(`\r${count} of ${messages}`);
    }
  }
  const seconds = (performance.now() - start) / 1000;
  const end = process.stdout.isTTY ? '\r' : '';
  process.stdout.write(
    `${end}${messages} messages in ${seconds.toFixed(1)} s (${Math.round(messages / seconds)}/s): ` +
      `${tally.decoded} decoded, ${tally.refused} refused, the slowest took ${tally.slowestMs.toFixed(1)} ms\n`,
  );
  return 0;
}

/** What is wrong with how the decoder took the message, if anything. */
function attempt(message: Buffer, tally: Tally): string | undefined {
  const start = performance.now();
  try {
    tally[tryDecode(message) === undefined ? 'refused' : 'decoded']++;
  } catch (error) {
    return String(error);
  }
  const tookMs = performance.now() - start;
  tally.slowestMs = Math.max(tally.slowestMs, tookMs);
  return tookMs > MESSAGE_TIME_MAX_MS ? `it took ${tookMs.toFixed(0)} ms` : undefined;
}

function readOptions(): { messages: number; seed: number } | undefined {
  try {
    const { values } = parseArgs({ options: { messages: { type: 'string' }, seed: { type: 'string' } } });
    const messages = Number(values.messages ?? 1_000_000);
    const seed = Number(values.seed ?? 1 + (Date.now() % 0x7fff_fffe));
    const valid = [messages, seed].every((value) => Number.isSafeInteger(value) && value > 0);
    return valid && seed <= 0x7fff_ffff ? { messages, seed } : undefined;
  } catch {
    return undefined;
  }
}

process.exitCode = main();
