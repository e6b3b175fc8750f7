import { JsonError, parseStrictJson } from '@svc/protocol';
import type { Capability, Param } from './model.ts';
import { isRecord } from './is-record.ts';
import { compileValue } from './values/value-check.ts';
import type { ValueProblem } from './values/json-sanity.ts';

/** The parameters are refused. The message names every field and why on one line, and never a value. */
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
  readonly check: (value: unknown) => readonly ValueProblem[];
}

/**
 * Prepares the reading of a capability's parameters from the UTF-8 text of a JSON object. What it
 * returns is ready to bind and has every declared parameter that callers send, null where absent.
 * The reader throws `InvalidParams`.
 */
export function compileParameters(capability: Capability): (body: Uint8Array) => Record<string, unknown> {
  // What is taken from who calls is to callers as if it were not there.
  const sent = capability.params.filter(({ from }) => from === undefined);
  const checks: readonly Checked[] = sent.map((param) => ({ param, check: compileValue(param.schema) }));
  const declared = new Set(sent.map(({ name }) => name));
  return (body) => {
    const submitted = parseObject(body);
    const problems: string[] = [];
    const values: Record<string, unknown> = {};
    // No parameter can be called `__proto__`.
    for (const entry of checks) values[entry.param.name] = readParam(entry, submitted, problems);
    const unknown = Object.keys(submitted).filter((name) => !declared.has(name));
    if (unknown.length > 0) problems.push(...unknownParams(unknown));
    if (problems.length > 0) throw new InvalidParams(joinProblems(problems));
    return values;
  };
}

function parseObject(body: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseStrictJson(body);
  } catch (error) {
    if (error instanceof JsonError)
      throw new InvalidParams(`the parameters are no usable JSON: ${error.message}`);
    throw error;
  }
  if (!isRecord(value)) throw new InvalidParams('the parameters must be a JSON object');
  return value;
}

function readParam(
  { param, check }: Checked,
  submitted: Readonly<Record<string, unknown>>,
  problems: string[],
): unknown {
  const { name, required, schema } = param;
  const value = Object.hasOwn(submitted, name) ? submitted[name] : null;
  if (value === null) {
    if (required) problems.push(`${name}: is required`);
    return schema.default ?? null;
  }
  for (const { at, message } of check(value)) {
    problems.push(`${name}${at.map(step).join('')}: ${message}`);
  }
  return value;
}

/** `.ids`, `[2]`; a key is submitted text too, so one that may be anything is `.*`. */
function step(at: string | number): string {
  if (typeof at === 'number') return `[${at}]`;
  return PLAIN_KEY.test(at) ? `.${at}` : '.*';
}

/** A name is submitted text too: it is repeated only where it cannot be anything but a name. */
function unknownParams(unknown: readonly string[]): readonly string[] {
  const named = unknown.filter((name) => PARAM_NAME.test(name)).map((name) => `${name}: unknown parameter`);
  return named.length < unknown.length ? [...named, 'an unknown parameter'] : named;
}

function joinProblems(problems: readonly string[]): string {
  const more = problems.length - MAX_NAMED_PROBLEMS;
  const named = problems.slice(0, MAX_NAMED_PROBLEMS).join('; ');
  return more > 0 ? `${named}; and ${more} more` : named;
}
