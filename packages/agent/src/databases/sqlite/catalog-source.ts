import { resolve } from 'node:path';
import type { CatalogSource } from '../driver/catalog.ts';
import { fileTarget, type FileTarget } from '../engine-process/file-target.ts';
import { configure } from './config/config.ts';
import { createCatalogPool } from './connect.ts';
import { readCatalog } from './catalog/read-catalog.ts';

export const catalogSource: CatalogSource = {
  target: (url) => fileTarget('sqlite', url),
  async read({ file }: FileTarget) {
    const pool = createCatalogPool(configure({ file, max_connections: 1 }, {}, resolve));
    try {
      return await readCatalog(pool, file);
    } finally {
      await pool.close();
    }
  },
  contains: (column, param) => `instr(lower(${column}), lower(${param})) > 0`,
};
