import { nearestWithin } from '@svc/edge';
import { isRecord } from '../capabilities/is-record.ts';
import { DEFAULT_DRIVER, DRIVER_NAMES } from '../databases/drivers.ts';
import { sectionOf, UNNAMED } from '../capabilities/database-names.ts';
import { valueAt, type Path } from './path.ts';

/** The names of the databases of the file, whatever else is wrong with it. */
export function databaseNamesOf(root: unknown): readonly string[] {
  if (!isRecord(root) || !Object.hasOwn(root, 'databases')) return [UNNAMED];
  return isRecord(root['databases']) ? Object.keys(root['databases']) : [];
}

/** The driver that the section names, also with a typing error; the default one if it names none. */
export function driverNameOf(root: unknown, section: Path): string {
  const name = valueAt(root, [...section, 'driver']);
  return (typeof name === 'string' ? nearestWithin(name, DRIVER_NAMES) : undefined) ?? DEFAULT_DRIVER;
}

/** By the names of the databases. */
export function driversOf(root: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(databaseNamesOf(root).map((name) => [name, driverNameOf(root, sectionOf(name))]));
}
