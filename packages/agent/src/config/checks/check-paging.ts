import { nearestWithin } from '@svc/edge';
import { isRecord } from '../../capabilities/is-record.ts';
import type { FaultLog } from '../fault-log.ts';
import { valueAt, type Path } from '../path.ts';

/** Checks that each parameter of a capability's `paging` takes what the field that is named gives. */
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
  faults.add(
    path,
    `must be a field of the type of the parameter: the field is ${given}, the parameter ${taken}`,
  );
}

function hint(name: string, known: unknown): string {
  const nearest = nearestWithin(name, isRecord(known) ? Object.keys(known) : []);
  return nearest === undefined ? '' : `, did you mean \`${nearest}\`?`;
}
