import { parseIssuers, type Issuer, type Problem } from '@svc/identity';
import { parseJsonArray } from '../parse/json-array.ts';
import { bad, good, quoted, type Parsed } from '../parse/parsed.ts';
import { problemText } from '../parse/problem-text.ts';

const HINTS = {
  shellHint:
    "where a shell reads it, put the whole value in single quotes, as in GATEWAY_ISSUERS_JSON='[...]'",
  record: '{"name", "issuer", "grants"}',
};

export interface IssuerRecords {
  readonly issuers: readonly Issuer[];
  readonly warnings: readonly string[];
}

/** Reads GATEWAY_ISSUERS_JSON. `resource` is the audience of records that name none. */
export function parseIssuerRecords(text: string, resource: string): Parsed<IssuerRecords> {
  const array = parseJsonArray(text, HINTS);
  return array.ok ? parseIssuerEntries(array.value, resource) : array;
}

/** The same for an array that has been read. */
export function parseIssuerEntries(entries: readonly unknown[], resource: string): Parsed<IssuerRecords> {
  const parsed = parseIssuers(entries, { resource });
  return parsed.ok
    ? good({ issuers: parsed.issuers, warnings: parsed.warnings })
    : bad(...parsed.problems.map((problem) => recordProblem(entries, problem)));
}

function recordProblem(records: readonly unknown[], { path, message }: Problem): string {
  const [index, ...rest] = path;
  if (typeof index !== 'number') return problemText({ path, message });
  return `record ${index + 1}${label(records[index])}: ${problemText({ path: rest, message })}`;
}

/** By which its operator knows a record, where it can be told. */
function label(record: unknown): string {
  if (typeof record !== 'object' || record === null || !('name' in record)) return '';
  const { name } = record;
  return typeof name === 'string' && /^[a-z][a-z0-9_-]{0,31}$/.test(name) ? ` (${quoted(name)})` : '';
}
