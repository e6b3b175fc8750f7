import { once } from 'node:events';
import { copyFile, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  runProcess,
  startProcess,
  SVC_AGENT,
  SVC_GATEWAY,
  temporaryFolder,
  type ProcessExit,
  type TemporaryFolder,
} from '@svc/testkit';

let folder: TemporaryFolder;
let path: string;
beforeEach(async () => {
  folder = await temporaryFolder('alone');
  // Nothing on the path but Node.js and the `env` of the first line.
  path = join(folder.path, 'bin');
  await mkdir(path);
  await symlink(process.execPath, join(path, 'node'));
  await mkdir(join(folder.path, 'empty'));
});
afterEach(() => folder.remove());

async function alone(executable: string): Promise<string> {
  const copy = join(folder.path, 'empty', executable === SVC_AGENT ? 'svc-agent' : 'svc-gateway');
  await copyFile(executable, copy);
  return copy;
}

/** The code by which a connection fails; 'open' where it is made. */
function codeOfRefusal(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve('open'));
    socket.on('connect', () => socket.destroy());
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
}

type Ran = ProcessExit & { readonly stdout: string; readonly stderr: string };

function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  return runProcess(command, args, { cwd: join(folder.path, 'empty'), env: { PATH: path, ...env } });
}

test('the gateway runs alone, answers and ends cleanly', { tags: ['command:executables'] }, async () => {
  const gateway = await alone(SVC_GATEWAY);
  const created = await run(gateway, ['create-key', '--name', 'k', '--capabilities', '*', '--json']);
  const { api_key, record } = JSON.parse(created.stdout);
  const secret = JSON.parse((await run(gateway, ['create-agent-secret', '--json'])).stdout);
  const running = await startProcess(gateway, [], {
    cwd: join(folder.path, 'empty'),
    env: {
      PATH: path,
      GATEWAY_ADDR: '127.0.0.1:0',
      GATEWAY_AGENT_PUBLIC_KEY: secret.agent_public_key,
      GATEWAY_API_KEYS_JSON: JSON.stringify([record]),
    },
  });
  const { url } = JSON.parse(await running.waitForLine((line) => line.includes('"listening"')));
  expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ ok: true, agent_connected: false });
  // The key is checked in a thread that runs the same file.
  const call = await fetch(`${url}/api/v1/capabilities/x`, {
    method: 'POST',
    headers: { 'x-api-key': api_key, 'content-type': 'application/json' },
    body: '{}',
  });
  expect(call.status).toBe(503);
  expect(await running.stop()).toEqual({ code: 0, signal: null });
  expect(await readdir(join(folder.path, 'empty'))).toEqual(['svc-gateway']);
});

test(
  'the agent starts alone and finds its file next to itself, also through a link',
  { tags: ['command:executables'] },
  async () => {
    const agent = await alone(SVC_AGENT);
    expect(await run(agent, ['--version'])).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse((await run(agent, ['schema'])).stdout)).toMatchObject({ title: 'capability.yaml' });
    await symlink(agent, join(path, 'agent'));
    const { code, stderr } = await run(join(path, 'agent'), []);
    expect(code).toBe(2);
    expect(stderr).toContain(join(folder.path, 'empty', 'capability.yaml'));
    expect(await readFile(join(folder.path, 'empty', 'svc-agent.log'), 'utf8')).toContain(
      '"event":"startup_fault"',
    );
  },
);

test.each([
  [SVC_GATEWAY, ['--verison'], '--version'],
  [SVC_GATEWAY, ['create-kye'], 'create-key'],
  [SVC_AGENT, ['chekc'], 'check'],
  [SVC_AGENT, ['--confg', 'x'], '--config'],
])('wrong usage of %s %j is refused with a hint', async (executable, args, hint) => {
  const { code, stdout, stderr } = await run(executable, args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(stderr).toContain(hint);
});

test('a gateway without settings names every one that is missing', async () => {
  const { code, stdout, stderr } = await run(SVC_GATEWAY, []);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('GATEWAY_AGENT_PUBLIC_KEY');
  expect(stderr).toContain('GATEWAY_API_KEYS_JSON');
  expect(stderr).not.toContain(' at ');
});

test('a gateway whose port is taken says which setting to change', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const address = taken.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP address');
  const secret = JSON.parse((await run(SVC_GATEWAY, ['create-agent-secret', '--json'])).stdout);
  const { code, stderr } = await run(SVC_GATEWAY, [], {
    GATEWAY_ADDR: `127.0.0.1:${address.port}`,
    GATEWAY_AGENT_PUBLIC_KEY: secret.agent_public_key,
    GATEWAY_API_KEYS_JSON: '[]',
  });
  taken.close();
  expect(code).toBe(1);
  expect(stderr).toBe(
    'svc-gateway: cannot start: GATEWAY_ADDR: another process listens on this address; choose another, ' +
      'or port 0 for any free one\n',
  );
});

test(
  'a debugger that SIGUSR1 opened while Node.js itself started is closed again',
  { tags: ['shutdown:signals'] },
  async () => {
    // Runs before the gateway does, and gives Node.js the time to open it.
    const early = join(folder.path, 'early.cjs');
    await writeFile(
      early,
      `process.debugPort = 0;
    process.kill(process.pid, 'SIGUSR1');
    const { url } = require('node:inspector');
    for (const until = Date.now() + 20_000; url() === undefined && Date.now() < until; );`,
    );
    const secret = JSON.parse((await run(SVC_GATEWAY, ['create-agent-secret', '--json'])).stdout);
    const running = await startProcess(SVC_GATEWAY, [], {
      cwd: join(folder.path, 'empty'),
      env: {
        PATH: path,
        NODE_OPTIONS: `--require ${early}`,
        GATEWAY_ADDR: '127.0.0.1:0',
        GATEWAY_AGENT_PUBLIC_KEY: secret.agent_public_key,
        GATEWAY_API_KEYS_JSON: '[]',
      },
    });
    await running.waitForLine((line) => line.includes('"listening"'));
    const port = Number(/Debugger listening on ws:\/\/127\.0\.0\.1:(\d+)/.exec(running.output())?.[1]);
    // A thread of Node's own shuts it.
    await expect.poll(() => codeOfRefusal(port)).toBe('ECONNREFUSED');
    expect(await running.stop()).toEqual({ code: 0, signal: null });
  },
);

test.each([
  [SVC_GATEWAY, '--help'],
  [SVC_AGENT, 'schema'],
])('%s %s into a reader that stops early ends quietly', async (executable, argument) => {
  const { code, stderr } = await runProcess('/bin/sh', ['-c', `"${executable}" ${argument} | true`]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});
