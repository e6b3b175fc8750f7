import type { Capability, ParamSchema } from '../../../capabilities/model.ts';
import type { Fault } from '../../../capabilities/fault.ts';
import type { SqlToken } from '../../sql/scanner.ts';
import { faultAt, readStatement } from './read-statement.ts';

/** The parameters by which callers can make LIMIT or OFFSET negative, which is an error at each such call. */
export function rowCountWarnings(capabilities: readonly Capability[]): readonly Fault[] {
  return capabilities.flatMap((capability) => {
    const result = readStatement(capability);
    if (!result.ok) return [];
    const { body } = result.read.select;
    const names = new Set(
      body.flatMap((token, index) => (countsRows(body, index) ? [token.text.slice(1)] : [])),
    );
    return capability.params
      .filter(({ name, schema }) => names.has(name) && mayBeNegative(schema))
      .map(({ name }) => {
        const message =
          'may be negative, and is used in LIMIT or OFFSET, which then fails: add minimum: 0 (or 1)';
        return faultAt(capability, { message }, name);
      });
  });
}

function countsRows(body: readonly SqlToken[], index: number): boolean {
  if (body[index]?.kind !== 'parameter') return false;
  const isWord = (at: number, word: RegExp): boolean =>
    body[at]?.kind === 'word' && word.test(body[at]?.text ?? '');
  if (isWord(index - 1, /^(?:limit|offset)$/i)) return true;
  return body[index - 1]?.text === ',' && isWord(index - 3, /^limit$/i);
}

function mayBeNegative({ type, minimum, exclusiveMinimum, enum: choices }: ParamSchema): boolean {
  if (type !== 'integer' && type !== 'number') return false;
  if ((minimum ?? -1) >= 0 || (exclusiveMinimum ?? -2) >= -1) return false;
  return choices?.every((choice) => Number(choice) >= 0) !== true;
}
