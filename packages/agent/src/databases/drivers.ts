import type { OwnCode } from '@svc/edge';
import type { Driver } from './driver/driver.ts';
import { duckdb } from './duckdb/index.ts';
import { mariadb, mysql } from './mysql/index.ts';
import { postgres } from './postgres/index.ts';
import { sqlite } from './sqlite/index.ts';

/** Every kind of database that the agent serves, by the name that `database.driver` gives it. The only list. */
const drivers: Readonly<Record<string, Driver>> = { postgres, mariadb, mysql, sqlite, duckdb };

export const DRIVER_NAMES: readonly string[] = Object.keys(drivers);
export const DEFAULT_DRIVER = 'postgres';

/**
 * The driver of databases with such a URL. For any other URL the default driver, which then shows what its own look
 * like.
 */
export function driverOfUrl(url: string | undefined): Driver {
  const scheme = /^([a-z]+):/i.exec(url ?? '')?.[1]?.toLowerCase() ?? '';
  return driverOf(Object.hasOwn(drivers, scheme) ? scheme : DEFAULT_DRIVER);
}

/** Throws for a name that is not in the list. */
export function driverOf(name: string): Driver {
  const driver = Object.hasOwn(drivers, name) ? drivers[name] : undefined;
  if (driver === undefined) throw new Error(`no driver is called ${name}`);
  return driver;
}

/** The drivers whose section of the capability file has the key. */
export function driversWithKey(key: string): readonly string[] {
  return DRIVER_NAMES.filter((name) => Object.hasOwn(driverOf(name).section.properties, key));
}

/** The code of the processes that hold engines of databases. */
export function engineCodes(): readonly OwnCode[] {
  return Object.values(drivers).flatMap(({ engineCode }) => engineCode?.() ?? []);
}
