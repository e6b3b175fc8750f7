import { nearestWithin } from '@svc/edge';
import type { Fault } from '../../../../capabilities/fault.ts';
import type { Capability } from '../../../../capabilities/model.ts';
import { faultAt } from '../../../sql/fault-at.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { namedObjects, type NamedObjects } from '../statement/named-objects.ts';
import { readableStatements } from '../statement/readable-statements.ts';
import { DependencyCatalog, type ForeignTable } from './dependency-catalog.ts';
import { findReached, type ReachedTable } from './find-reached.ts';

/** What is wrong with the foreign tables that a capability reads without naming them. */
export function unnamedForeignTables(
  { allowForeignTables }: Capability,
  tables: readonly ReachedTable[],
): readonly string[] {
  return tables
    .filter((table) => !allowForeignTables.some((entry) => isNamed(entry, table)))
    .map((table) => {
      const name = `${table.schema}.${table.name}`;
      const meant = nearestWithin(name, allowForeignTables) ?? nearestWithin(table.name, allowForeignTables);
      const remedy =
        meant === undefined
          ? 'remove it, or name it in policy.allow_foreign_tables'
          : `did you mean this table by ${meant} in policy.allow_foreign_tables?`;
      return `reads the foreign table ${name}, and ${riskOf(table)}: ${remedy}${wayOf(table)}`;
    });
}

/** The risk of each foreign table that is allowed, and entries of the list that the statement does not read. */
export async function foreignTableWarnings(
  pool: SessionPool,
  capabilities: readonly Capability[],
): Promise<readonly Fault[]> {
  const concerned = capabilities.filter(({ allowForeignTables }) => allowForeignTables.length > 0);
  if (concerned.length === 0) return [];
  const statements: { readonly capability: Capability; readonly named: NamedObjects }[] = [];
  for await (const { capability, read } of readableStatements(concerned))
    statements.push({ capability, named: namedObjects(read.inspected.tree) });
  const catalog = new DependencyCatalog(pool);
  await catalog.learn(statements.map(({ named }) => named));
  return statements.flatMap(({ capability, named }) => {
    const { foreignTables } = findReached(catalog, named, [], capability.allowFunctions);
    return warningsOf(capability, foreignTables);
  });
}

function warningsOf(capability: Capability, tables: readonly ReachedTable[]): readonly Fault[] {
  const { allowForeignTables: entries } = capability;
  const risks = tables
    .filter((table) => entries.some((entry) => isNamed(entry, table)))
    .map((table) => `reads the foreign table ${table.schema}.${table.name}: ${riskOf(table)}${wayOf(table)}`);
  const unread = entries
    .filter((entry) => !tables.some((table) => isNamed(entry, table)))
    .map((entry) => `does not read ${entry}, which policy.allow_foreign_tables names: remove it there`);
  return [...risks, ...unread].map((message) => faultAt(capability, { message }));
}

function isNamed(entry: string, { schema, name }: ForeignTable): boolean {
  return entry === name || entry === `${schema}.${name}`;
}

function wayOf({ schema, name, way }: ReachedTable): string {
  return way === `foreign table ${schema}.${name}` ? '' : `; ${way}`;
}

function riskOf({ wrapper, runsProgram }: ForeignTable): string {
  const library = /[^/]*$/.exec(wrapper)?.[0] ?? wrapper;
  if (runsProgram) return 'each read runs a program on the database server';
  switch (library) {
    case 'file_fdw':
      return 'each read opens a file on the database server';
    case 'postgres_fdw':
      return 'its server may run a view or a function of that name, and the rollback here undoes nothing there';
    default:
      return `what its wrapper ${library} does at a read is not known, and the rollback here undoes nothing elsewhere`;
  }
}
