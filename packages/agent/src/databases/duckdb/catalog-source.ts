import { resolve } from 'node:path';
import type { CatalogSource } from '../driver/catalog.ts';
import { fileTarget, type FileTarget } from '../engine-process/file-target.ts';
import { configure } from './config/config.ts';
import { createPool } from './connect.ts';
import { readCatalog } from './catalog/read-catalog.ts';

export const catalogSource: CatalogSource = {
  target: (url) => fileTarget('duckdb', url),
  async read({ file }: FileTarget) {
    const pool = createPool(configure({ file, max_connections: 1 }, {}, (name) => resolve(name)));
    try {
      return await readCatalog(pool, file);
    } finally {
      await pool.close();
    }
  },
  contains: (column, param) => `contains(lower(${column}), lower(${param}))`,
};
