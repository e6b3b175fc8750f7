import { createPrivateKey, createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createKey,
  runProcess,
  smallDisk,
  SVC_GATEWAY,
  temporaryFolder,
  type ProcessExit,
  type TemporaryFolder,
} from '@svc/testkit';
import {
  CALL,
  codeOf,
  gatewayEnvironment,
  JSON_TYPE,
  recordsOf,
  startLoneGateway,
} from './lone-gateway.testing.ts';

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder('commands');
});
afterAll(() => folder.remove());

type Ran = ProcessExit & { readonly stdout: string; readonly stderr: string };

function run(...args: string[]): Promise<Ran> {
  return runProcess(SVC_GATEWAY, args);
}

async function printed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

/** Whether the public key belongs to the private one, both as they are written into the configuration. */
function belong(privateKey: string, publicKey: string): boolean {
  const seed = Buffer.from(privateKey, 'base64url');
  if (seed.length !== 32) return false;
  // PKCS #8 of an Ed25519 key is this head and the seed (RFC 8410).
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  const key = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }));
  return key.export({ format: 'jwk' }).x === publicKey;
}

describe.each(['create-agent-secret', 'create-agent'])(
  '%s',
  { tags: ['command:create-agent-secret', 'command:exit-codes'] },
  (command) => {
    test('prints both keys with the settings they belong to', async () => {
      const text = await printed(command);
      const [, privateKey = ''] = /agent_private_key: "([\w-]+)"/.exec(text) ?? [];
      const [, publicKey = ''] = /GATEWAY_AGENT_PUBLIC_KEY=([\w-]+)/.exec(text) ?? [];
      expect(belong(privateKey, publicKey)).toBe(true);
      expect(text).toContain('gateway.agent_private_key');
    });

    test('--json prints one object', async () => {
      const [one, two]: Record<string, string>[] = [
        JSON.parse(await printed(command, '--json')),
        JSON.parse(await printed(command, '--json')),
      ];
      expect(Object.keys(one ?? {})).toEqual(['agent_private_key', 'agent_public_key']);
      expect(belong(one?.['agent_private_key'] ?? '', one?.['agent_public_key'] ?? '')).toBe(true);
      expect(two).not.toEqual(one);
    });
  },
);

describe('create-key', { tags: ['command:create-key'] }, () => {
  const KEY = /svc_([A-Za-z0-9]+)_([A-Za-z0-9_-]+)/;

  test('prints the key and its record, ready for the environment', async () => {
    const text = await printed('create-key', '--name', "Ann's reports", '--capabilities', 'get, list');
    const [key = '', keyId] = KEY.exec(text) ?? [];
    const line = text.split('\n').find((candidate) => candidate.startsWith('  {'));
    const record: unknown = JSON.parse(line ?? '');
    expect(record).toEqual({
      name: "Ann's reports",
      key_id: keyId,
      key_hash: expect.stringMatching(/^\$2b\$\d\d\$[./A-Za-z0-9]{53}$/),
      capabilities: ['get', 'list'],
    });
    // The line for --env-file, as it stands, makes a gateway that takes the key.
    const [setting = ''] = /^ {2}GATEWAY_API_KEYS_JSON=.*$/m.exec(text) ?? [];
    const path = join(folder.path, 'gateway.env');
    await writeFile(path, setting);
    const { GATEWAY_API_KEYS_JSON: _none, ...env } = await gatewayEnvironment();
    const gateway = await startLoneGateway(env, { args: ['--env-file', path] });
    const headers = { ...JSON_TYPE, Authorization: `Bearer ${key}` };
    expect((await gateway.ask('POST', CALL, { headers, body: '{}' })).status).toBe(503);
    const other = '/api/v1/capabilities/other';
    expect((await gateway.ask('POST', other, { headers, body: '{}' })).status).toBe(403);
    await gateway.process.stop();
  });

  test('--json prints one object; the secret has 160 bits and the key at most 72 bytes', async () => {
    const created: { api_key: string; record: { key_id: string } } = JSON.parse(
      await printed('create-key', '--name', 'x', '--capabilities', '*', '--json'),
    );
    expect(Object.keys(created)).toEqual(['api_key', 'record']);
    expect(created.record).toEqual({
      name: 'x',
      key_id: expect.any(String),
      key_hash: expect.any(String),
      capabilities: ['*'],
    });
    const [whole, keyId, secret = ''] = KEY.exec(created.api_key) ?? [];
    expect(whole).toBe(created.api_key);
    expect(keyId).toBe(created.record.key_id);
    expect(created.api_key.length).toBeLessThanOrEqual(72);
    expect(secret).toMatch(/^[0-9a-f]+$/);
    expect(secret.length * 4).toBeGreaterThanOrEqual(160);
    const another: typeof created = JSON.parse(
      await printed('create-key', '--name', 'x', '--capabilities', '*', '--json'),
    );
    expect(another.api_key).not.toBe(created.api_key);
    expect(JSON.stringify(created.record)).not.toContain(secret);
  });
});

describe('create-key --file', { tags: ['command:create-key'] }, () => {
  const keyOf = (text: string): string => /svc_[A-Za-z0-9]+_[A-Za-z0-9_-]+/.exec(text)?.[0] ?? '';
  const addTo = (file: string, name = 'reports'): Promise<Ran> =>
    run('create-key', '--name', name, '--capabilities', 'get', '--file', file);

  async function namesIn(file: string): Promise<readonly string[]> {
    const records: readonly { name: string }[] = JSON.parse(await readFile(file, 'utf8'));
    return records.map(({ name }) => name);
  }

  async function emptyFolder(name: string): Promise<string> {
    const path = join(folder.path, name);
    await mkdir(path);
    return path;
  }

  test('makes a file that only its owner reads, and the gateway takes each added key without a restart', async () => {
    const file = join(await emptyFolder('new'), 'keys.json');
    const first = keyOf(
      await printed('create-key', '--name', 'one', '--capabilities', 'get', '--file', file),
    );
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const { GATEWAY_API_KEYS_JSON: _none, ...env } = await gatewayEnvironment();
    const gateway = await startLoneGateway({ ...env, GATEWAY_API_KEYS_FILE: file });
    const statusFor = async (key: string): Promise<number> => {
      const headers = { ...JSON_TYPE, Authorization: `Bearer ${key}` };
      return (await gateway.ask('POST', CALL, { headers, body: '{}' })).status;
    };
    expect(await statusFor(first)).toBe(503);
    const { stdout } = await addTo(file, 'two');
    await expect.poll(() => statusFor(keyOf(stdout)), { timeout: 10_000 }).toBe(503);
    expect(await statusFor(first)).toBe(503);
    await gateway.process.stop();
  });

  test('keeps the mode, the link and every byte of the records that are there', async () => {
    const place = await emptyFolder('kept');
    const [file, link] = [join(place, 'keys.json'), join(place, 'link.json')];
    await addTo(file, 'one');
    const [record = ''] = /\{.*\}/.exec(await readFile(file, 'utf8')) ?? [];
    const odd = `[\n\t${record.replace('"capabilities":', '"capabilities" :  ')}\n]  `;
    await writeFile(file, odd);
    await chmod(file, 0o640);
    await symlink('keys.json', link);
    const all = ['create-key', '--name', 'two', '--capabilities', '*', '--json'];
    const created: { record: unknown } = JSON.parse(await printed(...all, '--file', link));
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    expect(await readFile(file, 'utf8')).toBe(
      `${odd.slice(0, odd.indexOf('\n]'))},\n  ${JSON.stringify(created.record)}\n]\n`,
    );
    expect(await readdir(place)).toEqual(['keys.json', 'link.json']);
  });

  test.skipIf(process.getuid?.() !== 0)('keeps the owner', async () => {
    const file = join(await emptyFolder('owned'), 'keys.json');
    await addTo(file, 'one');
    await chown(file, 1, 2);
    await chmod(file, 0o640);
    expect(await addTo(file, 'two')).toMatchObject({ code: 0, stderr: '' });
    const { uid, gid, mode } = await stat(file);
    expect({ uid, gid, mode: mode & 0o777 }).toEqual({ uid: 1, gid: 2, mode: 0o640 });
  });

  test.skipIf(process.getuid?.() !== 0)(
    'leaves everything as it was if the disk is full, and prints no key',
    async (context) => {
      const disk = await smallDisk();
      if (typeof disk === 'string') return context.skip(disk);
      try {
        const file = join(disk.path, 'keys.json');
        const [, pid = '', path = ''] = /^\/proc\/(\d+)\/root(.*)$/.exec(file) ?? [];
        // The path of the disk as it is within its mount namespace: the command resolves it.
        const within = (name: string): ReturnType<typeof runProcess> => {
          const command = [
            SVC_GATEWAY,
            'create-key',
            '--name',
            name,
            '--capabilities',
            'get',
            '--file',
            path,
          ];
          return runProcess('nsenter', ['-m', '-t', pid, process.execPath, ...command]);
        };
        expect(await within('one')).toMatchObject({ code: 0, stderr: '' });
        const before = await readFile(file, 'utf8');
        await disk.fill(4096);
        const { code, stdout, stderr } = await within('two');
        expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
        expect(stderr).toContain('there is no space left for it');
        expect(await readFile(file, 'utf8')).toBe(before);
        expect(await readdir(disk.path)).toEqual(['filler', 'keys.json']);
      } finally {
        await disk.remove();
      }
    },
  );

  test('makes the target of a link that leads to no file', async () => {
    const place = await emptyFolder('dangling');
    await symlink('missing.json', join(place, 'link.json'));
    expect(await addTo(join(place, 'link.json'))).toMatchObject({ code: 0, stderr: '' });
    expect(await namesIn(join(place, 'missing.json'))).toEqual(['reports']);
    expect((await lstat(join(place, 'link.json'))).isSymbolicLink()).toBe(true);
  });

  test('loses no record of runs at the same time', async () => {
    const file = join(await emptyFolder('together'), 'keys.json');
    const names = Array.from({ length: 6 }, (_, index) => `caller-${index}`);
    const ran = await Promise.all(names.map((name) => addTo(file, name)));
    expect(ran.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      names.map(() => ({ code: 0, stderr: '' })),
    );
    expect((await namesIn(file)).toSorted()).toEqual(names);
  });

  describe('ends with 2, prints no key and leaves the file as it is', () => {
    const hash = `$2b$10$${'a'.repeat(53)}`;
    const records = (count: number): string =>
      JSON.stringify(Array.from({ length: count }, (_, index) => ({ name: `key-${index}`, key_hash: hash })));
    test.each([
      ['', 'is not JSON'],
      ['{"services":[]}', 'is not a JSON array'],
      ['[{"name":"one"}]', 'record 1 ("one"): key_hash is missing'],
      [`[{"name":"reports","key_hash":"${hash}"}]`, 'record 2: name "reports" is already that of record 1'],
      [records(100), 'has 101 records; accepted: at most 100'],
    ])('%#', async (text, problem) => {
      const file = join(folder.path, 'refused.json');
      await writeFile(file, text, { mode: 0o644 });
      const { code, stdout, stderr } = await addTo(file);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(`svc-gateway: --file ${file}: `);
      expect(stderr).toContain(problem);
      expect(await readFile(file, 'utf8')).toBe(text);
    });

    test('for a folder, and for a file in a folder that is not there', async () => {
      expect(await addTo(folder.path)).toMatchObject({ code: 2, stdout: '' });
      const { code, stdout, stderr } = await addTo(join(folder.path, 'none', 'keys.json'));
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain('there is no such file');
    });
  });
});

test('--help and --version', { tags: ['command:help', 'command:exit-codes'] }, async () => {
  const help = await printed('--help');
  for (const word of [
    'create-key',
    'create-agent-secret',
    '--name',
    '--capabilities',
    '--env-file',
    'GATEWAY_ADDR',
  ])
    expect(help).toContain(word);
  const one = await printed('create-key', '--help');
  for (const word of ['svc-gateway create-key', '--name', '--capabilities', '--json'])
    expect(one).toContain(word);
  expect(one).not.toContain('GATEWAY_ADDR');
  expect(await printed('help', 'create-key')).toBe(one);
  expect(await printed('--version')).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test.each([
  [['create-kye'], 'create-key'],
  [['create-key', '--nmae', 'x'], '--name'],
  [['create-agent-secret', 'surplus'], 'surplus'],
])(
  'wrong usage %j is refused with a hint',
  { tags: ['command:unknown', 'command:exit-codes', 'command:no-stack'] },
  async (args, hint) => {
    const { code, stdout, stderr } = await run(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(stderr).toContain(hint);
  },
);

test(
  'an address that is taken is a failure at run time, without a stack trace',
  { tags: ['command:exit-codes', 'command:no-stack'] },
  async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    if (address === null || typeof address === 'string') throw new Error('no TCP address');
    const env = await gatewayEnvironment([], { GATEWAY_ADDR: `127.0.0.1:${address.port}` });
    const { code, stderr } = await runProcess(SVC_GATEWAY, [], { env });
    taken.close();
    expect(code).toBe(1);
    expect(stderr).toMatch(/^svc-gateway: cannot start: GATEWAY_ADDR: [^\n]+\n$/);
  },
);

test.each<NodeJS.Signals>(['SIGTERM', 'SIGINT'])(
  'runs from its environment until %s',
  { tags: ['command:svc-gateway', 'command:exit-codes', 'log:shutting_down'] },
  async (signal) => {
    const gateway = await startLoneGateway(await gatewayEnvironment());
    expect((await gateway.ask('GET', '/healthz')).body).toBe('{"ok":true,"agent_connected":false}');
    gateway.process.signal(signal);
    expect(await gateway.process.exited).toEqual({ code: 0, signal: null });
    expect(recordsOf(gateway.process).at(-1)).toEqual({
      time: expect.any(String),
      level: 'info',
      event: 'shutting_down',
      signal,
      in_flight: 0,
    });
    expect(gateway.process.output('stderr')).toBe('');
  },
);

test(
  'a fault of the gateway itself is 500, and only the log says what it was',
  { tags: ['error:GATEWAY_INTERNAL'] },
  async () => {
    // No thread can be started, so no key can be verified.
    const fault = join(folder.path, 'fault.cjs');
    await writeFile(
      fault,
      "require('node:worker_threads').Worker = class { constructor() { throw new Error('s3cret detail'); } };",
    );
    const { api_key, record } = await createKey('any', '*');
    const gateway = await startLoneGateway(
      await gatewayEnvironment([record], { NODE_OPTIONS: `--require ${fault}` }),
    );
    const answer = await gateway.ask('POST', CALL, {
      headers: { ...JSON_TYPE, 'X-API-Key': api_key, 'X-Request-Id': 'the-failing-one' },
      body: '{}',
    });
    expect([answer.status, codeOf(answer)]).toEqual([500, 'GATEWAY_INTERNAL']);
    expect(answer.body).not.toMatch(/s3cret|verify|thread|at /);
    expect(answer.header('x-request-id')).toBe('the-failing-one');
    await gateway.process.waitForLine((line) => line.includes('"event":"request"'));
    expect(recordsOf(gateway.process)).toContainEqual(
      expect.objectContaining({ event: 'internal_error', level: 'error', request_id: 'the-failing-one' }),
    );
    // It goes on serving.
    expect((await gateway.ask('GET', '/healthz')).status).toBe(200);
    await gateway.process.stop();
  },
);
