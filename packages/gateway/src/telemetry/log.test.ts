import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runProcess, smallDisk, type SmallDisk } from '@svc/testkit';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RequestEvent } from './events.ts';
import { createLog, type Log, type LogOptions } from './log.ts';

const REQUEST: RequestEvent = {
  event: 'request',
  request_id: 'r1',
  api_key_name: 'reporting',
  capability: 'find_book',
  http_status: 200,
  method: 'POST',
  route: '/api/v1/capabilities/{name}',
  source: '203.0.113.7',
  duration_ms: 1.25,
  error_code: '',
};
const LISTENING = { event: 'listening', url: 'http://localhost:1', address: '::', port: 1 } as const;

let said: string[] = [];
let folder = '';
let file = '';
let fd = 0;
beforeEach(async () => {
  said = [];
  folder = await mkdtemp(path.join(tmpdir(), 'svc-log-'));
  file = path.join(folder, 'log');
  fd = openSync(file, 'a');
});
afterEach(async () => {
  closeSync(fd);
  await rm(folder, { recursive: true, force: true });
});

function open(options: Partial<LogOptions> = {}): Log {
  const standardError = { write: (text: string) => said.push(text) };
  return createLog({ level: 'info', probes: true, destination: fd, standardError, ...options });
}

it('leaves answered probes out where it is told to, and nothing else', () => {
  const log = open({ probes: false });
  const probe = { ...REQUEST, capability: '' };
  for (const [route, http_status] of [
    ['/healthz', 200],
    ['/readyz', 503],
    ['/s/{service}/readyz', 200],
    ['/readyz', 429],
    ['/healthz', 405],
    ['/s/{service}/readyz', 401],
    ['/openapi.json', 200],
  ] as const) {
    log.observe({ ...probe, route, http_status });
  }
  log.observe({ event: 'shutting_down', signal: 'SIGTERM', in_flight: 0 });
  return log.close().then(() => {
    expect(lines().map((line) => JSON.parse(line).http_status)).toEqual([429, 405, 401, 200, undefined]);
  });
});

function lines(): readonly string[] {
  return readFileSync(file, 'utf8').split('\n').slice(0, -1);
}

describe('createLog', () => {
  it('writes one JSON object with time, level and all fields of the event', async () => {
    const log = open();
    const before = Date.now();
    log.observe(REQUEST);
    await log.close();
    const [line = '', ...more] = lines();
    expect(more).toEqual([]);
    const record: Record<string, unknown> = JSON.parse(line);
    expect(record).toEqual({ time: expect.any(String), level: 'info', ...REQUEST });
    const time = String(record['time']);
    expect(new Date(time).toISOString()).toBe(time);
    expect(Date.parse(time)).toBeGreaterThanOrEqual(before);
  });

  it('gives each event its level, and leaves out what is below the chosen one', async () => {
    const log = open({ level: 'warn' });
    log.observe(REQUEST);
    log.observe(LISTENING);
    log.observe({ event: 'agent_rejected', source: '203.0.113.7', reason: 'bad signature' });
    log.observe({ event: 'config_warning', message: 'm' });
    log.observe({ event: 'internal_error', request_id: 'r1', message: 'm' });
    await log.close();
    const records = lines().map((line): Record<string, unknown> => JSON.parse(line));
    expect(records.map((record) => [record['event'], record['level']])).toEqual([
      ['agent_rejected', 'warn'],
      ['config_warning', 'warn'],
      ['internal_error', 'error'],
    ]);
  });

  it('writes rare events at once and requests soon, without being closed', async () => {
    const log = open();
    log.observe(LISTENING);
    await expect.poll(lines, { interval: 2 }).toHaveLength(1);
    log.observe(REQUEST);
    await expect.poll(lines, { interval: 20 }).toHaveLength(2);
    await log.close();
  });

  it('loses nothing and keeps the order under load', async () => {
    const log = open();
    for (let index = 0; index < 20_000; index++) log.observe({ ...REQUEST, http_status: index });
    await log.close();
    const statuses = lines().map((line): unknown => JSON.parse(line).http_status);
    expect(statuses).toEqual(Array.from({ length: 20_000 }, (_, index) => index));
  });

  it('writes one line per record whatever the input contains', async () => {
    const nasty = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\r\n{"event":"forged"}', '\u2028', '\u0085', '\u001b[2J', '\u009b2J', '"\\', '\ud800'),
    );
    const names = fc.sample(nasty, 500);
    const log = open();
    for (const name of names) log.observe({ ...REQUEST, api_key_name: name });
    await log.close();
    const text = readFileSync(file, 'utf8');
    expect(text.split('\n')).toHaveLength(names.length + 1);
    expect(Array.from(text).filter((char) => char !== '\n' && isUnsafe(char.codePointAt(0) ?? 0))).toEqual(
      [],
    );
    const read = lines().map((line): unknown => JSON.parse(line).api_key_name);
    expect(read).toEqual(names);
  });

  it('ignores what comes after it was closed', async () => {
    const log = open();
    await log.close();
    log.observe(LISTENING);
    await log.close();
    expect(lines()).toEqual([]);
  });

  it('writes the last records when the process just exits', async () => {
    const { stdout, code } = await run(`log.observe(${JSON.stringify(REQUEST)}); process.exit(3);`);
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ event: 'request' });
  });

  it('goes on without a log when the reader goes away', async () => {
    const script = `
      log.observe(${JSON.stringify(LISTENING)});
      for await (const _ of process.stdin);
      for (let index = 0; index < 100; index++) {
        log.observe(${JSON.stringify(LISTENING)});
        await new Promise((resolve) => setImmediate(resolve));
      }
      await log.close();
      process.exitCode = 4;`;
    const { code, stderr } = await run(script, true);
    expect(stderr).toBe('');
    expect(code).toBe(4);
  });
});

describe('a full disk under standard output', { tags: ['log:full-disk'] }, () => {
  let disk: SmallDisk | string;
  beforeAll(async () => {
    disk = await smallDisk();
  });
  afterAll(() => typeof disk === 'string' || disk.remove());
  beforeEach(async ({ skip }) => {
    if (typeof disk === 'string') return skip(disk);
    closeSync(fd);
    file = path.join(disk.path, 'log');
    fd = openSync(file, 'a');
    await disk.fill(16 * 1024);
    return async () => {
      await rm(file);
      await makeSpace();
    };
  });
  const makeSpace = async (): Promise<void> => {
    if (typeof disk !== 'string') await disk.empty();
  };
  const observeMany = (log: Log): void => {
    for (let index = 0; index < 2000; index++) log.observe({ ...REQUEST, http_status: index });
  };

  it('tears no line, and what waits in memory is written when there is space again', async () => {
    const log = open();
    observeMany(log);
    await expect.poll(() => said, { interval: 5 }).toEqual([expect.stringContaining('ENOSPC')]);
    await makeSpace();
    await expect.poll(lines, { interval: 20 }).toHaveLength(2000);
    await log.close();
    const statuses = lines().map((line): unknown => JSON.parse(line).http_status);
    expect(statuses).toEqual(Array.from({ length: 2000 }, (_, index) => index));
    expect(said).toEqual([
      expect.stringContaining('ENOSPC'),
      'svc-gateway: the log is written again; records lost: 0\n',
    ]);
  });

  it('does not hold up the end of the process', async () => {
    const script = `
      import { openSync } from 'node:fs';
      import { createLog } from ${JSON.stringify(path.join(import.meta.dirname, 'log.ts'))};
      const log = createLog({ level: 'info', probes: true, destination: openSync(${JSON.stringify(file)}, 'a'), standardError: {
        write() { process.exit(3); }
      }});
      for (let index = 0; index < 2000; index++) log.observe(${JSON.stringify(REQUEST)});`;
    const { code } = await runProcess(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '-e', script],
      { withinMs: 10_000 },
    );
    expect(code).toBe(3);
  });
});

/** Ends a line or commands a terminal, for some reader. */
function isUnsafe(code: number): boolean {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code === 0x2028 || code === 0x2029;
}

/** Runs a script in a process of its own, with `log` writing to its standard output. */
async function run(script: string, closeReader = false) {
  const module = path.join(import.meta.dirname, 'log.ts');
  const code = `import { createLog } from ${JSON.stringify(module)};
    const log = createLog({ level: 'info', probes: true, destination: 1, standardError: process.stderr }); ${script}`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
    stdio: 'pipe',
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    if (closeReader) child.stdout.destroy();
  });
  // The script may wait for this: nobody reads any more.
  child.stdout.once('close', () => child.stdin.end());
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [exitCode]: unknown[] = await once(child, 'close');
  return { stdout, stderr, code: exitCode };
}
