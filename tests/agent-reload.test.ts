import { rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProcess, testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ADDED, COUNTED, edition, startReloading, type Reloading } from './agent-reload.testing.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ sql: COUNTED });
});

describe('SIGHUP', () => {
  const LIMITS = 'runtime: { max_concurrent_requests: 8, queue_size: 100 }\n';
  let it: Reloading;
  beforeAll(async () => {
    it = await startReloading(LIMITS, { database });
  });
  afterAll(() => it.service.stop());

  test(
    'swaps in place what callers see alike, and a call that runs keeps its query',
    { tags: ['reload:running'] },
    async () => {
      const running = it.service.call('slow', {});
      expect(await it.edition()).toBe('1');
      expect(await it.reload(LIMITS + edition(2))).toMatchObject({
        event: 'reloaded',
        trigger: 'SIGHUP',
        capabilities: 2,
        changed: 'edition, slow',
        database_changed: false,
        links_replaced: 0,
        links_waiting: 0,
      });
      expect(await it.edition()).toBe('2');
      expect(await running).toMatchObject({ json: { rows: [{ edition: 1 }] } });
    },
  );

  test(
    'refuses what is at fault, with every fault and the capabilities at fault, and serves on what was there',
    { tags: ['reload:refused'] },
    async () => {
      const faulty = edition(3, ADDED.replace('counted', 'nothing_there'));
      const record = await it.reload(
        LIMITS + faulty.replace('select 3 as edition from', 'select wrong from'),
      );
      expect(record).toMatchObject({ event: 'reload_refused', faults: 2, capabilities: 'slow, added' });
      expect(record['message']).toMatch(
        /^capabilities\.slow\.sql \(line \d+, column \d+\): .+\ncapabilities\.added\.sql /,
      );
      expect(record['detail']).toContain('nothing_there');
      const said = it.agent.output('stderr');
      expect(said).toContain('not reloaded, what was served before is still served: capabilities.slow.sql');
      expect(said).not.toContain('nothing_there');
      expect(await it.edition()).toBe('2');
      expect(await it.service.call('added', {})).toMatchObject({ status: 404 });
    },
  );

  test.each([
    ['a pipe that nobody writes to', (path: string) => runProcess('mkfifo', [path])],
    ['a device without an end', (path: string) => symlink('/dev/zero', path)],
  ])('refuses %s, and answers calls meanwhile', { tags: ['reload:refused'] }, async (_title, make) => {
    const file = join(it.folder, 'capability.yaml');
    const replace = async (): Promise<void> => {
      await rm(file, { force: true });
      await make(file);
      it.agent.signal('SIGHUP');
    };
    try {
      expect(await it.answerTo(replace, 'reload_refused')).toMatchObject({
        message: expect.stringContaining('it is a pipe, a device or the like'),
      });
      expect(await it.edition()).toBe('2');
    } finally {
      await rm(file);
    }
  });

  test(
    'has another link take the place of the one, which the gateway counts when the record is written',
    { tags: ['reload:links'] },
    async () => {
      const running = it.service.call('slow', {});
      expect(await it.edition()).toBe('2');
      expect(await it.reload(LIMITS + edition(4, ADDED))).toMatchObject({
        event: 'reloaded',
        added: 'added',
        changed: 'edition, slow',
        links_replaced: 1,
        links_waiting: 0,
      });
      expect(await it.service.call('added', {})).toMatchObject({ json: { rows: [{ id: 1 }] } });
      expect(await it.edition()).toBe('4');
      expect(await running).toMatchObject({ json: { rows: [{ edition: 2 }] } });
      const wider = LIMITS.replace('100', '200');
      expect(await it.reload(wider + edition(4, ADDED))).toMatchObject({
        event: 'reloaded',
        links_replaced: 1,
      });
      const back = await it.reload(LIMITS + edition(4));
      expect(back).toMatchObject({ event: 'reloaded', removed: 'added', links_replaced: 1 });
      expect(await it.service.call('added', {})).toMatchObject({ status: 404 });
      // No trouble: whoever watches the log for that is not woken.
      const planned: unknown = expect.objectContaining({ level: 'info', planned: true });
      await expect
        .poll(() => it.records('disconnected'), { interval: 20 })
        .toEqual([planned, planned, planned]);
      expect(it.agent.output('stderr')).not.toContain('has ended');
    },
  );

  test('tells once what the file is warned of', { tags: ['reload:warnings'] }, async () => {
    const limited = `${ADDED.replace('counted', 'counted limit :size')}    params: { size: { type: integer } }\n`;
    const known = (await it.records('startup_warning', 'account_finding')).length;
    expect(await it.reload(LIMITS + edition(4, limited))).toMatchObject({
      event: 'reloaded',
      added: 'added',
    });
    expect(await it.reload(LIMITS + edition(4))).toMatchObject({ event: 'reloaded' });
    const told = (await it.records('startup_warning', 'account_finding')).slice(known);
    expect(told).toMatchObject([{ event: 'startup_warning', path: 'capabilities.added.params.size' }]);
  });

  test('takes up how transactions run with the same connections', { tags: ['reload:database'] }, async () => {
    const own = it.head.replace('driver: postgres', 'driver: postgres\n  transactions: own');
    for (const head of [own, it.head]) {
      const record = await it.reload(LIMITS + edition(4), head);
      expect(record).toMatchObject({ event: 'reloaded', database_changed: false, links_replaced: 0 });
      expect(await it.edition()).toBe('4');
    }
  });

  test.each([
    ['away', (head: string) => head.replace(/^ {2}port: \d+$/m, '  port: 1')],
    [
      'asked for an encryption that it does not have',
      (head: string) => head.replace('driver: postgres', 'driver: postgres\n  sslmode: require'),
    ],
  ])('is refused where the database is %s', { tags: ['reload:refused'] }, async (_title, mistaken) => {
    const refusal = await it.answerTo(async () => {
      await writeFile(join(it.folder, 'capability.yaml'), mistaken(it.head) + LIMITS + edition(5));
      it.agent.signal('SIGHUP');
    }, 'reload_refused');
    expect(refusal).toMatchObject({ faults: 1, message: expect.stringMatching(/^database/) });
    expect(await it.edition()).toBe('4');
  });

  test('says restart of what a running agent cannot take up', { tags: ['reload:restart'] }, async () => {
    const record = await it.reload(
      `${LIMITS.replace('8,', '8, workers: 2,')}logging: { max_files: 2 }\n${edition(5)}`,
    );
    expect(record).toMatchObject({ event: 'reload_refused', faults: 2 });
    expect(record['message']).toMatch(
      /^runtime\.workers: .*restart the agent.*\nlogging: .*restart the agent/,
    );
    expect(await it.edition()).toBe('4');
  });

  test(
    'is taken up without a gateway, which gets it when it is back',
    { tags: ['reload:links'] },
    async () => {
      await it.service.gateway.stop();
      expect(await it.reload(LIMITS + edition(6, ADDED))).toMatchObject({
        event: 'reloaded',
        added: 'added',
      });
      const gateway = await it.service.restartGateway();
      await gateway.waitForLine((line) => line.includes('"event":"agent_connected"'), 60_000);
      expect(await it.edition()).toBe('6');
      expect(await it.service.call('added', {})).toMatchObject({ status: 200 });
    },
  );

  test('is ignored while the agent shuts down', { tags: ['shutdown:signals'] }, async () => {
    const running = it.service.call('slow', {});
    expect(await it.edition()).toBe('6');
    const before = (await it.records('reloaded', 'reload_refused')).length;
    await it.write(LIMITS + edition(7));
    it.agent.signal('SIGTERM');
    await it.agent.waitForLine((line) => line.includes('SIGTERM: finishing'));
    it.agent.signal('SIGHUP');
    expect(await running).toMatchObject({ json: { rows: [{ edition: 6 }] } });
    expect(await it.agent.exited).toEqual({ code: 0, signal: null });
    expect(await it.records('reloaded', 'reload_refused')).toHaveLength(before);
    expect(await it.records('shutting_down')).toMatchObject([{ signal: 'SIGTERM' }]);
  });
});
