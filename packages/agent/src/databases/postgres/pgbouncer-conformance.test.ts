import type { PgBouncer } from '@svc/testkit';
import { afterAll, beforeAll, describe } from 'vitest';
import { describeDriver } from '../conformance/describe-driver.testing.ts';
import { dialectOf, type Pooler } from './conformance.fixture.ts';
import {
  isInstalled,
  keepsPreparedStatements,
  pgBouncer,
  poolerOf,
  SESSION_MODE,
  TRANSACTION_MODE,
} from './pgbouncer.fixture.ts';

const mode = keepsPreparedStatements ? 'transaction' : 'session';

describe.skipIf(!isInstalled)(`behind PgBouncer in ${mode} mode`, () => {
  let started: PgBouncer | undefined;
  let pooler: Pooler | undefined;
  beforeAll(async () => {
    started = await pgBouncer(keepsPreparedStatements ? TRANSACTION_MODE : SESSION_MODE);
    pooler = poolerOf(started);
  });
  afterAll(() => started?.stop());
  describeDriver(
    'postgres',
    dialectOf(() => {
      if (pooler === undefined) throw new Error('PgBouncer has not been started');
      return pooler;
    }),
  );
});
