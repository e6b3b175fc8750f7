import { CURSOR_PARAM, SORT_PARAM } from '../../capabilities/clauses.ts';
import { nearestWithin } from '@svc/edge';
import { parseClaims } from '@svc/identity';
import { isRecord } from '../../capabilities/is-record.ts';
import { jsonText } from '../../capabilities/values/json-text.ts';
import { compileValue, type CheckedValue } from '../../capabilities/values/value-check.ts';
import { mayHoldLongNumber } from '../../capabilities/values/written-number.ts';
import type { FaultLog } from '../fault-log.ts';
import { isParamSpec } from '../schema/lint.ts';
import { valueAt, type Path } from '../path.ts';

const OF_TOKENS = ['issuer', 'subject', 'client_id'];

/** Checks what a schema cannot express of the examples of a capability. Skips what the schema refuses. */
export function checkExamples(root: unknown, capability: Path, faults: FaultLog): void {
  const examples = valueAt(root, [...capability, 'examples']);
  if (!Array.isArray(examples)) return;
  for (const index of examples.keys()) {
    const path = [...capability, 'examples', String(index)];
    const error = valueAt(root, [...path, 'expect', 'error']);
    if (error !== 'AGENT_INVALID_PARAMS') checkParams(root, capability, path, faults);
    checkExpectation(root, capability, path, faults);
    checkPrincipal(root, path, faults);
  }
}

/** An example may have wrong parameters only if it expects AGENT_INVALID_PARAMS: others are shown to callers. */
function checkParams(root: unknown, capability: Path, path: Path, faults: FaultLog): void {
  const own = valueAt(root, [...capability, 'params']) ?? {};
  const given = valueAt(root, [...path, 'params']) ?? {};
  if (!isRecord(own) || !isRecord(given)) return;
  const orders = valueAt(root, [...capability, 'sort']);
  const declared = isRecord(orders)
    ? { ...own, [SORT_PARAM]: { type: 'string', enum: Object.keys(orders) } }
    : own;
  const hasCursor = !isRecord(valueAt(root, [...capability, 'paging']) ?? {});
  for (const [name, value] of Object.entries(given)) {
    const at = [...path, 'params', name];
    const spec = declared[name];
    if (hasCursor && name === CURSOR_PARAM)
      faults.addForKey(at, 'is not for examples: it belongs to one answer and its arguments');
    else if (!Object.hasOwn(declared, name)) {
      faults.addForKey(at, unknown('parameter', name, Object.keys(declared)));
    } else if (isRecord(spec) && 'from' in spec) {
      faults.addForKey(at, 'is taken from who calls: remove it, and say who calls by `as` or `principal`');
    } else if (isParamSpec(spec) && value !== null && !faults.has([...capability, 'params', name])) {
      for (const problem of problemsOf(spec, value))
        faults.add([...at, ...problem.at.map(String)], problem.message);
    }
  }
  for (const [name, spec] of Object.entries(declared)) {
    const isSent = isRecord(spec) && spec['required'] === true && !('from' in spec);
    if (isSent && (given[name] ?? null) === null) faults.add([...path, 'params', name], 'is required');
  }
}

/** None if the constraints of the parameter have a fault: that one is reported elsewhere. */
function problemsOf(spec: Parameters<typeof compileValue>[0], value: unknown): CheckedValue['problems'] {
  try {
    const text = jsonText(value);
    return compileValue(spec)(JSON.parse(text), mayHoldLongNumber(text) ? text : undefined).problems;
  } catch {
    return [];
  }
}

function checkExpectation(root: unknown, capability: Path, path: Path, faults: FaultLog): void {
  const at = [...path, 'expect'];
  const expected = valueAt(root, at);
  if (!isRecord(expected)) return;
  const { error, count, max_count: most, rows } = expected;
  if (error !== undefined) {
    for (const name of ['count', 'rows', 'max_count', 'truncated']) {
      if (name in expected)
        faults.addForKey([...at, name], 'does not go with `error`: a call that fails gives no rows');
    }
    if (valueAt(root, [...path, 'publish']) === true)
      faults.add([...path, 'publish'], 'must be false with `expect.error`: callers are shown what works');
    return;
  }
  if (typeof count === 'number' && typeof most === 'number' && count > most)
    faults.add([...at, 'max_count'], 'must not be below count');
  if (!Array.isArray(rows)) return;
  const limit = typeof count === 'number' ? count : most;
  if (typeof limit === 'number' && rows.length > limit)
    faults.add([...at, 'rows'], 'must not have more rows than `count` or `max_count` says');
  const fields = valueAt(root, [...capability, 'result']);
  if (!isRecord(fields)) return;
  for (const [index, row] of rows.entries()) {
    const unknownFields = isRecord(row)
      ? Object.keys(row).filter((name) => !Object.hasOwn(fields, name))
      : [];
    for (const name of unknownFields)
      faults.addForKey([...at, 'rows', String(index), name], unknown('field', name, Object.keys(fields)));
  }
}

function checkPrincipal(root: unknown, path: Path, faults: FaultLog): void {
  const principal = valueAt(root, [...path, 'principal']);
  if (!isRecord(principal)) return;
  if (valueAt(root, [...path, 'as']) !== undefined)
    faults.addForKey([...path, 'as'], 'does not go with `principal`: it is short for its `key_name`');
  const ofToken = OF_TOKENS.filter((name) => name in principal);
  if ('key_name' in principal) {
    for (const name of ofToken) {
      const message = 'does not go with `key_name`: a call is by an API key or by a token';
      faults.addForKey([...path, 'principal', name], message);
    }
  }
  const claims = 'claims' in principal ? parseClaims(principal['claims']) : undefined;
  if (claims?.ok === false) {
    for (const { path: at, message } of claims.problems)
      faults.add([...path, 'principal', 'claims', ...at.map(String)], message);
  }
  if (valueAt(root, ['identity']) === undefined && (ofToken.length > 0 || 'claims' in principal)) {
    const message = 'needs `identity`, without which the agent knows only the name of the API key that calls';
    faults.add([...path, 'principal'], message);
  }
}

function unknown(what: 'field' | 'parameter', name: string, known: readonly string[]): string {
  const close = nearestWithin(name, known);
  if (close !== undefined) return `no such ${what}, did you mean \`${close}\`?`;
  return known.length === 0 ? `there are no ${what}s` : `no such ${what}; there are ${known.join(', ')}`;
}
