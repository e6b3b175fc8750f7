import { availableParallelism } from 'node:os';
import { parseDuration } from '@svc/edge';
import type { GatewayConfig } from '../model.ts';
import { bad, good, quoted, type Parsed } from './parsed.ts';

/** Reads the text of one setting. */
type Parse<T> = (text: string) => Parsed<T>;

const BOOLEANS = new Map(Object.entries({ true: true, 1: true, false: false, 0: false }));
const WORKERS_MAX = 64;
const REPLICAS_MAX = 16;
/** On other platforms, processes cannot share a listening address as the primary and its workers do. */
const PLATFORMS_WITH_WORKERS: ReadonlySet<string> = new Set(['linux', 'darwin']);

export function integerUpTo(max: number): Parse<number> {
  return (text) => parsed(text, countOf(text, max, 15), `a whole number from 1 to ${max}`);
}

/** Fractions are accepted, exponents are not. */
export function numberUpTo(max: number): Parse<number> {
  return (text) => {
    const value = /^\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : 0;
    const accepted = `a number above 0 and up to ${max}, like 50 or 0.5`;
    return parsed(text, value > 0 && value <= max ? value : undefined, accepted);
  };
}

/** In milliseconds. */
export function durationBetween(least: string, most: string): Parse<number> {
  return (text) => {
    const milliseconds = parseDuration(text);
    const isWithin = milliseconds >= parseDuration(least) && milliseconds <= parseDuration(most);
    const accepted = `a duration like 500ms, 30s or 1m30s, from ${least} to ${most}`;
    return parsed(text, isWithin ? milliseconds : undefined, accepted);
  };
}

export function oneOf<const T extends string>(...values: readonly T[]): Parse<T> {
  return (text) =>
    parsed(
      text,
      values.find((value) => value === text),
      values.join(', '),
    );
}

export function parseBoolean(text: string): Parsed<boolean> {
  return parsed(text, BOOLEANS.get(text), 'true, false, 1 or 0');
}

/** How many processes serve: a number, or one for each core. */
export function parseWorkers(text: string, platform: string = process.platform): Parsed<number> {
  const workers =
    text === 'auto' ? Math.min(availableParallelism(), WORKERS_MAX) : countOf(text, WORKERS_MAX, 3);
  if (workers !== undefined && workers > 1 && !PLATFORMS_WITH_WORKERS.has(platform))
    return bad(`${quoted(text)} means several processes, which only Linux and macOS can; accepted here: 1`);
  return parsed(text, workers, `a whole number from 1 to ${WORKERS_MAX}, or auto`);
}

/** A number, or `dns:` and a host name with one address for each replica. */
export function parseReplicas(text: string): Parsed<GatewayConfig['replicas']> {
  const [, dnsName] = /^dns:([A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252}))$/.exec(text) ?? [];
  const accepted = `a whole number from 1 to ${REPLICAS_MAX}, or dns:<name> with a name that has one address for each replica`;
  return parsed(text, dnsName === undefined ? countOf(text, REPLICAS_MAX, 2) : { dnsName }, accepted);
}

function countOf(text: string, max: number, maxDigits: number): number | undefined {
  const count = /^\d+$/.test(text) && text.length <= maxDigits ? Number(text) : 0;
  return count >= 1 && count <= max ? count : undefined;
}

function parsed<T>(text: string, value: T | undefined, accepted: string): Parsed<T> {
  return value === undefined ? bad(`${quoted(text)} is not accepted; accepted: ${accepted}`) : good(value);
}
