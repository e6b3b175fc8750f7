import type { CatalogSource } from '../driver/catalog.ts';
import type { ServerTarget } from '../driver/server-target.ts';
import type { PostgresConfig } from './config/config.ts';
import { createPool } from './connect.ts';
import { accountStatements, createAccount, passwordHint } from './catalog/account.ts';
import { readCatalog } from './catalog/read-catalog.ts';
import { targetOf } from './catalog/target.ts';

export const catalogSource: CatalogSource = {
  target: targetOf,
  async read({ config }: ServerTarget<PostgresConfig>, timeoutMs) {
    const pool = createPool(config);
    try {
      return await readCatalog(pool, timeoutMs);
    } finally {
      await pool.close();
    }
  },
  // In a text that is looked for, these three would stand for other characters.
  contains: (column, param) =>
    `${column} ilike '%' || regexp_replace(${param}, '([\\\\%_])', '\\\\\\1', 'g') || '%'`,
  accounts: {
    nameMax: 63,
    noun: 'roles',
    shell: 'psql',
    transaction: { begin: 'BEGIN', commit: 'COMMIT' },
    statements: accountStatements,
    passwordHint,
    create: createAccount,
  },
};
