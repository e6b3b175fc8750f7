import { parseIssuers, type Issuer, type Problem } from '@svc/identity';
import { labelOf, parseJsonArray } from '../parse/json.ts';
import { bad, good, problemText, type Parsed } from '../parse/parsed.ts';

const HINTS = {
  shellHint: "if a shell reads it, put the whole value in single quotes, as in GATEWAY_ISSUERS_JSON='[...]'",
  record: '{"name", "issuer", "grants"}',
};

export interface IssuerRecords {
  readonly issuers: readonly Issuer[];
  readonly warnings: readonly string[];
}

/** Reads GATEWAY_ISSUERS_JSON. `resource` is the audience of records that name no other. */
export function parseIssuerRecords(text: string, resource: string): Parsed<IssuerRecords> {
  const array = parseJsonArray(text, HINTS);
  return array.ok ? parseIssuerEntries(array.value, resource) : array;
}

/** Like `parseIssuerRecords`, for an array that has been parsed. */
export function parseIssuerEntries(entries: readonly unknown[], resource: string): Parsed<IssuerRecords> {
  const parsed = parseIssuers(entries, { resource });
  return parsed.ok
    ? good({ issuers: parsed.issuers, warnings: parsed.warnings })
    : bad(...parsed.problems.map((problem) => recordProblem(entries, problem)));
}

function recordProblem(records: readonly unknown[], { path, message }: Problem): string {
  const [index, ...rest] = path;
  if (typeof index !== 'number') return problemText({ path, message });
  return `record ${index + 1}${labelOf(records[index], 'name', isIssuerName)}: ${problemText({ path: rest, message })}`;
}

function isIssuerName(name: string): boolean {
  return /^[a-z][a-z0-9_-]{0,31}$/.test(name);
}
