import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createKey, dial, temporaryFolder, type CreatedKey, type TemporaryFolder } from '@svc/testkit';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  CALL,
  gatewayEnvironment,
  JSON_TYPE,
  recordsOf,
  startLoneGateway,
  type Environment,
  type LoneGateway,
} from './lone-gateway.testing.ts';

/** As soon as a change has to count. */
const WITHIN_MS = 3000;
/** What authentication makes of a call to a gateway without agents. */
const [KNOWN, UNKNOWN] = [503, 401];

let steady: CreatedKey;
let changing: CreatedKey;
beforeAll(async () => {
  [steady, changing] = await Promise.all([createKey('steady', '*'), createKey('changing', '*')]);
});

let folder: TemporaryFolder;
let file: string;
let gateway: LoneGateway;
beforeEach(async () => {
  folder = await temporaryFolder('reload');
  file = join(folder.path, 'keys.json');
});
afterEach(async () => {
  await gateway.process.stop();
  await folder.remove();
});

async function start(env: Environment = {}): Promise<void> {
  gateway = await startLoneGateway(
    await gatewayEnvironment([], { GATEWAY_API_KEYS_JSON: undefined, GATEWAY_API_KEYS_FILE: file, ...env }),
  );
}

const keys = (...created: readonly CreatedKey[]): string =>
  JSON.stringify(created.map(({ record }) => record));

async function replace(content: string): Promise<void> {
  await writeFile(`${file}.new`, content);
  await rename(`${file}.new`, file);
}

async function statusOf({ api_key: key }: CreatedKey, path = CALL): Promise<number> {
  const answer = await gateway.ask('POST', path, { headers: { ...JSON_TYPE, 'X-API-Key': key }, body: '{}' });
  return answer.status;
}

function countOf(event: string): number {
  return recordsOf(gateway.process).filter((record) => record['event'] === event).length;
}

async function counted(event: string, count: number): Promise<void> {
  await expect.poll(() => countOf(event), { interval: 5 }).toBeGreaterThanOrEqual(count);
}

/** Of the gateway and its workers. */
async function memoryMb(): Promise<number> {
  const rssOf = async (pid: number): Promise<number> => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
  };
  const { pid } = gateway.process;
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean);
  const all = await Promise.all([pid, ...children.map(Number)].map(rssOf));
  return all.reduce((sum, each) => sum + each, 0);
}

describe.each([
  { workers: '1', rounds: 34 },
  { workers: '2', rounds: 10 },
])('with GATEWAY_WORKERS=$workers', ({ workers, rounds }) => {
  test(
    'a key in the file counts within three seconds, as it is there, changed or gone',
    { tags: ['setting:GATEWAY_API_KEYS_FILE', 'log:keys_reloaded'] },
    async () => {
      await writeFile(file, keys(steady));
      await start({ GATEWAY_WORKERS: workers });
      const becomes = async (status: number): Promise<void> => {
        const from = performance.now();
        await expect.poll(() => statusOf(changing), { interval: 50, timeout: 5 * WITHIN_MS }).toBe(status);
        expect(performance.now() - from).toBeLessThan(WITHIN_MS + 500);
        // With workers: in each of them.
        for (let at = 0; at < 4; at++) expect(await statusOf(changing)).toBe(status);
      };
      expect([await statusOf(steady), await statusOf(changing)]).toEqual([KNOWN, UNKNOWN]);
      await replace(keys(steady, changing));
      await becomes(KNOWN);
      await replace(JSON.stringify([steady.record, { ...changing.record, capabilities: [] }]));
      await becomes(403);
      // In place, not in one step.
      await writeFile(file, keys(steady));
      await becomes(UNKNOWN);
      expect(await statusOf(steady)).toBe(KNOWN);
      expect(recordsOf(gateway.process).filter(({ event }) => event === 'keys_reloaded')).toMatchObject([
        { level: 'info', services: 1, keys: 2, keys_added: 'changing' },
        { keys_changed: 'changing' },
        { keys: 1, keys_removed: 'changing' },
      ]);
    },
  );

  test(
    'many reloads, broken ones among them, fail no call of another key, and no memory stays behind',
    {
      tags: ['setting:GATEWAY_SERVICES_FILE', 'log:keys_reload_failed', 'shutdown:signals'],
      timeout: 60_000,
    },
    async () => {
      const services = join(folder.path, 'services.json');
      await writeFile(file, keys(steady));
      await mkdir(join(folder.path, 'a'));
      await mkdir(join(folder.path, 'b'));
      const inService = (id: string): string =>
        JSON.stringify({ services: [{ id, api_keys: [changing.record] }] });
      await writeFile(join(folder.path, 'a', 'services.json'), inService('first'));
      await writeFile(join(folder.path, 'b', 'services.json'), inService('second'));
      await symlink('a', join(folder.path, 'data'));
      await symlink('data/services.json', services);
      await start({ GATEWAY_WORKERS: workers, GATEWAY_SERVICES_FILE: services });
      const statuses = new Map<number, number>();
      let over = false;
      const load = (async () => {
        while (!over) {
          const status = await statusOf(steady);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      })();
      const swap = async (target: string): Promise<void> => {
        await symlink(target, join(folder.path, 'next'));
        await rename(join(folder.path, 'next'), join(folder.path, 'data'));
      };
      const other = { ...steady.record, name: 'other', key_id: 'other' };
      const steps: readonly (readonly [event: string, change: () => Promise<void>])[] = [
        ['keys_reloaded', () => swap('b')],
        ['keys_reloaded', () => replace(JSON.stringify([steady.record, other]))],
        ['keys_reload_failed', () => writeFile(file, keys(steady).slice(0, -2))],
        ['keys_reloaded', () => writeFile(file, keys(steady))],
        ['keys_reload_failed', () => rm(join(folder.path, 'data'))],
        ['keys_reloaded', () => swap('a')],
      ];
      let afterFew = 0;
      for (let round = 0; round < rounds; round++) {
        for (const [event, change] of steps) {
          const before = countOf(event);
          await change();
          gateway.process.signal('SIGHUP');
          await counted(event, before + 1);
        }
        expect(await statusOf(changing, `/s/first${CALL}`)).toBe(KNOWN);
        expect(await statusOf(changing, `/s/second${CALL}`)).toBe(UNKNOWN);
        if (round === 5) afterFew = await memoryMb();
      }
      const afterMany = await memoryMb();
      over = true;
      await load;
      expect([...statuses.keys()]).toEqual([KNOWN]);
      expect(statuses.get(KNOWN)).toBeGreaterThan(100);
      expect(afterMany - afterFew).toBeLessThan(20 * Number(workers));
      expect(JSON.stringify(recordsOf(gateway.process))).not.toContain('$2b$');
    },
  );
});

test(
  'SIGHUP is ignored while the gateway shuts down, and stops one that reads no file of keys',
  { tags: ['shutdown:signals'] },
  async () => {
    await writeFile(file, keys(steady));
    await start();
    const slow = await dial(gateway.port);
    slow.send(
      `POST ${CALL} HTTP/1.1\r\nHost: a\r\nX-API-Key: ${steady.api_key}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n`,
    );
    await expect.poll(() => statusOf(steady)).toBe(KNOWN);
    gateway.process.signal('SIGTERM');
    await gateway.process.waitForLine((line) => line.includes('shutting_down'));
    await replace(keys(steady, changing));
    gateway.process.signal('SIGHUP');
    await pause(300);
    slow.send('{}');
    expect(await gateway.process.exited).toEqual({ code: 0, signal: null });
    expect(slow.text()).toContain('503');
    expect(countOf('keys_reloaded')).toBe(0);
    gateway = await startLoneGateway(await gatewayEnvironment());
    gateway.process.signal('SIGHUP');
    expect(await gateway.process.exited).toEqual({ code: 0, signal: null });
  },
);
