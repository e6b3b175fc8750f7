import { DatabaseError } from '../../driver/errors.ts';
import type { ValueProbe } from '../../sql/probes/value-probes.ts';
import { ProvenFaults, type ValueFault } from '../../sql/probes/proven-faults.ts';
import {
  charactersRefused,
  isLoss,
  isPatternOfSearch,
  isTooLong,
  mistakeOf,
  mistakeOfWarnings,
} from '../connection/server-errors.ts';
import type { PreparedQuery } from './prepared-query.ts';

interface ProbeAnswer {
  readonly error: unknown;
  /** The JSON array of its rows, if there is no error. */
  rows(): string;
  readonly warnings: readonly Readonly<Record<string, unknown>>[];
}

/** Runs a statement with the call's values, but empty texts for those in `emptied`. */
export type Ask = (probe: ValueProbe, emptied?: readonly number[]) => Promise<ProbeAnswer>;

const NO_SEARCH = 'it is no valid full-text search';

/** The values that the server refuses by themselves, as placeholders of the query that has failed with `error`. */
export async function valueFaults(
  error: unknown,
  verified: PreparedQuery,
  given: readonly number[],
  ask: Ask,
): Promise<readonly ValueFault[]> {
  // The server has read no further, so every value is a reason.
  if (isTooLong(error)) return given.map((index) => [index, 'it is longer than the server takes']);
  if (isPatternOfSearch(error)) return faultySearches(verified, ask);
  const sets = charactersRefused(error);
  if (sets.length > 0) return textsOutside(sets, verified, given, ask);
  const mistake = mistakeOf(error);
  if (mistake === undefined) return [];
  const faults = new ProvenFaults();
  for (const probe of verified.probes) {
    if (!faults.isOpen(probe)) continue;
    const { error: refusal } = await ask(probe);
    faults.add(probe, mistakeOf(refusal, probe.text) === mistake ? mistake : undefined);
  }
  return faults.all;
}

/**
 * Which values the server reads as something else, with a mere warning, as placeholders of a query that has succeeded: 0
 * or NULL in the place of a text that is no number or no date.
 */
export async function misreadValues(
  { probes }: PreparedQuery,
  given: readonly number[],
  ask: Ask,
): Promise<readonly ValueFault[]> {
  const faults = new ProvenFaults();
  for (const probe of probes) {
    if (!faults.isOpen(probe) || !probe.params.some((param) => given.includes(param))) continue;
    const { error, warnings } = await ask(probe);
    if (error !== undefined && isLoss(error))
      throw new DatabaseError('unavailable', 'the connection was lost while values were looked into');
    faults.add(probe, mistakeOfWarnings(warnings));
  }
  return faults.all;
}

/** A prepared statement is not parsed again, so the syntax error is in the text of a search. */
async function faultySearches(
  { searches, text, params }: PreparedQuery,
  ask: Ask,
): Promise<readonly ValueFault[]> {
  if (searches.length < 2) return searches.map((index) => [index, NO_SEARCH]);
  const found: ValueFault[] = [];
  for (const index of searches) {
    const others = new Set(searches.filter((other) => other !== index).map((other) => params[other]?.name));
    const emptied = [...params.keys()].filter((each) => others.has(params[each]?.name));
    const { error } = await ask({ text, params: [...params.keys()] }, emptied);
    if (isPatternOfSearch(error)) found.push([index, NO_SEARCH]);
  }
  return found;
}

/** Texts with a character that one of the sets lacks. */
async function textsOutside(
  sets: readonly string[],
  { params }: PreparedQuery,
  given: readonly number[],
  ask: Ask,
): Promise<readonly ValueFault[]> {
  const found: ValueFault[] = [];
  for (const index of given) {
    const { name, schema: { type } = {} } = params[index] ?? {};
    if (params.findIndex((param) => param.name === name) < index) continue;
    if (type === 'integer' || type === 'number' || type === 'boolean') continue;
    const isInside = sets.map(
      (set) =>
        `convert(convert(? using ${set}) using utf8mb4) = convert(? using utf8mb4) collate utf8mb4_bin`,
    );
    const text = `select cast(if(${isInside.join(' and ')}, 1, 0) as binary)`;
    const answer = await ask({ text, params: sets.flatMap(() => [index, index]) });
    const isRefused =
      answer.error === undefined ? answer.rows() === '[0]' : charactersRefused(answer.error).length > 0;
    if (isRefused) found.push([index, 'it has a character that the column cannot hold']);
  }
  return found;
}
