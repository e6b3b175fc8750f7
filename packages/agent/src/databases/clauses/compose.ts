import { PLACE_OF_FILTERS, sqlParams } from '../../capabilities/clauses.ts';
import type { Capability, Param } from '../../capabilities/model.ts';
import type { VerificationFault } from '../driver/errors.ts';
import { joinFilters, type Marks } from './parts.ts';

/** Ends the fault of a filter that calls such a function. */
export const MAY_DIFFER = 'may answer differently for the same row: a filter must not';

export function filtersOf({ params }: Pick<Capability, 'params'>): readonly Param[] {
  return params.filter(({ filter }) => filter !== undefined);
}

/**
 * The capability as if it had the filters of these parameters in its SQL, and no clauses: what can be read, checked and
 * explained like any other. With `marks` the place of each is found again; its index is that among all filters.
 */
export function plainCapability(
  capability: Capability,
  chosen: readonly Param[] = filtersOf(capability),
  marks?: Marks,
): Capability {
  const { clauses: _clauses, ...rest } = capability;
  const all = filtersOf(capability);
  const conditions = chosen.map((param) => [
    `${marks?.of('filter', all.indexOf(param)) ?? ''}(${param.filter?.sql ?? ''})`,
  ]);
  const place = `${marks?.of('filters') ?? ''}${joinFilters(conditions).join('')}${marks?.of('filters_end') ?? ''}`;
  const sql = capability.sql.replace(PLACE_OF_FILTERS, () => place);
  const isWhole = chosen.length === all.length;
  const params = sqlParams(capability).filter((param) => isWhole || isUsed(param, capability.sql, chosen));
  return { ...rest, sql, params };
}

/** Whether another part names the parameter. */
function isUsed({ name }: Param, sql: string, chosen: readonly Param[]): boolean {
  const written = new RegExp(`:${name}(?![A-Za-z0-9_])`);
  return [sql, ...chosen.map(({ filter }) => filter?.sql ?? '')].some((text) => written.test(text));
}

/** For what looks at all that a statement may have. */
export function plainCapabilities(capabilities: readonly Capability[]): readonly Capability[] {
  return capabilities.map((capability) =>
    capability.clauses === undefined ? capability : plainCapability(capability),
  );
}

/** Those whose rows nothing orders but their SQL. */
export function unordered(capabilities: readonly Capability[]): readonly Capability[] {
  return plainCapabilities(capabilities.filter(({ clauses }) => (clauses?.orders.length ?? 0) === 0));
}

export function filterFault(
  { name }: Pick<Capability, 'name'>,
  { name: param, filter, position }: Param,
  fault: Pick<VerificationFault, 'message' | 'detail' | 'hint'>,
): VerificationFault {
  const path = `capabilities.${name}.params.${param}.filter`;
  return { path, position: filter?.position ?? position, ...fault };
}

/** What is wrong with the whole statement only where it has this filter. */
export function atFilter(
  capability: Capability,
  param: Param,
  { message, detail, hint }: VerificationFault,
): VerificationFault {
  return filterFault(capability, param, {
    message,
    ...(detail === undefined ? {} : { detail }),
    ...(hint === undefined ? {} : { hint }),
  });
}
