import { resolve } from 'node:path';
import type { CatalogSource } from '../driver/catalog.ts';
import { fileCatalog } from '../engine-process/file-catalog.ts';
import { readCatalog } from './catalog/read-catalog.ts';
import { configure } from './config/config.ts';
import { createCatalogPool } from './connect.ts';

export const catalogSource: CatalogSource = fileCatalog(
  'sqlite',
  (file) => createCatalogPool(configure({ file, max_connections: 1 }, {}, resolve)),
  readCatalog,
  (column, param) => `instr(lower(${column}), lower(${param})) > 0`,
);
