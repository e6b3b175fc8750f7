import { Ajv } from 'ajv';
import type { ErrorObject, ValidateFunction } from 'ajv';
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
import { lintMessage, unknownKeyMessage } from './lint-message.ts';
import { isDatabasePath } from '../../capabilities/database-names.ts';
import { isRecord } from '../../capabilities/is-record.ts';
import { dottedPath, fromPointer, valueAt } from '../path.ts';
import type { Path } from '../path.ts';

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
