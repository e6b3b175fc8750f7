import type { Capability, Param, ParamSchema } from '../../capabilities/model.ts';
import type { Fault } from '../../capabilities/fault.ts';
import { faultAt } from './fault-at.ts';
import type { SqlToken } from './scanner.ts';

/** The parameters that callers can make negative, which is an error at each call where they count rows. */
export function negativeParams({ params }: Capability): readonly Param[] {
  return params.filter(({ schema }) => mayBeNegative(schema));
}

export function negativeCount(capability: Capability, { name }: Param): Fault {
  const message = 'may be negative, and is used in LIMIT or OFFSET, which then fails: add minimum: 0 (or 1)';
  return faultAt(capability, { message }, name);
}

/** One for each parameter behind a LIMIT or an OFFSET that may be negative. */
export function rowCountWarnings(
  capabilities: readonly Capability[],
  /** The statement without its comments; undefined for one that is at fault. */
  bodyOf: (capability: Capability) => readonly SqlToken[] | undefined,
): readonly Fault[] {
  return capabilities.flatMap((capability) => {
    const suspects = negativeParams(capability);
    const body = suspects.length > 0 ? (bodyOf(capability) ?? []) : [];
    const counts = new Set(
      body.flatMap((token, index) => (countsRows(body, index) ? [token.text.slice(1)] : [])),
    );
    return suspects.filter(({ name }) => counts.has(name)).map((param) => negativeCount(capability, param));
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
