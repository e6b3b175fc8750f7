import { resolve } from 'node:path';
import type { Catalog, CatalogSource, CatalogTarget } from '../driver/catalog.ts';
import { unavailable, type EnginePool } from './engine-database.ts';

/** A file, which has no account and no password. */
interface FileTarget extends CatalogTarget {
  readonly file: string;
}

/** The catalog of a file, whose URL is `sqlite:PATH` or `duckdb:PATH`: `driver` is what stands before the colon. */
export function fileCatalog(
  driver: string,
  openPool: (file: string) => EnginePool,
  readCatalog: (pool: EnginePool, file: string) => Promise<Catalog>,
  contains: CatalogSource['contains'],
): CatalogSource {
  return {
    contains,
    target(url) {
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
    },
    async read({ file }: FileTarget) {
      const pool = openPool(file);
      try {
        return await readCatalog(pool, file);
      } catch (error) {
        throw unavailable(error);
      } finally {
        await pool.close();
      }
    },
  };
}
