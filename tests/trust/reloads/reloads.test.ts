import { testDatabase } from '@svc/testkit';
import { expect, test } from 'vitest';
import { runReloads } from './run.ts';

test(
  'of files that are good, at fault, torn and overtaken the newest good one serves, and no call fails',
  { tags: ['reload:load'], timeout: 60_000 },
  async () => {
    const report = await runReloads({
      database: await testDatabase(),
      reloads: 5,
      capabilities: 3,
      callers: 4,
      thinkMs: 20,
    });
    expect(report.wrong).toEqual([]);
    expect([report.refused, report.calls > 50]).toEqual([2, true]);
  },
);
