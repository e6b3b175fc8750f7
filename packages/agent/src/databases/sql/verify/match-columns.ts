import type { Capability, ResultField } from '../../../capabilities/model.ts';
import type { VerificationFault } from '../../driver/errors.ts';
import { faultAt } from '../fault-at.ts';

export type FieldResult<Output> =
  | { readonly ok: true; readonly output: Output }
  | { readonly ok: false; readonly message: string; readonly detail: string };

/**
 * Finds the column of each field. `keyOf` gives the same text for names that the database takes for the same; a field has
 * to be written as its column is.
 */
export function matchColumns<Column extends { readonly name: string }, Output>(
  capability: Capability,
  columns: readonly Column[],
  keyOf: (name: string) => string,
  convert: (field: ResultField, column: Column) => FieldResult<Output>,
): { readonly output: readonly Output[]; readonly faults: readonly VerificationFault[] } {
  const output: Output[] = [];
  const faults: VerificationFault[] = [];
  const declared = new Set(capability.result.map(({ name }) => keyOf(name)));
  const byKey = new Map<string, Column>();
  const repeated = new Set<string>();
  for (const column of columns) {
    const { name } = column;
    const key = keyOf(name);
    if (byKey.has(key) && !repeated.has(key)) {
      repeated.add(key);
      const which = declared.has(key) ? `named ${name}` : 'of one name';
      const message = `yields two columns ${which}: rename one with AS`;
      faults.push(faultAt(capability, { message, detail: `column ${name}` }));
    }
    byKey.set(key, column);
  }
  for (const field of capability.result) {
    const { name, position } = field;
    const at = { path: `capabilities.${capability.name}.result.${name}`, position };
    const column = byKey.get(keyOf(name));
    if (column?.name !== name) {
      const message = 'is not a column of the SQL: give a column this name with AS, or remove the field';
      faults.push({ ...at, message, detail: `columns: ${columns.map((each) => each.name).join(', ')}` });
      continue;
    }
    const result = convert(field, column);
    if (result.ok) output.push(result.output);
    else faults.push({ ...at, message: result.message, detail: result.detail });
  }
  return { output, faults };
}
