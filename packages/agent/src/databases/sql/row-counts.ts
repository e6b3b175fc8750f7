import type { Capability, Param, ParamSchema } from '../../capabilities/model.ts';
import type { Fault } from '../../capabilities/fault.ts';
import { faultAt } from './fault-at.ts';
import { loneParameter, rowCounts } from './places/row-counts.ts';
import type { SqlToken } from './scanner.ts';

/** The parameters that callers can make negative. */
export function negativeParams({ params }: Capability): readonly Param[] {
  return params.filter(({ schema }) => mayBeNegative(schema));
}

export function negativeCount(capability: Capability, { name }: Param): Fault {
  const message = 'may be negative, and is used in LIMIT or OFFSET, which then fails: add minimum: 0 (or 1)';
  return faultAt(capability, { message }, name);
}

/** One warning for each parameter in LIMIT or OFFSET that may be negative. */
export function rowCountWarnings(
  capabilities: readonly Capability[],
  /** The statement without its comments; empty for one that is at fault. */
  bodyOf: (capability: Capability) => readonly SqlToken[],
): readonly Fault[] {
  return capabilities.flatMap((capability) => {
    const suspects = negativeParams(capability);
    const body = suspects.length > 0 ? bodyOf(capability) : [];
    const names = countingParams(body);
    return suspects.filter(({ name }) => names.has(name)).map((param) => negativeCount(capability, param));
  });
}

/** The names of the parameters that are a LIMIT, an OFFSET or a FETCH FIRST by themselves. */
export function countingParams(body: readonly SqlToken[]): ReadonlySet<string> {
  return new Set(
    rowCounts(body).flatMap((count) => body[loneParameter(body, count) ?? -1]?.text.slice(1) ?? []),
  );
}

/** What is wrong with a parameter that counts rows. */
export function problemOfCount({ type, default: value }: ParamSchema): string | undefined {
  if (type !== 'integer') return `is declared ${type}, but counts rows: declare it integer`;
  if (Number(value ?? 0) >= 0) return undefined;
  return 'counts rows, and its default is negative: remove the default, since no value means no limit';
}

/** Forbids negative numbers in those parameters: engines refuse them, or take them for no limit. */
export function notNegative(capability: Capability, names: ReadonlySet<string>): Capability {
  if (names.size === 0) return capability;
  const params = capability.params.map((param) =>
    names.has(param.name) && mayBeNegative(param.schema)
      ? { ...param, schema: { ...param.schema, minimum: 0 } }
      : param,
  );
  return { ...capability, params };
}

function mayBeNegative({ type, minimum, exclusiveMinimum, enum: choices }: ParamSchema): boolean {
  if (type !== 'integer' && type !== 'number') return false;
  if ((minimum ?? -1) >= 0 || (exclusiveMinimum ?? -2) >= -1) return false;
  return choices?.every((choice) => Number(choice) >= 0) !== true;
}
