import { nearestWithin } from '@svc/edge';
import type { Fault } from '../../../../capabilities/fault.ts';
import type { Capability } from '../../../../capabilities/model.ts';
import { faultAt } from '../../../sql/fault-at.ts';
import type { ForeignTable } from './dependency-catalog.ts';
import type { ReachedTable } from './find-reached.ts';

/** What a capability that reads foreign tables has to say of each, and does not. */
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
          : `did you mean it by ${meant} in policy.allow_foreign_tables?`;
      return `reads the foreign table ${name}, and ${riskOf(table)}: ${remedy}${wayOf(table)}`;
    });
}

/** The risk of each foreign table that is allowed, and entries of the list that the statement does not read. */
export function foreignTableWarnings(
  capability: Capability,
  tables: readonly ReachedTable[],
): readonly Fault[] {
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
  if (runsProgram) return 'each read of it runs a program on the server of the database';
  switch (library) {
    case 'file_fdw':
      return 'each read of it opens a file on the server of the database';
    case 'postgres_fdw':
      return 'its server runs what stands there under its name, so that a view or a function can act, and this rollback undoes nothing there';
    default:
      return `what its wrapper ${library} does at a read is not known, and this rollback undoes nothing elsewhere`;
  }
}
