import { JsonError, rawMembers, readStrictJson } from '@svc/protocol';
import type { Capability, Param } from './model.ts';
import { isRecord } from './is-record.ts';
import { boundValue } from './values/bound-value.ts';
import { compileValue, type CheckValue } from './values/value-check.ts';
import { mayHoldLongNumber } from './values/written-number.ts';

/** The message names every refused parameter and the reason on one line, and never a value. */
export class InvalidParams extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InvalidParams';
  }
}

const MAX_NAMED_PROBLEMS = 50;
const PARAM_NAME = /^[a-z_][a-z0-9_]{0,62}$/;
const PLAIN_KEY = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;

interface Checked {
  readonly param: Param;
  readonly check: CheckValue;
  /** The value to bind if the caller sends none. */
  readonly absent: unknown;
}

/**
 * Makes the reader of a capability's parameters, which takes the UTF-8 text of a JSON object. It returns values that are ready
 * to bind, null if absent, for every declared parameter that callers send, or throws `InvalidParams`.
 */
export function compileParameters(capability: Capability): (body: Uint8Array) => Record<string, unknown> {
  // For callers, parameters that are taken from who calls do not exist.
  const sent = capability.params.filter(({ from }) => from === undefined);
  const checks: readonly Checked[] = sent.map((param) => ({
    param,
    check: compileValue(param.schema),
    absent: boundValue(param.schema, param.schema.default ?? null),
  }));
  const declared = new Set(sent.map(({ name }) => name));
  return (body) => {
    const { submitted, text } = parseObject(body);
    const written = mayHoldLongNumber(text) ? rawMembers(Buffer.from(text)) : undefined;
    const problems: string[] = [];
    const values: Record<string, unknown> = {};
    // No parameter can be called `__proto__`.
    for (const entry of checks) values[entry.param.name] = readParam(entry, submitted, written, problems);
    const unknown = Object.keys(submitted).filter((name) => !declared.has(name));
    if (unknown.length > 0) problems.push(...unknownParams(unknown));
    if (problems.length > 0) throw new InvalidParams(joinProblems(problems));
    return values;
  };
}

function parseObject(body: Uint8Array): {
  readonly submitted: Record<string, unknown>;
  readonly text: string;
} {
  let read: ReturnType<typeof readStrictJson>;
  try {
    read = readStrictJson(body);
  } catch (error) {
    if (error instanceof JsonError)
      throw new InvalidParams(`the parameters are no usable JSON: ${error.message}`);
    throw error;
  }
  const { value: submitted, text } = read;
  if (!isRecord(submitted)) throw new InvalidParams('the parameters must be a JSON object');
  return { submitted, text };
}

/** `written` is the JSON text of each value; absent if a double keeps all their numbers. */
function readParam(
  { param, check, absent }: Checked,
  submitted: Readonly<Record<string, unknown>>,
  written: ReadonlyMap<string, Buffer> | undefined,
  problems: string[],
): unknown {
  const { name, required, schema } = param;
  const value = Object.hasOwn(submitted, name) ? submitted[name] : null;
  if (value === null) {
    if (required) problems.push(`${name}: is required`);
    return absent;
  }
  const own = written?.get(name)?.toString();
  const checked = check(value, own);
  for (const { at, message } of checked.problems)
    problems.push(`${name}${at.map(step).join('')}: ${message}`);
  return checked.isPlain ? value : boundValue(schema, value, own);
}

/** `.ids`, `[2]`; a key that is no plain name is `.*`, since callers may have written anything in it. */
function step(at: string | number): string {
  if (typeof at === 'number') return `[${at}]`;
  return PLAIN_KEY.test(at) ? `.${at}` : '.*';
}

/** A name is repeated only if it is a plain name, since callers may have written anything in it. */
function unknownParams(unknown: readonly string[]): readonly string[] {
  const named = unknown.filter((name) => PARAM_NAME.test(name)).map((name) => `${name}: unknown parameter`);
  return named.length < unknown.length ? [...named, 'an unknown parameter'] : named;
}

function joinProblems(problems: readonly string[]): string {
  const more = problems.length - MAX_NAMED_PROBLEMS;
  const named = problems.slice(0, MAX_NAMED_PROBLEMS).join('; ');
  return more > 0 ? `${named}; and ${more} more` : named;
}
