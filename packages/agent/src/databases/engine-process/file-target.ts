import { resolve } from 'node:path';
import type { CatalogTarget, CatalogTargetResult } from '../driver/catalog.ts';

/** A database that is a file, which knows no account and no password. */
export interface FileTarget extends CatalogTarget {
  readonly file: string;
}

/** Reads `sqlite:PATH` or `duckdb:PATH`, where `driver` is what stands before the colon. */
export function fileTarget(driver: string, url: string | undefined): CatalogTargetResult {
  const path = new RegExp(`^${driver}:(?://)?(.+)$`, 'i').exec(url ?? '')?.[1];
  if (path === undefined)
    return { ok: false, problem: `the URL of the database must look like \`${driver}:PATH\`` };
  const file = resolve(path);
  const target: FileTarget = {
    file,
    section: { driver, file },
    hasPassword: true,
    withPassword: () => target,
  };
  return { ok: true, target };
}
