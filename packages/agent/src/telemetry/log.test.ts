import {
  chmod,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { runProcess, smallDisk, temporaryFolder, type SmallDisk, type TemporaryFolder } from '@svc/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { AgentEvent } from './events.ts';
import { createLog, type Log, type LogDestination } from './log.ts';

let folder: TemporaryFolder;
let file: string;
let said: string[];
beforeEach(async () => {
  folder = await temporaryFolder('log');
  file = join(folder.path, 'svc-agent.log');
  said = [];
});
afterEach(() => folder.remove());

function open(options: Partial<Extract<LogDestination, { file: string }>> = {}): Log {
  const standardError = { write: (text: string) => said.push(text) };
  const destination = { file, maxSizeBytes: 1024 * 1024, maxFiles: 3, ...options };
  return createLog({ destination, standardError });
}

const CALL = {
  event: 'call',
  request_id: 'r1',
  api_key_name: 'reporting',
  capability: 'find_book',
  outcome: 'OK',
  duration_ms: 1.25,
  rows: 0,
  bytes: 2,
} as const;

function call(rows: number): AgentEvent {
  return { ...CALL, rows };
}
const CRASHED: AgentEvent = { event: 'crashed', detail: 'relation "secret" at line 1\n  at x' };

async function records(name: string = file): Promise<Record<string, unknown>[]> {
  const text = await readFile(name, 'utf8').catch(() => '');
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

test('a record has time, level and the fields of its event; nothing is written before the first', async () => {
  const log = open();
  expect(await readdir(folder.path)).toEqual([]);
  log.observe(call(1));
  log.observe(CRASHED);
  await log.close();
  const [first, second] = await records();
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(first).toEqual({ time, level: 'info', ...call(1) });
  expect(second).toEqual({ time, level: 'error', ...CRASHED });
  expect(said).toEqual(['svc-agent: internal error, ending; the log file holds the details\n']);
});

test('rare events are written at once and calls soon, without being closed', async () => {
  const log = open();
  log.observe(CRASHED);
  await expect.poll(() => records(), { interval: 2 }).toHaveLength(1);
  log.observe(call(1));
  await expect.poll(() => records(), { interval: 20 }).toHaveLength(2);
  await log.close();
});

describe('what the gateway or a proxy says', () => {
  const disconnected = (reason: string): Extract<AgentEvent, { event: 'disconnected' }> => ({
    event: 'disconnected',
    gateway: 'wss://gateway.example/ws/agent',
    reason,
    retry_in_ms: 1500,
  });

  test('reaches the terminal on one short line without commands, and the log whole', async () => {
    const log = open();
    const reason = `\u001b[2J\r\n\u009b\u2028svc-agent: forged${'x'.repeat(10_000)}`;
    log.observe(disconnected(reason));
    await log.close();
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(/^[^\p{Cc}\u2028\u2029]+\n$/u);
    expect(said[0]?.length).toBeLessThan(400);
    expect(said[0]).toContain('next try in 1.5 s');
    expect(await records()).toMatchObject([{ reason }]);
  });

  test('of one connection among several says so, and names no next try', async () => {
    const log = open();
    const { retry_in_ms: _, ...replaced } = { ...disconnected('bye'), retry_in_ms: 0 };
    log.observe(replaced);
    await log.close();
    expect(said).toEqual(['svc-agent: one connection to wss://gateway.example/ws/agent has ended: bye\n']);
  });

  test('is no trouble where the agent has ended the connection itself', async () => {
    const log = open();
    log.observe({ ...disconnected('left'), planned: true });
    await log.close();
    expect(said).toEqual([]);
    expect(await records()).toMatchObject([{ level: 'info', planned: true }]);
  });
});

test('a lost database is reported on the terminal without database text, and its return in the log alone', async () => {
  const log = open();
  log.observe({ event: 'database_lost', reason: 'nothing listens there', detail: 'ECONNREFUSED 192.0.2.7' });
  log.observe({ event: 'database_back', away_ms: 2310 });
  await log.close();
  expect(said).toEqual([
    'svc-agent: the database is lost: nothing listens there; calls fail until it is back; the log file will tell when it is\n',
  ]);
  expect(await records()).toMatchObject([
    { level: 'warn', detail: 'ECONNREFUSED 192.0.2.7' },
    { level: 'info', away_ms: 2310 },
  ]);
});

test('the end of sharing and its return are told in the log alone', async () => {
  const log = open();
  log.observe({ event: 'sharing_ended', capability: 'find_book' });
  log.observe({ event: 'sharing_back', capability: 'find_book' });
  await log.close();
  expect(said).toEqual([]);
  expect(await records()).toMatchObject([
    { level: 'warn', event: 'sharing_ended', capability: 'find_book' },
    { level: 'info', event: 'sharing_back', capability: 'find_book' },
  ]);
});

describe('logging.max_files and max_size', () => {
  test.each([
    [1, ['svc-agent.log']],
    [2, ['svc-agent.log', 'svc-agent.log.1']],
    [3, ['svc-agent.log', 'svc-agent.log.1', 'svc-agent.log.2']],
  ])('%i keeps that many files, the newest records in the active one', async (maxFiles, names) => {
    const log = open({ maxFiles, maxSizeBytes: 5000 });
    const last = 500;
    for (let n = 0; n <= last; n++) log.observe(call(n));
    await log.close();
    expect((await readdir(folder.path)).toSorted()).toEqual(names);
    const kept: unknown[] = [];
    for (const name of names.toReversed()) {
      const path = join(folder.path, name);
      kept.push(...(await records(path)).map(({ rows }) => rows));
      // One record may still go into a file that is almost full.
      expect((await stat(path)).size).toBeLessThan(5000 + 250);
    }
    expect(kept).toEqual(Array.from(kept, (_, index) => last + 1 - kept.length + index));
    // A file may just have been started again.
    if (maxFiles > 1) expect(kept.length).toBeGreaterThan(10);
  });
});

test('a file that cannot be written is reported once, and written again as soon as it can be', async () => {
  await mkdir(file);
  const log = open();
  log.observe(CRASHED);
  await expect.poll(() => said.length, { interval: 5 }).toBe(2);
  log.observe(call(1));
  await new Promise(setImmediate);
  await rmdir(file);
  await expect
    .poll(
      async () => {
        log.observe(call(2));
        return (await records()).length;
      },
      { interval: 50 },
    )
    .toBeGreaterThan(0);
  await log.close();
  expect(said.filter((line) => line.includes(`cannot write ${file}`))).toHaveLength(1);
});

describe('the mode of the file', { tags: ['log:file-mode'] }, () => {
  const modeOf = async (name: string): Promise<string> => ((await stat(name)).mode & 0o777).toString(8);
  const fillTwo = async (): Promise<void> => {
    const log = open({ maxSizeBytes: 5000, maxFiles: 2 });
    for (let n = 0; n < 50; n++) log.observe(call(n));
    await log.close();
  };

  test('is 0600, of those that are left behind too', async () => {
    await fillTwo();
    expect([await modeOf(file), await modeOf(`${file}.1`)]).toEqual(['600', '600']);
  });

  test.each([
    ['644', '640'],
    ['640', '640'],
    ['660', '660'],
  ])(
    '%s, as somebody has set it, becomes %s: a group may read, the rest of the world may not',
    async (mode, kept) => {
      await writeFile(file, '');
      await chmod(file, Number.parseInt(mode, 8));
      await fillTwo();
      expect([await modeOf(file), await modeOf(`${file}.1`)]).toEqual([kept, kept]);
    },
  );
});

describe('another program changes the file', () => {
  // How often the log looks whether its file is still there.
  const aSecond = (): unknown => vi.advanceTimersByTime(1000);
  beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => vi.useRealTimers());

  async function written(log: Log, rows: number): Promise<void> {
    log.observe(call(rows));
    await expect.poll(async () => (await records()).at(-1)?.['rows'], { interval: 5 }).toBe(rows);
  }

  test('moved away, removed or emptied by a program that rotates logs, it is begun again', async () => {
    const log = open();
    await written(log, 1);
    await rename(file, join(folder.path, 'moved'));
    aSecond();
    await written(log, 2);
    await rm(file);
    aSecond();
    await written(log, 3);
    await truncate(file);
    await written(log, 4);
    await log.close();
    expect((await records()).map(({ rows }) => rows)).toEqual([4]);
    expect((await records(join(folder.path, 'moved'))).map(({ rows }) => rows)).toEqual([1]);
    expect(said).toEqual([]);
  });

  test('when its folder is removed, that is reported once, and records wait until it is back', async () => {
    const home = join(folder.path, 'home');
    await mkdir(home);
    file = join(home, 'svc-agent.log');
    const log = open();
    await written(log, 1);
    await rename(home, `${home}.old`);
    aSecond();
    log.observe(call(2));
    await expect.poll(() => said, { interval: 5 }).toEqual([expect.stringContaining('ENOENT')]);
    await rename(`${home}.old`, home);
    await expect.poll(() => records(), { interval: 5 }).toHaveLength(2);
    await log.close();
    expect(said).toHaveLength(2);
  });

  test('a line that a killed process has left half written stays alone', async () => {
    await writeFile(file, '{"time":"20');
    const log = open();
    log.observe(call(1));
    await log.close();
    const [torn, record, ...more] = (await readFile(file, 'utf8')).split('\n');
    expect([torn, JSON.parse(record ?? '').rows, ...more]).toEqual(['{"time":"20', 1, '']);
  });

  test('a full file that cannot be renamed grows, and that is reported once', async () => {
    await mkdir(join(`${file}.1`, 'occupied'), { recursive: true });
    const log = open({ maxSizeBytes: 2000, maxFiles: 2 });
    for (let n = 0; n < 100; n++) log.observe(call(n));
    await log.close();
    expect((await records()).map(({ rows }) => rows)).toEqual(Array.from({ length: 100 }, (_, n) => n));
    expect(said).toEqual([expect.stringContaining(`${file} grows`)]);
  });
});

describe('a full disk', { tags: ['log:full-disk'] }, () => {
  let disk: SmallDisk | string;
  beforeAll(async () => {
    disk = await smallDisk();
  });
  afterAll(() => typeof disk === 'string' || disk.remove());
  beforeEach(async ({ skip }) => {
    if (typeof disk === 'string') return skip(disk);
    file = join(disk.path, 'svc-agent.log');
    await disk.fill(16 * 1024);
    return async () => {
      await rm(file, { force: true });
      await makeSpace();
    };
  });
  const makeSpace = async (): Promise<void> => {
    if (typeof disk !== 'string') await disk.empty();
  };

  test('tears no line, and what waits in memory is written when there is space again', async () => {
    const log = open();
    for (let rows = 0; rows < 2000; rows++) log.observe(call(rows));
    await expect.poll(() => said.length, { interval: 5 }).toBe(1);
    expect(said[0]).toContain(`cannot write ${file}: ENOSPC`);
    const beginning = await records();
    expect(beginning.length).toBeGreaterThan(10);
    expect(await readFile(file, 'utf8')).toMatch(/\n$/);
    await makeSpace();
    await expect.poll(() => records(), { interval: 20 }).toHaveLength(2000);
    await log.close();
    expect((await records()).map(({ rows }) => rows)).toEqual(Array.from({ length: 2000 }, (_, n) => n));
    expect(said).toHaveLength(2);
    expect(said[1]).toContain(`${file} is written again; no record is lost`);
    expect(log.recordsLost).toBe(0);
  });

  test('takes no more memory than 16 MiB; what is lost beyond is counted, in the log too', async () => {
    const log = open({ maxSizeBytes: 200_000, maxFiles: 1 });
    const longCall = { ...CALL, detail: 'x'.repeat(100_000) } as const;
    let observed = 0;
    while (log.recordsLost < 3) log.observe({ ...longCall, rows: observed++ });
    await expect.poll(() => said.length, { interval: 5 }).toBe(1);
    const lost = log.recordsLost;
    await makeSpace();
    const last = async (): Promise<unknown> => (await records()).at(-1);
    await expect
      .poll(last, { interval: 20 })
      .toMatchObject({ level: 'error', event: 'log_records_lost', count: lost });
    await log.close();
    expect(said[1]).toContain(`${file} is written again; ${lost} records are lost`);
  });

  test('is not waited for when the log is closed; the file holds whole lines, and the number of lost ones is reported', async () => {
    const log = open();
    for (let rows = 0; rows < 2000; rows++) log.observe(call(rows));
    await expect.poll(() => said.length, { interval: 5 }).toBe(1);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const closed = log.close();
    vi.advanceTimersByTime(2000);
    vi.useRealTimers();
    await closed;
    const kept = await records();
    expect(kept.map(({ rows }) => rows)).toEqual(Array.from(kept, (_, n) => n));
    expect(await readFile(file, 'utf8')).toMatch(/\n$/);
    const lost = Number(/up to (\d+) records are lost/.exec(said.at(-1) ?? '')?.[1]);
    expect(lost).toBeGreaterThanOrEqual(2000 - kept.length);
    // A batch of which a part has been written counts as a whole.
    expect(lost).toBeLessThan(2000 - kept.length + 100);
  });
});

test.each([
  ['at once', ''],
  ['a turn later', 'await new Promise(setImmediate);'],
  ['while it writes', 'for (let n = 0; n < 20; n++) await null;'],
  ['later', 'await new Promise((resolve) => setTimeout(resolve, 50));'],
])('no record is lost or doubled when the process just exits, %s', async (_when, pause) => {
  const script = `import { createLog } from ${JSON.stringify(join(import.meta.dirname, 'log.ts'))};
    const log = createLog(${JSON.stringify({ destination: { file, maxSizeBytes: 1e6, maxFiles: 2 } })});
    log.observe(${JSON.stringify(call(1))});
    log.observe(${JSON.stringify({ event: 'startup_fault', path: 'p', message: 'm', detail: 'd' })});
    log.observe(${JSON.stringify(call(2))});
    ${pause}
    log.observe(${JSON.stringify(call(3))});
    process.exit(3);`;
  const { code, stderr } = await runProcess(process.execPath, [
    '--import',
    'tsx',
    '--input-type=module',
    '-e',
    script,
  ]);
  expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
  expect((await records()).map(({ event, rows }) => rows ?? event)).toEqual([1, 'startup_fault', 2, 3]);
});
