import type { CapabilitySpec } from '../../../config/capability-file.ts';
import { buildCapabilities } from '../../../config/build.ts';
import type { Capability } from '../../../capabilities/model.ts';
import type { Query, QueryResult } from '../../driver/driver.ts';
import { callOf, textOf } from '../capability.testing.ts';

/** A capability as the file has it. */
export function capabilityOfSpec(spec: CapabilitySpec, name: string = 'list'): Capability {
  const [capability] = buildCapabilities({ capabilities: { [name]: spec } }, undefined, () => ({
    line: 1,
    column: 1,
  }));
  if (capability === undefined) throw new Error('built no capability');
  return capability;
}

/** As a caller sends them: what is absent is null, and the first order is the default. */
function valuesOf(
  capability: Capability,
  given: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    capability.params.map(({ name, schema }) => [name, given[name] ?? schema.default ?? null]),
  );
}

export async function ask(
  query: Query,
  capability: Capability,
  given: Readonly<Record<string, unknown>> = {},
): Promise<QueryResult & { readonly list: readonly Readonly<Record<string, unknown>>[] }> {
  const result = await query.run(callOf(valuesOf(capability, given)));
  return { ...result, list: JSON.parse(textOf(result.rows)) };
}

/** All pages, one after the other. */
export async function walk(
  query: Query,
  capability: Capability,
  given: Readonly<Record<string, unknown>> = {},
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const rows: Readonly<Record<string, unknown>>[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < 10_000; page += 1) {
    const answer = await ask(query, capability, { ...given, ...(cursor === undefined ? {} : { cursor }) });
    rows.push(...answer.list);
    ({ cursor } = answer);
    if (!answer.truncated) return rows;
    if (cursor === undefined) throw new Error('a cut answer without a cursor');
  }
  throw new Error('the pages do not end');
}
