import type { CatalogSource } from '../driver/catalog.ts';
import type { ServerTarget } from '../driver/server-target.ts';
import type { MysqlConfig } from './config/config.ts';
import { createPool } from './connect.ts';
import { accountStatements, createAccount, passwordHint } from './catalog/account.ts';
import { readCatalog } from './catalog/read-catalog.ts';
import { targetOf } from './catalog/target.ts';

export const catalogSource: CatalogSource = {
  target: targetOf,
  async read({ config }: ServerTarget<MysqlConfig>, timeoutMs) {
    const pool = createPool(config);
    try {
      return await readCatalog(pool, config.name, timeoutMs);
    } finally {
      await pool.close();
    }
  },
  // A column with a case-sensitive collation stays case-sensitive.
  contains: (column, param) => `locate(lower(${param}), lower(${column})) > 0`,
  accounts: {
    nameMax: 32,
    noun: 'users',
    shell: 'mysql',
    statements: accountStatements,
    passwordHint,
    create: createAccount,
  },
};
