import type { Issuer } from '../model/issuer.ts';
import { clientIdWarning } from './client-id-warning.ts';
import { parseRecord } from './parse-record.ts';
import { createPlace, type Problem } from './problem.ts';

/** docs/reference/settings.md promises it. */
const MAX_ISSUERS = 16;

export type ParsedIssuers =
  | { readonly ok: true; readonly issuers: readonly Issuer[]; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Reads the records of issuers, parsed from JSON or YAML: all of them, or every fault of all. `resource` is the
 * audience of records that name none; without it they have to.
 */
export function parseIssuers(
  value: unknown,
  options: { readonly resource: string | undefined },
): ParsedIssuers {
  const problems: Problem[] = [];
  const place = createPlace(problems);
  if (!Array.isArray(value)) {
    place.fault('is not a list; accepted: a list of issuers');
    return { ok: false, problems };
  }
  if (value.length > MAX_ISSUERS) {
    place.fault(`has ${value.length} issuers; accepted: at most ${MAX_ISSUERS}`);
    return { ok: false, problems };
  }
  const entries: readonly unknown[] = value;
  const issuers: Issuer[] = [];
  for (const [index, entry] of entries.entries()) {
    const issuer = parseRecord(entry, place.at(index), options.resource);
    if (issuer === undefined) continue;
    for (const field of ['name', 'issuer'] as const) {
      // Two of one name share a line in the log, and of two with one `iss` only one would be looked at.
      const isTaken = issuer[field] !== '' && issuers.some((earlier) => earlier[field] === issuer[field]);
      if (isTaken)
        place.at(index).at(field).fault(`is that of an earlier issuer; accepted: each ${field} once`);
    }
    issuers.push(issuer);
  }
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, issuers, warnings: issuers.flatMap((issuer) => clientIdWarning(issuer) ?? []) };
}
