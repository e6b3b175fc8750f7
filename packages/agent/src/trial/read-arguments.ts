import type { Param, ParamSchema } from '../capabilities/model.ts';

/** Arguments of a command line, each `name=value`. */
export type Assignments =
  | { readonly ok: true; readonly pairs: readonly (readonly [name: string, value: string])[] }
  | { readonly ok: false; readonly problem: string };

export function readAssignments(texts: readonly string[]): Assignments {
  const pairs: (readonly [string, string])[] = [];
  for (const text of texts) {
    const at = text.indexOf('=');
    if (at < 1) return { ok: false, problem: 'is written as name=value' };
    pairs.push([text.slice(0, at), text.slice(at + 1)]);
  }
  return { ok: true, pairs };
}

/**
 * The JSON object of parameters that are given as texts, each read by its type. One that does not fit stays a text, so that the
 * check of the parameters reports it. A list is given as JSON, or by its items one after the other.
 */
export function paramsOf(
  pairs: readonly (readonly [name: string, value: string])[],
  params: readonly Param[],
): string {
  const byName = new Map<string, string[]>();
  for (const [name, value] of pairs) byName.set(name, [...(byName.get(name) ?? []), value]);
  const members = [...byName].map(([name, values]) => {
    const schema = params.find((param) => param.name === name)?.schema;
    return `${JSON.stringify(name)}:${jsonOf(values, schema)}`;
  });
  return `{${members.join(',')}}`;
}

/** Names that are given more than once although they are no lists. */
export function givenTwice(
  pairs: readonly (readonly [name: string, value: string])[],
  params: readonly Param[],
): readonly string[] {
  const lists = new Set(params.filter(({ schema }) => schema.type === 'array').map(({ name }) => name));
  const names = pairs.map(([name]) => name).filter((name) => !lists.has(name));
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

function jsonOf(values: readonly string[], schema: ParamSchema | undefined): string {
  const [first = ''] = values;
  if (schema?.type !== 'array') return scalar(first, schema);
  if (values.length === 1 && isJson(first, Array.isArray)) return first;
  return `[${values.map((value) => scalar(value, schema.items)).join(',')}]`;
}

/** Numbers stay as they are written: a JavaScript number does not hold each of them. */
function scalar(value: string, schema: ParamSchema | undefined): string {
  const fits = schema === undefined ? undefined : TAKES[schema.type];
  return fits !== undefined && isJson(value, (parsed) => parsed === null || fits(parsed))
    ? value
    : JSON.stringify(value);
}

const isNumber = (value: unknown): boolean => typeof value === 'number';
const TAKES: Partial<Record<ParamSchema['type'], (value: unknown) => boolean>> = {
  integer: isNumber,
  number: isNumber,
  boolean: (value) => typeof value === 'boolean',
  object: (value) => typeof value === 'object',
};

function isJson(text: string, is: (value: unknown) => boolean): boolean {
  try {
    return is(JSON.parse(text));
  } catch {
    return false;
  }
}

const CLAIM = 'principal.claims.';

/**
 * Claims of a command line, each read by the type of the parameter that takes it. A claim that no parameter takes is JSON if
 * a claim can have that value, otherwise a text.
 */
export function claimsOf(
  pairs: readonly (readonly [name: string, value: string])[],
  params: readonly Param[],
): Readonly<Record<string, unknown>> {
  const takers = params.flatMap((param) =>
    param.from?.startsWith(CLAIM) === true ? [{ ...param, name: param.from.slice(CLAIM.length) }] : [],
  );
  const taken = pairs.filter(([claim]) => takers.some(({ name }) => name === claim));
  const others = pairs
    .filter((pair) => !taken.includes(pair))
    .map(([name, value]): [string, unknown] => [name, claimOf(value)]);
  const typed: Readonly<Record<string, unknown>> = JSON.parse(paramsOf(taken, takers));
  return { ...Object.fromEntries(others), ...typed };
}

function claimOf(value: string): unknown {
  return isJson(value, (parsed) => parsed !== null && (typeof parsed !== 'object' || Array.isArray(parsed)))
    ? JSON.parse(value)
    : value;
}
