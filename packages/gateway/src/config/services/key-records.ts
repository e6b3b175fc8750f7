import { parseClaims } from '@svc/identity';
import { canonicalBcryptHash } from '../../auth/api-keys/bcrypt-hash.ts';
import { isCapabilityName, isKeyId, isKeyName, KEY_NAME_ACCEPTED } from '../../auth/api-keys/key-form.ts';
import type { KeyRecord } from '../../auth/api-keys/key-record.ts';
import type { Permissions } from '../../core/permission.ts';
import { INSTANT_ACCEPTED, parseInstant } from '../../auth/api-keys/instant.ts';
import {
  isJsonArray,
  isJsonObject,
  labelOf,
  parseJsonArray,
  repeatsAmong,
  unknownFields,
} from '../parse/json.ts';
import { bad, good, problemText, quoted, type Parsed } from '../parse/parsed.ts';

import { differingPrincipals } from './shared-principals.ts';

/** docs/reference/settings.md states it. */
export const MAX_RECORDS = 100;
const FIELDS: readonly string[] = [
  'name',
  'key_hash',
  'key_id',
  'capabilities',
  'principal',
  'claims',
  'expires_at',
];
const SINGLE_QUOTE_HINT =
  "if a shell reads it, put the whole value in single quotes, as in GATEWAY_API_KEYS_JSON='[...]', " +
  'because a shell expands the $ in hashes';

/** Where records come from: a shell may have changed those of a setting. */
export type RecordsIn = 'setting' | 'file';

/** Reads GATEWAY_API_KEYS_JSON, or the text of the file of GATEWAY_API_KEYS_FILE. Problems never show a hash. */
export function parseKeyRecords(text: string, place: RecordsIn): Parsed<readonly KeyRecord[]> {
  const array = parseJsonArray(text, {
    shellHint: place === 'setting' ? SINGLE_QUOTE_HINT : undefined,
    record: '{"name", "key_hash", "capabilities"}',
  });
  return array.ok ? parseKeyEntries(array.value, place) : array;
}

/** Like `parseKeyRecords`, for an array that has been parsed. */
export function parseKeyEntries(entries: readonly unknown[], place: RecordsIn): Parsed<readonly KeyRecord[]> {
  if (entries.length > MAX_RECORDS)
    return bad(`has ${entries.length} records; accepted: at most ${MAX_RECORDS}`);

  const records: { readonly place: string; readonly record: KeyRecord }[] = [];
  const problems: string[] = [];
  for (const [index, entry] of entries.entries()) {
    const parsed = parseRecord(entry, place);
    if (parsed.ok) records.push({ place: `record ${index + 1}`, record: parsed.value });
    else
      problems.push(
        ...parsed.problems.map(
          (problem) => `record ${index + 1}${labelOf(entry, 'name', isKeyName)}: ${problem}`,
        ),
      );
  }
  problems.push(
    ...repeated(entries, 'name'),
    ...repeated(entries, 'key_id'),
    ...differingPrincipals(records),
  );
  return problems.length > 0 ? bad(...problems) : good(records.map(({ record }) => record));
}

function parseRecord(entry: unknown, place: RecordsIn): Parsed<KeyRecord> {
  if (!isJsonObject(entry)) return bad('is not an object; accepted: {"name", "key_hash", "capabilities"}');
  const { name, key_hash: hash, key_id: keyId, capabilities, principal = name, claims = {} } = entry;
  const problems = unknownFields(entry, FIELDS);
  if (typeof name !== 'string' || !isKeyName(name)) {
    problems.push(`name is ${missingOr(name, 'not accepted')}; accepted: a text of ${KEY_NAME_ACCEPTED}`);
  }
  const canonical = typeof hash === 'string' ? canonicalBcryptHash(hash) : undefined;
  if (canonical === undefined) problems.push(hashProblem(hash, place));
  if (keyId !== undefined && (typeof keyId !== 'string' || !isKeyId(keyId))) {
    problems.push('key_id is not accepted; accepted: 1 to 32 letters and digits, as printed by create-key');
  }
  const permissions = parsePermissions(capabilities);
  if (!permissions.ok) problems.push(...permissions.problems);

  if (principal !== name && (typeof principal !== 'string' || !isKeyName(principal))) {
    problems.push(`principal is not accepted; accepted: a text of ${KEY_NAME_ACCEPTED}`);
  }
  const known = parseClaims(claims);
  if (!known.ok) {
    problems.push(
      ...known.problems.map(({ path, message }) => problemText({ path: ['claims', ...path], message })),
    );
  }
  const expiry = parseExpiry(entry['expires_at']);
  if (!expiry.ok) problems.push(...expiry.problems);

  if (
    problems.length > 0 ||
    typeof name !== 'string' ||
    canonical === undefined ||
    !permissions.ok ||
    !known.ok ||
    !expiry.ok
  ) {
    return bad(...problems);
  }
  return good({
    name,
    keyHash: canonical,
    keyId: typeof keyId === 'string' ? keyId : undefined,
    capabilities: permissions.value,
    principal: typeof principal === 'string' ? principal : name,
    claims: known.claims,
    expiresAtMs: expiry.value,
  });
}

function parseExpiry(value: unknown): Parsed<number | undefined> {
  if (value === undefined) return good(undefined);
  const milliseconds = typeof value === 'string' ? parseInstant(value) : undefined;
  return milliseconds === undefined
    ? bad(`expires_at is not accepted; accepted: ${INSTANT_ACCEPTED}`)
    : good(milliseconds);
}

function parsePermissions(value: unknown): Parsed<Permissions> {
  const accepted = 'accepted: a list of capability names, or ["*"] for all, or [] for none';
  if (value === undefined) return good(new Set());
  if (!isJsonArray(value)) return bad(`capabilities is not a list; ${accepted}`);
  if (value.length === 1 && value[0] === '*') return good('*');
  const names = new Set<string>();
  const problems: string[] = [];
  for (const [index, item] of value.entries()) {
    if (typeof item === 'string' && isCapabilityName(item)) {
      names.add(item);
    } else if (item === '*') {
      problems.push(`capabilities has "*" beside other entries; ${accepted}`);
    } else {
      const rule = 'a lower-case letter, then up to 47 lower-case letters, digits or _';
      problems.push(`capabilities entry ${index + 1} is not a capability name; accepted: ${rule}`);
    }
  }
  return problems.length > 0 ? bad(...problems) : good(names);
}

function hashProblem(hash: unknown, place: RecordsIn): string {
  const accepted =
    'accepted: a bcrypt hash of 60 characters that begins with $2a$, $2b$ or $2y$ and a cost of 04 to 16';
  const [, cost] = typeof hash === 'string' ? (/^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(hash) ?? []) : [];
  if (cost !== undefined) {
    return `key_hash has the cost ${cost}; accepted: 04 to 16, so make a new hash or a new key`;
  }
  const problem = `key_hash is ${missingOr(hash, 'not a valid bcrypt hash')}; ${accepted}`;
  if (typeof hash === 'string' && hash.startsWith('svc_')) {
    return 'key_hash holds a key instead of its hash; accepted: the record as svc-gateway create-key prints it';
  }
  const mangled = typeof hash === 'string' && hash !== '' && !/^\$2[aby]\$\d\d\$.{53}$/.test(hash);
  return mangled && place === 'setting' ? `${problem}; ${SINGLE_QUOTE_HINT}` : problem;
}

/** Two records with one name would share a line in the log; two with one key_id would hide each other. */
function repeated(entries: readonly unknown[], field: 'name' | 'key_id'): readonly string[] {
  const values = entries.map(
    (entry, at) => [isJsonObject(entry) ? entry[field] : undefined, at + 1] as const,
  );
  return repeatsAmong(
    values,
    (value, at, earlier) =>
      `record ${at}: ${field} ${quoted(value)} is already that of record ${earlier}; accepted: each ${field} once`,
  );
}

function missingOr(value: unknown, otherwise: string): string {
  return value === undefined || value === '' ? 'missing' : otherwise;
}
