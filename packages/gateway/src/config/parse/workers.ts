import { availableParallelism } from 'node:os';
import { bad, good, quoted, type Parsed } from './parsed.ts';

const MOST = 64;
/** Elsewhere processes cannot share a listening address as the primary and its workers do. */
const PLATFORMS: ReadonlySet<string> = new Set(['linux', 'darwin']);

/** How many processes serve: a number, or one for each core. */
export function parseWorkers(text: string, platform: string = process.platform): Parsed<number> {
  const workers = text === 'auto' ? Math.min(availableParallelism(), MOST) : parseCount(text);
  if (workers === undefined)
    return bad(`${quoted(text)} is not accepted; accepted: a whole number from 1 to ${MOST}, or auto`);
  if (workers > 1 && !PLATFORMS.has(platform))
    return bad(`${quoted(text)} means several processes, which only Linux and macOS can; accepted here: 1`);
  return good(workers);
}

function parseCount(text: string): number | undefined {
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return count >= 1 && count <= MOST ? count : undefined;
}
