import { nearestWithin } from '@svc/edge';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import {
  UNSEEN_SECTIONS,
  type CapabilityFile,
  type OfferSections,
  type ParamSpec,
} from '../capability-file.ts';
import { driversOf } from '../driver-of-file.ts';
import { driversWithKey } from '../../databases/drivers.ts';
import type { FaultLog } from '../fault-log.ts';
import { paramSchema } from './capability-schema.ts';
import { fileSchema } from './file-schema.ts';
import { isDatabasePath } from '../../capabilities/database-names.ts';
import { isRecord } from '../../capabilities/is-record.ts';
import { PARAM_TYPES, RESULT_TYPES } from '../../capabilities/model.ts';
import { dottedPath, fromPointer, valueAt, type Path } from '../path.ts';

// A test checks the schemas themselves. To do so at each start, or to optimise their code, would take longer than to check
// a file.
const ajv = new Ajv({
  allErrors: true,
  allowUnionTypes: true,
  verbose: true,
  validateSchema: false,
  code: { optimize: false },
});
ajv.addKeyword('errorMessage');

/** For the drivers of the last file: each database has the section of its driver. */
let latest: { readonly drivers: string; readonly validate: ValidateFunction<CapabilityFile> } | undefined;
const validateParam: ValidateFunction<ParamSpec> = ajv.compile<ParamSpec>(paramSchema);

export function isCapabilityFile(root: unknown): root is CapabilityFile {
  return validatorFor(root)(root);
}

/** Whether the sections that callers see are sound, whatever is wrong with the others. */
export function areOfferSections(root: unknown): root is OfferSections {
  const validateFile = validatorFor(root);
  if (validateFile(root)) return true;
  return (validateFile.errors ?? []).every(({ instancePath, params }) =>
    UNSEEN_SECTIONS.has(fromPointer(instancePath)[0] ?? String(params['missingProperty'])),
  );
}

export function isParamSpec(value: unknown): value is ParamSpec {
  return validateParam(value);
}

/** Reports every fault against the schema. A value that was only `${NAME}` first becomes a number or boolean if one is due. */
export function lint(root: unknown, faults: FaultLog): void {
  const validateFile = validatorFor(root);
  if (validateFile(root)) return;
  const converted = (validateFile.errors ?? []).filter((error) => convertReference(root, error, faults));
  if (converted.length > 0 && validateFile(root)) return;
  for (const error of validateFile.errors ?? []) report(root, error, faults);
}

function validatorFor(root: unknown): ValidateFunction<CapabilityFile> {
  const byName = driversOf(root);
  const drivers = JSON.stringify(byName);
  if (latest?.drivers !== drivers)
    latest = { drivers, validate: ajv.compile<CapabilityFile>(fileSchema(byName)) };
  return latest.validate;
}

function report(root: unknown, error: ErrorObject, faults: FaultLog): void {
  const path = fromPointer(error.instancePath);
  switch (error.keyword) {
    case 'additionalProperties': {
      const name = String(error.params['additionalProperty']);
      const drivers = isDatabasePath(dottedPath(path)) ? driversWithKey(name) : [];
      faults.addForKey([...path, name], unknownKeyMessage(name, error, drivers));
      return;
    }
    case 'required':
      faults.add([...path, String(error.params['missingProperty'])], 'is required');
      return;
    case 'propertyNames':
      // The error of the rule for the name gives the reason.
      return;
    default:
      if (error.propertyName === undefined) faults.add(path, lintMessage(error, valueAt(root, path)));
      else faults.addForKey([...path, error.propertyName], lintMessage(error, error.propertyName));
  }
}

function convertReference(root: unknown, error: ErrorObject, faults: FaultLog): boolean {
  const path = fromPointer(error.instancePath);
  if (error.keyword !== 'type' || faults.placeOf(path)?.reference !== true) return false;
  const text = valueAt(root, path);
  if (typeof text !== 'string') return false;
  const wanted = String(error.params['type']);
  if (wanted === 'boolean' && (text === 'true' || text === 'false'))
    return replaceAt(root, path, text === 'true');
  if ((wanted === 'integer' || wanted === 'number') && /^-?\d{1,17}(\.\d{1,17})?$/.test(text))
    return replaceAt(root, path, Number(text));
  return false;
}

function replaceAt(root: unknown, path: Path, value: unknown): boolean {
  const parent = valueAt(root, path.slice(0, -1));
  const key = path.at(-1);
  if (!isRecord(parent) || key === undefined) return false;
  parent[key] = value;
  return true;
}

const TYPES: Readonly<Record<string, string>> = {
  object: 'must be a mapping',
  array: 'must be a list',
  string: 'must be text',
  integer: 'must be an integer',
  number: 'must be a number',
  boolean: 'must be true or false',
};

/** Names of types in SQL, with those of the file. */
const TYPE_ALIASES: ReadonlyMap<string, string> = new Map([
  ['text', 'string'],
  ['varchar', 'string'],
  ['timestamp', 'datetime'],
  ['timestamptz', 'datetime'],
  ['int', 'integer'],
  ['bigint', 'integer'],
  ['float', 'number'],
  ['numeric', 'number'],
  ['decimal', 'number'],
  ['bool', 'boolean'],
  ['json', 'object'],
  ['jsonb', 'object'],
]);

/** A short message for a fault that Ajv found; it never holds the value. */
function lintMessage(error: ErrorObject, value: unknown): string {
  if (error.keyword === 'type' && value === null) return 'is empty: give it a value or remove the key';
  const own = error.parentSchema?.['errorMessage'];
  if (typeof own === 'string') return own;
  const limit = String(error.params['limit']);
  switch (error.keyword) {
    case 'type':
      return `${typeMessage(String(error.params['type']), value)}${entryExample(error, value)}`;
    case 'enum':
      return `${enumMessage(error.params['allowedValues'], value)}${uuidExample(error, value)}`;
    case 'minimum':
      return `must be >= ${limit}`;
    case 'maximum':
      return `must be <= ${limit}`;
    case 'exclusiveMinimum':
      return `must be > ${limit}`;
    case 'minLength':
      return 'must not be empty';
    case 'minItems':
    case 'minProperties':
      return `must have at least ${limit} ${limit === '1' ? 'entry' : 'entries'}`;
    case 'maxItems':
    case 'maxProperties':
      return `must have at most ${limit} ${limit === '1' ? 'entry' : 'entries'}`;
    case 'uniqueItems':
      return 'must not list anything twice';
    default:
      return 'is not allowed here';
  }
}

/** `drivers`: the drivers whose sections have a key of that name. */
function unknownKeyMessage(name: string, error: ErrorObject, drivers: readonly string[]): string {
  const known = error.parentSchema?.['properties'];
  const names = isRecord(known) ? Object.keys(known) : [];
  if (name === '<<')
    return 'merge keys do not exist in YAML 1.2: repeat the keys, or write an alias as the whole value';
  const accepted = `unknown key; accepted: ${names.join(', ')}`;
  if (drivers.length > 0)
    return `${accepted}; \`${name}\` is only for ${drivers.join(' and ')}: remove it, or set ${drivers.map((each) => `\`driver: ${each}\``).join(' or ')}`;
  const nearest = nearestWithin(name, names);
  return nearest === undefined ? accepted : `unknown key, did you mean \`${nearest}\`?`;
}

function typeMessage(type: string, value: unknown): string {
  const message = TYPES[type] ?? 'has the wrong type';
  if (type === 'string')
    return typeof value === 'number' || typeof value === 'boolean' ? `${message}: put it in quotes` : message;
  return isQuoted(type, value) ? `${message}: remove the quotes` : message;
}

/** For `id: integer` instead of a parameter or a field. */
function entryExample(error: ErrorObject, value: unknown): string {
  const path = fromPointer(error.instancePath);
  const [root, , part] = path;
  const isEntry = path.length === 4 && root === 'capabilities' && (part === 'params' || part === 'result');
  if (!isEntry || typeof value !== 'string') return '';
  const name = dottedPath(path.slice(3));
  return `, as in ${name}: { type: ${meantBy(value, part === 'params' ? PARAM_TYPES : RESULT_TYPES) ?? 'string'} }`;
}

/** `uuid` is a type of parameters, and none of result fields. */
function uuidExample({ instancePath }: ErrorObject, value: unknown): string {
  const [root, , part, field = '', key] = fromPointer(instancePath);
  const isResultType = root === 'capabilities' && part === 'result' && key === 'type';
  if (!isResultType || value !== 'uuid') return '';
  return `; for a UUID write ${dottedPath([field])}: { type: string, format: uuid }`;
}

/** Whether a text would be of the type without its quotes. */
function isQuoted(type: string, value: unknown): boolean {
  if (typeof value !== 'string') return false;
  return type === 'boolean' ? /^(?:true|false)$/.test(value) : /^-?\d+(?:\.\d+)?$/.test(value);
}

function enumMessage(allowed: unknown, value: unknown): string {
  const names = Array.isArray(allowed) ? allowed.map(String) : [];
  const nearest = typeof value === 'string' ? meantBy(value, names) : undefined;
  const message = names.length === 1 ? `must be ${names.join('')}` : `must be one of ${names.join(', ')}`;
  return nearest === undefined ? message : `${message}; did you mean \`${nearest}\`?`;
}

function meantBy(word: string, names: readonly string[]): string | undefined {
  const alias = TYPE_ALIASES.get(word.toLowerCase());
  return alias !== undefined && names.includes(alias) ? alias : nearestWithin(word, names);
}
