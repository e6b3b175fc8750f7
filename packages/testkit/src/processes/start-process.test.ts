import { once } from 'node:events';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runProcess, startProcess, type RunningProcess } from './start-process.ts';

async function node(program: string): Promise<RunningProcess> {
  return await startProcess(process.execPath, ['-e', program]);
}

describe('waitForLine', () => {
  test('finds lines already written and lines to come, of either stream', async () => {
    const child = await node(`
      process.on('SIGUSR2', () => { console.log('three'); process.exitCode = 3; clearInterval(life); });
      console.log('one'); console.error('two');
      const life = setInterval(() => {}, 1000);`);
    await child.waitForLine((line, stream) => line === 'two' && stream === 'stderr');
    expect(await child.waitForLine((line) => line === 'one')).toBe('one');
    const third = child.waitForLine((line) => line.startsWith('th'));
    child.signal('SIGUSR2');
    expect(await third).toBe('three');
    expect(await child.exited).toEqual({ code: 3, signal: null });
  });

  test('takes text without a line end for a line when the process ends', async () => {
    const child = await node(`process.stdout.write('a\\r\\nlast')`);
    expect(await child.waitForLine((line) => line === 'last')).toBe('last');
    expect(child.output('stdout').split('\n').slice(0, 2)).toEqual(['a', 'last']);
  });

  test('keeps characters whole that arrive in pieces', async () => {
    const child = await node(`
      const bytes = Buffer.from('äö€\\n');
      process.stdout.write(bytes.subarray(0, 1), () => setTimeout(() => process.stdout.write(bytes.subarray(1)), 30));`);
    expect(await child.waitForLine(() => true)).toBe('äö€');
  });

  test('fails with the end of the output when the process ends first', async () => {
    const child = await node(`console.error('out of luck')`);
    await expect(child.waitForLine((line) => line === 'never')).rejects.toThrow(/it ended.*\nout of luck/s);
  });

  test('fails when the time is up', async () => {
    const child = await node(`setInterval(() => {}, 1000)`);
    await expect(child.waitForLine(() => true, 50)).rejects.toThrow('none came within 50 ms');
    await child.stop();
  });
});

describe('stop', () => {
  test('lets the process finish', async () => {
    const child = await node(`
      process.on('SIGTERM', () => { console.log('bye'); process.exit(0); });
      console.log('ready'); setInterval(() => {}, 1000);`);
    await child.waitForLine((line) => line === 'ready');
    expect(await child.stop()).toEqual({ code: 0, signal: null });
    expect(child.output()).toBe('ready\nbye\n');
    expect(await child.stop()).toEqual({ code: 0, signal: null });
  });

  test('uses force on a process that will not, and on its children', async () => {
    const line = await openLine();
    const child = await node(`
      process.on('SIGTERM', () => {});
      require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(line.program)}]);
      setInterval(() => {}, 1000);`);
    const { gone } = await line.opened();
    expect(await child.stop(100)).toEqual({ code: null, signal: 'SIGKILL' });
    await expect(gone).resolves.toBe('gone');
  });
});

test('only what is given and a few basics are in the environment', async () => {
  process.env['GATEWAY_ADDR'] = 'must not be seen';
  const { stdout } = await runProcess(process.execPath, ['-p', 'JSON.stringify(process.env)'], {
    env: { GIVEN: 'yes' },
  });
  delete process.env['GATEWAY_ADDR'];
  const environment: Record<string, string> = JSON.parse(stdout);
  expect(environment['GIVEN']).toBe('yes');
  expect(environment['PATH']).toBe(process.env['PATH']);
  expect(environment).not.toHaveProperty('GATEWAY_ADDR');
});

test('what cannot be started is named', async () => {
  await expect(startProcess('/nowhere/svc', [])).rejects.toThrow(/^cannot start \/nowhere\/svc: .*ENOENT/);
});

describe('runProcess', () => {
  test('separates the streams', async () => {
    const result = await runProcess(process.execPath, [
      '-e',
      `console.log('out'); console.error('err'); process.exitCode = 2`,
    ]);
    expect(result).toEqual({ code: 2, signal: null, stdout: 'out\n', stderr: 'err\n' });
  });

  test('ends what takes too long', async () => {
    await expect(runProcess('sleep', ['60'], { withinMs: 50 })).rejects.toThrow('still running after 50 ms');
  });
});

test('a process does not outlive the one that started it', async () => {
  const line = await openLine();
  const module = new URL('start-process.ts', import.meta.url).href;
  const owner = await startProcess(process.execPath, [
    '--import',
    'tsx',
    '--input-type=module',
    '-e',
    `const { startProcess } = await import(${JSON.stringify(module)});
     await startProcess(process.execPath, ['-e', ${JSON.stringify(line.program)}]);
     setInterval(() => {}, 1000);`,
  ]);
  const { gone } = await line.opened();
  owner.signal('SIGKILL');
  await expect(gone).resolves.toBe('gone');
});

/** A program that lives until it is killed, and a line to it that tells when that has happened. */
async function openLine(): Promise<{ program: string; opened(): Promise<{ gone: Promise<unknown> }> }> {
  const server = createServer();
  const connection = once(server, 'connection');
  server.listen({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no address');
  return {
    program: `require('net').connect(${address.port}, '127.0.0.1')`,
    opened: async () => {
      const [socket]: Socket[] = await connection;
      server.close();
      socket?.on('error', () => {}).resume();
      return { gone: new Promise((resolve) => socket?.once('close', () => resolve('gone'))) };
    },
  };
}

/** Ports on which this process listens for connections by IPv4. */
async function listensOn(pid: number): Promise<readonly string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder);
  const files = new Set(await Promise.all(names.map((name) => readlink(join(folder, name)).catch(() => ''))));
  const sockets = (await readFile('/proc/net/tcp', 'utf8'))
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  return sockets.flatMap(([, address = '', , state, , , , , , inode]) =>
    state === '0A' && files.has(`socket:[${inode}]`) ? [address] : [],
  );
}

test('SIGUSR1 opens no debugger in the process that cleans up', async () => {
  const child = await startProcess(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  const { stdout } = await runProcess('pgrep', ['-P', String(process.pid), '-f', 'watchdog-main']);
  const pid = Number(stdout.trim());
  process.kill(pid, 'SIGUSR1');
  // A debugger would be open by then.
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(await listensOn(pid)).toEqual([]);
  await child.stop();
});
