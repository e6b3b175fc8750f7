import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test, type TestContext } from 'vitest';
import {
  freePort,
  isPortFree,
  runProcess,
  startProcess,
  temporaryFolder,
  type RunningProcess,
} from '../../packages/testkit/src/index.ts';
import { stopRequest } from '../../examples/start-stop-request.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const deadlineMs = 120_000;

/** What `npm start` runs once everything is installed and built; `folder` is its folder for temporary files. */
async function start(folder: string, ...args: string[]): Promise<RunningProcess> {
  const program = `import('./examples/start.ts').then(async ({ start }) => {
    process.exitCode = await start(${JSON.stringify(args)});
  })`;
  const env = { TMPDIR: folder, TSX_DISABLE_CACHE: '1' };
  return await startProcess(process.execPath, ['--import', 'tsx', '-e', program], { cwd: root, env });
}

async function ownFolder({ onTestFinished }: TestContext): Promise<string> {
  const folder = await temporaryFolder('start-test');
  onTestFinished(() => folder.remove());
  return folder.path;
}

interface Summary {
  readonly url: string;
  readonly api_key: string;
  readonly agent_pid: number;
  readonly gateway_pid: number;
}

async function summary(demo: RunningProcess): Promise<Summary> {
  return JSON.parse(
    await demo.waitForLine((line, stream) => stream === 'stdout' && line.startsWith('{'), deadlineMs),
  );
}

test('npm start -- --help builds nothing', async () => {
  const { code, stdout, stderr } = await runProcess(process.execPath, ['scripts/start.mjs', '--help'], {
    cwd: root,
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^Usage: npm start -- /);
});

test.each(['SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGHUP'] as const)('npm start stops on %s', async (signal) => {
  const stop = stopRequest();
  process.kill(process.pid, signal);
  expect(await stop.requested).toBe(signal);
  stop.close();
});

// Each takes its steps one after the other and leaves processors idle, so they run side by side.
describe.concurrent('npm start', { timeout: 2 * deadlineMs }, () => {
  test('serves calls, and leaves nothing when it is stopped', async (context) => {
    const folder = await ownFolder(context);
    const demo = await start(folder, '--port', String(await freePort()));
    const shown = await demo.waitForLine((line) => line.startsWith('  Console  '), deadlineMs);
    const [page = '', token] = shown.trim().split(/\s+/)[1]?.split('#token=') ?? [];
    const console = await fetch(`${page}data/agents`, { headers: { authorization: `Bearer ${token}` } });
    expect(await console.json()).toMatchObject({ agents: [expect.anything()] });
    const curl = await demo.waitForLine((line) => line.startsWith('curl'), deadlineMs);
    await demo.waitForLine((line) => line.startsWith('Press Ctrl-C'));
    const [, url = '', key = '', body = ''] =
      /^curl -sS (\S+) -H 'Authorization: (\S+ \S+)' .*-d '(.*)'$/.exec(curl) ?? [];
    const headers = { authorization: key, 'content-type': 'application/json' };
    const answer = await fetch(url, { method: 'POST', headers, body });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ count: expect.any(Number), rows: [expect.anything()] });

    demo.signal('SIGINT');
    expect(await demo.exited).toEqual({ code: 0, signal: null });
    expect(demo.output('stderr')).toContain('Stopped; nothing is left');
    expect(await isPortFree(Number(new URL(url).port))).toBe(true);
    expect(await readdir(folder)).toEqual([]);
  });

  test.for(['agent', 'gateway'] as const)('ends with the reason when the %s ends', async (part, context) => {
    const folder = await ownFolder(context);
    const demo = await start(folder, '--json', '--port', String(await freePort()));
    const parts = await summary(demo);
    process.kill(part === 'agent' ? parts.agent_pid : parts.gateway_pid, 'SIGKILL');
    expect(await demo.exited).toEqual({ code: 1, signal: null });
    expect(demo.output('stderr')).toContain(`(svc-${part}) has ended unexpectedly with SIGKILL`);
    expect(await readdir(folder)).toEqual([]);
  });

  test('can be stopped before it is up', async (context) => {
    const folder = await ownFolder(context);
    const demo = await start(folder, '--port', String(await freePort()));
    await demo.waitForLine((line) => line.includes('PostgreSQL runs on'), deadlineMs);
    demo.signal('SIGTERM');
    expect(await demo.exited).toEqual({ code: 0, signal: null });
    expect(demo.output('stdout')).toBe('');
    expect(await readdir(folder)).toEqual([]);
  });

  test('refuses what it does not know', async (context) => {
    const folder = await ownFolder(context);
    const demo = await start(folder, '--prot', '8080');
    expect(await demo.exited).toEqual({ code: 2, signal: null });
    expect(demo.output('stderr')).toMatch(/^cannot start: Unknown option '--prot'[^]*Usage: npm start/);
  });
});
