import { executeMysql, type MysqlAddress } from '@svc/testkit';
import { onTestFinished } from 'vitest';
import type { Capability } from '../../../capabilities/model.ts';
import type { AccountFinding, AccountNote } from '../../driver/driver.ts';
import { configure } from '../config/config.ts';
import { createPool } from '../connect.ts';
import { auditAccount, describeAccount } from './account.ts';

export interface Audited {
  /** In quotes, with its host. */
  readonly account: string;
  readonly execute: (sql: string) => ReturnType<typeof executeMysql>;
  /** By a new session, which has what was granted before. */
  readonly audit: (capabilities?: readonly Capability[]) => Promise<readonly AccountFinding[]>;
  readonly describe: (capabilities: readonly Capability[]) => Promise<readonly AccountNote[]>;
  readonly remedies: () => Promise<readonly string[]>;
  /** Runs each remedy as the administrator; gives what is found after that. */
  readonly followRemedies: () => Promise<readonly AccountFinding[]>;
}

let accounts = 0;

/** An account of `address` that lasts as long as the test. */
export async function auditedAccount(
  address: MysqlAddress,
  database = 'information_schema',
  host = '%',
): Promise<Audited> {
  const { host: server, port, kind } = address;
  accounts += 1;
  const user = `audited_${process.pid}_${accounts}`;
  const account = `\`${user}\`@\`${host}\``;
  const execute: Audited['execute'] = (sql) => executeMysql(address, sql);
  await execute(`create user ${account} identified by 'p'`);
  onTestFinished(async () => {
    await execute(`drop user ${account}`);
  });
  const section = { driver: kind, host: server, port, name: 'information_schema', user };
  const inNewSession = async <Result>(
    ask: (pool: ReturnType<typeof createPool>) => Promise<Result>,
  ): Promise<Result> => {
    const pool = createPool(configure(section, { password: 'p' }));
    try {
      return await ask(pool);
    } finally {
      await pool.close();
    }
  };
  const audit: Audited['audit'] = (capabilities = []) =>
    inNewSession((pool) => auditAccount(pool, { name: database }, capabilities));
  const remedies = async (): Promise<readonly string[]> => (await audit()).map(({ remedy }) => remedy);
  return {
    account,
    execute,
    audit,
    describe: (capabilities) =>
      inNewSession((pool) => describeAccount(pool, { name: database }, capabilities)),
    remedies,
    async followRemedies() {
      for (const remedy of await remedies()) await execute(remedy);
      return audit();
    },
  };
}
