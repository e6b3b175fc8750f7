import { rawItems } from '@svc/protocol';
import { Ajv, type ValidateFunction } from 'ajv';
import type { ParamSchema } from '../model.ts';
import { isDecimalMultiple, readDecimal } from './decimal.ts';
import { failedKeyword } from './exact-number.ts';
import { textProblemIn, type ValueProblem } from './json-sanity.ts';
import { stringFormats } from './string-formats.ts';
import { valueMessage } from './value-message.ts';
import { valueSchema } from './value-schema.ts';

const MAX_ITEM_PROBLEMS = 10;

// Not all errors of one value: a text beyond its `maxLength` must never reach its `pattern`.
// The schemas hold what the check of the capability file has let through; checking them again would make each start slower.
const ajv = new Ajv({ strict: true, allErrors: false, coerceTypes: false, validateSchema: false });
for (const [name, check] of stringFormats) ajv.addFormat(name, check);
// Ajv divides binary fractions, so that 0.3 would be no multiple of 0.1.
ajv.removeKeyword('multipleOf');
ajv.addKeyword({
  keyword: 'multipleOf',
  type: 'number',
  schemaType: 'number',
  validate: (step: number, value: number) =>
    isDecimalMultiple(readDecimal(String(value)), readDecimal(String(step))),
});

/** Many parameters look alike, and compiling is what makes a start slow. */
const compiled = new Map<string, ValidateFunction>();

/** `written` is the JSON text of the value; absent where it holds no number that a double does not keep. */
export type CheckValue = (value: unknown, written?: string) => readonly ValueProblem[];

/** Prepares the check of one value against its type and constraints; null never fits. */
export function compileValue(schema: ParamSchema): CheckValue {
  const { items, ...own } = schema;
  const validate = compile(own);
  const checkItem = items === undefined ? undefined : compileValue(items);
  const isNumeric = own.type === 'integer' || own.type === 'number';
  return (value, written) => {
    const listed = checkItem !== undefined && Array.isArray(value);
    const problem = listed ? undefined : textProblemIn(value);
    if (problem !== undefined) return [problem];
    if (isNumeric && typeof value === 'number') {
      // Ajv would compare what the number was rounded to.
      const digits = written ?? (Number.isSafeInteger(value) ? undefined : String(value));
      if (digits !== undefined) {
        const keyword = failedKeyword(own, digits);
        return keyword === undefined ? [] : [{ at: [], message: valueMessage(keyword, own) }];
      }
    }
    if (!validate(value)) {
      return (validate.errors ?? []).map(({ keyword }) => ({ at: [], message: valueMessage(keyword, own) }));
    }
    return listed ? itemProblems(value, checkItem, written) : [];
  };
}

function compile(schema: ParamSchema): ValidateFunction {
  const rules = valueSchema(schema);
  const key = JSON.stringify(rules);
  const known = compiled.get(key);
  if (known !== undefined) return known;
  const validate = ajv.compile(rules);
  compiled.set(key, validate);
  return validate;
}

/** Stops early: a caller can send very many wrong items. */
function itemProblems(
  values: readonly unknown[],
  checkItem: CheckValue,
  written: string | undefined,
): readonly ValueProblem[] {
  const texts = written === undefined ? undefined : rawItems(Buffer.from(written));
  const problems: ValueProblem[] = [];
  for (const [at, value] of values.entries()) {
    const [problem] = checkItem(value, texts?.[at]?.toString());
    if (problem === undefined) continue;
    problems.push({ at: [at, ...problem.at], message: problem.message });
    if (problems.length === MAX_ITEM_PROBLEMS) break;
  }
  return problems;
}
