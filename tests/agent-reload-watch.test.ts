import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ADDED, COUNTED, edition, startReloading, type Reloading } from './agent-reload.testing.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ sql: COUNTED });
});

describe('with workers on both sides, --watch and runtime.reverify', () => {
  const LIMITS = 'runtime: { workers: 2 }\nmetrics: { addr: "127.0.0.1:0" }\n';
  let it: Reloading;
  beforeAll(async () => {
    it = await startReloading(LIMITS, {
      database,
      agentFlags: ['--watch'],
      gatewayEnv: { GATEWAY_WORKERS: '2' },
    });
  });
  afterAll(() => it.service.stop());

  test(
    'a file that is replaced is taken up by every worker, over a link to each',
    { tags: ['reload:watch', 'reload:workers'] },
    async () => {
      const replaced = await it.answerTo(async () => {
        const beside = join(it.folder, 'next.yaml');
        await writeFile(beside, it.head + LIMITS + edition(2, ADDED));
        await rename(beside, join(it.folder, 'capability.yaml'));
      }, 'reloaded');
      expect(replaced).toMatchObject({ trigger: 'watch', added: 'added', links_waiting: 0 });
      const editions = await Promise.all(Array.from({ length: 30 }, () => it.edition()));
      expect(new Set(editions)).toEqual(new Set(['2']));
      expect(await it.answerTo(() => it.write(LIMITS + edition(3, ADDED)), 'reloaded')).toMatchObject({
        changed: 'edition, slow',
        links_replaced: 0,
      });
      expect(await it.edition()).toBe('3');
    },
  );

  test(
    'what is torn is refused once, and taken up when it is whole',
    { tags: ['reload:watch'] },
    async () => {
      const whole = LIMITS + edition(4, ADDED);
      expect(await it.answerTo(() => it.write(whole.slice(0, -20)), 'reload_refused')).toMatchObject({
        trigger: 'watch',
      });
      expect(await it.answerTo(() => it.write(whole), 'reloaded')).toMatchObject({ trigger: 'watch' });
      expect(await it.edition()).toBe('4');
    },
  );

  test(
    'what does not hold in the database any more is told, served on, and told to hold again',
    { tags: ['reload:reverify', 'file:runtime.reverify'] },
    async () => {
      // The other tests need not share the machine with it.
      const reverifying = LIMITS.replace('workers: 2', 'workers: 2, reverify: 1s');
      await it.answerTo(() => it.write(reverifying + edition(4, ADDED)), 'reverified');
      const drift = await it.answerTo(() => database.query('alter table counted rename to moved'), 'drift');
      expect(drift).toMatchObject({ faults: 1, capabilities: 'added' });
      expect(await it.edition()).toBe('4');
      await it.answerTo(() => database.query('alter table moved rename to counted'), 'reverified');
      expect(await it.service.call('added', {})).toMatchObject({ json: { rows: [{ id: 1 }] } });
    },
  );

  test('another account has connections of its own', { tags: ['reload:database'] }, async () => {
    const changed = it.head.replace('driver: postgres', 'driver: postgres\n  max_connections: 4');
    const file = join(it.folder, 'capability.yaml');
    const running = it.service.call('slow', {});
    expect(await it.edition()).toBe('4');
    const record = await it.answerTo(() => writeFile(file, changed + LIMITS + edition(5, ADDED)), 'reloaded');
    expect(record).toMatchObject({ database_changed: true, links_replaced: 0 });
    expect((await running).status).toBe(200);
    expect(await it.edition()).toBe('5');
    await expect
      .poll(
        async () =>
          (
            await database.query(
              "select 1 from pg_stat_activity where application_name = 'svc-agent' and datname = current_database()",
            )
          ).length,
        { interval: 50 },
      )
      .toBeLessThanOrEqual(4);
  });
});
