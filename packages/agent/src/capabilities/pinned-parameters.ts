import type { Caller } from './caller.ts';
import type { Param } from './model.ts';
import { compileValue } from './values/value-check.ts';

/**
 * Adds the values that are taken from who calls. Returns the reason if it cannot, without any value, for the log.
 */
export type PinParameters = (caller: Caller, values: Record<string, unknown>) => string | undefined;

/** Undefined if the capability takes nothing from who calls. */
export function compilePinned(params: readonly Param[]): PinParameters | undefined {
  const pinned = params.flatMap(({ name, from, schema }) =>
    from === undefined ? [] : [{ name, from, read: readerOf(from), check: compileValue(schema) }],
  );
  if (pinned.length === 0) return undefined;
  return (caller, values) => {
    for (const { name, from, read, check } of pinned) {
      const value = read(caller);
      if (value === undefined || value === '') return `${name}: ${from} is not there`;
      if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
        return `${name}: ${from} does not fit: beyond 2^53 it was rounded when it was read`;
      const [problem] = check(value).problems;
      if (problem !== undefined) return `${name}: ${from} does not fit: ${problem.message}`;
      values[name] = value;
    }
    return undefined;
  };
}

const CLAIM_PREFIX = 'principal.claims.';

const PROPERTIES: Readonly<Record<string, (caller: Caller) => string>> = {
  'principal.subject': ({ subject }) => subject,
  'principal.issuer': ({ issuer }) => issuer,
  'principal.client_id': ({ clientId }) => clientId,
  'principal.key_name': ({ keyName }) => keyName,
};

function readerOf(from: string): (caller: Caller) => unknown {
  if (from.startsWith(CLAIM_PREFIX)) {
    const claim = from.slice(CLAIM_PREFIX.length);
    return ({ claims }) => (Object.hasOwn(claims, claim) ? claims[claim] : undefined);
  }
  const read = PROPERTIES[from];
  if (read === undefined) throw new Error(`cannot take a parameter from ${from}`);
  return read;
}
