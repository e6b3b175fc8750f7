import { nearestWithin } from '@svc/edge';
import { compileValue } from '../../capabilities/values/value-check.ts';
import { PARAM_TYPES, type ParamSchema, type ParamType } from '../../capabilities/model.ts';
import type { ParamSpec } from '../capability-file.ts';
import type { FaultLog } from '../fault-log.ts';
import { isParamSpec } from '../schema/lint.ts';
import { isRecord } from '../../capabilities/is-record.ts';
import { valueAt, type Path } from '../path.ts';

const NUMERIC = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'enum',
  'default',
];

/** The reference in docs/ is made from this. */
export const CONSTRAINTS_OF: Readonly<Record<ParamType, readonly string[]>> = {
  integer: NUMERIC,
  number: NUMERIC,
  string: ['minLength', 'maxLength', 'pattern', 'format', 'enum', 'default'],
  boolean: ['enum', 'default'],
  date: ['enum', 'default'],
  datetime: ['enum', 'default'],
  uuid: ['enum', 'default'],
  array: ['items', 'minItems', 'maxItems', 'default'],
  object: ['default'],
};

const ALL_CONSTRAINTS = new Set(Object.values(CONSTRAINTS_OF).flat());
const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const;
const PAIRS = [
  ['minimum', 'maximum'],
  ['exclusiveMinimum', 'exclusiveMaximum'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
] as const;

/** Checks what a schema cannot express of one parameter: that its constraints fit its type and each other. */
export function checkParam(spec: unknown, path: Path, faults: FaultLog): void {
  if (!isRecord(spec)) return;
  const before = faults.list().length;
  checkConstraints(spec, path, faults);
  if (spec['type'] === 'array') {
    if (spec['items'] === undefined) faults.add([...path, 'items'], 'is required for the type array');
    else if (isRecord(spec['items']))
      checkConstraints(spec['items'], [...path, 'items'], faults, ['default']);
  }
  if ('default' in spec && spec['required'] === true)
    faults.add([...path, 'default'], 'a required parameter cannot have a default: remove one of the two');
  // Values are compared with constraints only if those have no faults. The fault of a pattern may be older than this check,
  // for example a variable that is not set, and then no second one is recorded.
  const hasFaultyPattern = [path, [...path, 'items']].some((at) => faults.has([...at, 'pattern']));
  const isSound = faults.list().length === before && !hasFaultyPattern;
  if (isSound && isParamSpec(spec)) checkValues(spec, path, faults);
}

/** `elsewhere`: constraints that only a whole parameter takes; the schema refuses them here. */
function checkConstraints(
  spec: Readonly<Record<string, unknown>>,
  path: Path,
  faults: FaultLog,
  elsewhere: readonly string[] = [],
): void {
  const type = PARAM_TYPES.find((name) => name === spec['type']);
  if (type !== undefined) {
    const fitting = CONSTRAINTS_OF[type].filter((name) => !elsewhere.includes(name));
    for (const name of Object.keys(spec)) {
      if (ALL_CONSTRAINTS.has(name) && !fitting.includes(name))
        faults.addForKey([...path, name], `does not fit the type ${type}; accepted: ${fitting.join(', ')}`);
    }
  }
  checkPattern(spec['pattern'], [...path, 'pattern'], faults);
  for (const name of BOUNDS) {
    const bound = spec[name];
    if (typeof bound === 'number' && Number.isInteger(bound) && !Number.isSafeInteger(bound))
      faults.add([...path, name], 'must be between -9007199254740991 and 9007199254740991');
  }
  for (const [low, high] of PAIRS) {
    const [least, most] = [spec[low], spec[high]];
    if (typeof least === 'number' && typeof most === 'number' && least > most)
      faults.add([...path, high], `must not be below ${low}`);
  }
}

function checkPattern(pattern: unknown, path: Path, faults: FaultLog): void {
  if (typeof pattern !== 'string') return;
  try {
    RegExp(pattern, 'u');
  } catch {
    faults.add(path, 'must be a regular expression that JavaScript takes with the `u` flag');
  }
}

function checkValues(spec: ParamSpec, path: Path, faults: FaultLog): void {
  const sound = checkEnum(spec, path, faults);
  if (spec.items !== undefined && !checkEnum(spec.items, [...path, 'items'], faults)) return;
  if (!('default' in spec) || !sound) return;
  if (spec.default === null) {
    faults.add([...path, 'default'], 'is empty: remove it, an absent parameter is NULL anyway');
    return;
  }
  for (const { at, message } of compileValue(spec)(spec.default).problems)
    faults.add([...path, 'default', ...at.map(String)], message);
}

function checkEnum(schema: ParamSchema, path: Path, faults: FaultLog): boolean {
  const { enum: allowed, ...others } = schema;
  if (allowed === undefined) return true;
  const check = compileValue(others);
  let sound = true;
  for (const [index, value] of allowed.entries()) {
    const [problem] = check(value).problems;
    if (problem === undefined) continue;
    faults.add([...path, 'enum', String(index)], problem.message);
    sound = false;
  }
  return sound;
}

/** Dates have a format of their own, and some types have none. */
export function checkResultField(spec: unknown, path: Path, faults: FaultLog): void {
  const type = valueAt(spec, ['type']);
  const annotated = valueAt(spec, ['format']) !== undefined;
  if (annotated && typeof type === 'string' && !['integer', 'number', 'string'].includes(type))
    faults.addForKey([...path, 'format'], `does not fit the type ${type}: remove it`);
}

/** Checks that each parameter in `paging` takes the values of its field. */
export function checkPaging(root: unknown, capability: Path, faults: FaultLog): void {
  const paging = valueAt(root, [...capability, 'paging']);
  if (!isRecord(paging)) return;
  for (const [param, field] of Object.entries(paging)) {
    const path = [...capability, 'paging', param];
    const params = valueAt(root, [...capability, 'params']);
    const fields = valueAt(root, [...capability, 'result']);
    if (!isRecord(params) || !Object.hasOwn(params, param)) {
      faults.addForKey(path, `is no parameter of the capability${hint(param, params)}`);
    } else if (valueAt(params, [param, 'from']) !== undefined) {
      faults.addForKey(path, 'takes its value from who calls, so callers cannot send it');
    } else if (typeof field !== 'string' || !isRecord(fields)) {
      continue;
    } else if (!Object.hasOwn(fields, field)) {
      faults.add(path, `must be a field of \`result\`${hint(field, fields)}`);
    } else checkTypes(valueAt(params, [param, 'type']), valueAt(fields, [field, 'type']), path, faults);
  }
}

function checkTypes(taken: unknown, given: unknown, path: Path, faults: FaultLog): void {
  if (typeof taken !== 'string' || typeof given !== 'string') return;
  // In results a UUID is a string.
  if (given === (taken === 'uuid' ? 'string' : taken)) return;
  const types = `the field is ${given}, the parameter ${taken}`;
  faults.add(path, `must be a field of the type of the parameter: ${types}`);
}

function hint(name: string, known: unknown): string {
  const nearest = nearestWithin(name, isRecord(known) ? Object.keys(known) : []);
  return nearest === undefined ? '' : `, did you mean \`${nearest}\`?`;
}
