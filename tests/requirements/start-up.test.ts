import { createPrivateKey, createPublicKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, copyFile, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createReleasers,
  gatewaySettings,
  listenOnLoopback,
  runProcess,
  serverAccount,
  startGateway,
  startPostgres,
  startProcess,
  temporaryFolder,
  testDatabase,
  type Postgres,
  type ProcessOptions,
  type TestDatabase,
} from '@svc/testkit';
import { AUTHORITY, CERTIFICATE, CERTIFICATE_KEY, OTHER_AUTHORITY } from './certificates.testing.ts';
import { startStation, type Station } from './station.testing.ts';

let database: TestDatabase;
let station: Station;
beforeAll(async () => {
  database = await testDatabase({ sql: ['create table confidential (id bigint)'] });
  station = await startStation(database);
});
afterAll(() => station.stop());

function capability(sql: string, type = 'integer') {
  return { sql, result: { id: { type } } };
}

/** A capability file whose only fault names it. */
function named(name: string): string {
  return station.file({ capabilities: { [name]: { sql: '', result: { a: { type: 'string' } } } } });
}

describe('the capability file', { tags: ['file:location'] }, () => {
  test(
    'is --config, else AGENT_CAPABILITY_FILE, else next to the real file of the agent',
    {
      tags: ['command:svc-agent'],
    },
    async () => {
      const folder = await station.folder({
        'capability.yaml': named('beside'),
        'env.yaml': named('environment'),
        'config.yaml': named('argument'),
      });
      const elsewhere = await station.folder({ 'capability.yaml': named('working_folder') });
      const link = join(elsewhere, 'linked');
      await symlink(join(folder, 'svc-agent'), link);
      const seen = async (
        args: readonly string[],
        env: Readonly<Record<string, string>>,
      ): Promise<string> => {
        const { code, stderr } = await runProcess(link, args, { cwd: elsewhere, env });
        expect(code).toBe(2);
        return /capabilities\.(\w+)\.sql: must not be empty/.exec(stderr)?.[1] ?? stderr;
      };
      const env = { AGENT_CAPABILITY_FILE: join(folder, 'env.yaml') };
      expect(await seen(['--config', join(folder, 'config.yaml')], env)).toBe('argument');
      expect(await seen([], env)).toBe('environment');
      expect(await seen([], {})).toBe('beside');
      // The log lies there too, and nothing beside the link.
      expect(await readdir(folder)).toContain('svc-agent.log');
      expect(await readdir(elsewhere)).not.toContain('svc-agent.log');
    },
  );
});

describe('the checks come in their order', { tags: ['file:start-up-order', 'file:start-up-silence'] }, () => {
  const refused = { bad_sql: capability('select id from confidentials') };

  async function start(sections: Parameters<Station['file']>[0]): Promise<{ stderr: string; log: string }> {
    const folder = await station.folder({ 'capability.yaml': station.file(sections) });
    const { code, stderr, stdout } = await runProcess(join(folder, 'svc-agent'), []);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    return { stderr, log: await readFile(join(folder, 'svc-agent.log'), 'utf8') };
  }

  test('first the file: its faults alone are told', async () => {
    const { stderr } = await start({ database: { port: 1, sslmode: 'none' }, capabilities: refused });
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringContaining('database.sslmode: must be one of'),
    ]);
  });

  test('then the database', async () => {
    const { stderr, log } = await start({ database: { port: 1 }, capabilities: refused });
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringContaining('database: cannot use the database'),
    ]);
    expect(stderr).not.toMatch(/ECONN|127\.0\.0\.1/);
    expect(log).toContain('ECONNREFUSED');
  });

  test("then each SQL, all faults at once, in words that are not the database's", async () => {
    const { stderr, log } = await start({
      capabilities: { ...refused, column: capability('select confidential_id as id from confidential') },
    });
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringContaining('capabilities.bad_sql.sql: is refused by the database'),
      expect.stringContaining('capabilities.column.sql: is refused by the database'),
    ]);
    expect(stderr).not.toMatch(/confidential|select/i);
    expect(log).toMatch(/relation \\"confidentials\\" does not exist/);
    expect(log).toMatch(/column \\"confidential_id\\" does not exist/);
  });
});

describe('TLS to the database', () => {
  let secure: Postgres;
  const releasers = createReleasers();
  beforeAll(async () => {
    const owner = await serverAccount();
    const folder = await temporaryFolder('tls', { owner });
    await releasers.add(() => folder.remove());
    const files = { cert: join(folder.path, 'cert.pem'), key: join(folder.path, 'key.pem') };
    await writeFile(files.cert, CERTIFICATE);
    await writeFile(files.key, CERTIFICATE_KEY, { mode: 0o600 });
    if (owner !== undefined) await chown(files.key, owner.uid, owner.gid);
    secure = await startPostgres({
      settings: { ssl: 'on', ssl_cert_file: files.cert, ssl_key_file: files.key },
    });
    await releasers.add(() => secure.stop());
  }, 60_000);
  afterAll(() => releasers.closeAll());

  const tags = ['file:database.sslmode', 'file:database.ssl_root_cert'];
  const files = { 'authority.pem': AUTHORITY, 'other.pem': OTHER_AUTHORITY };

  /** Whether the connection is encrypted. */
  async function encrypted(
    settings: Readonly<Record<string, unknown>>,
    host = 'localhost',
  ): Promise<unknown> {
    const { port, user, password } = secure;
    const agent = await station.agent(
      station.file({
        database: { host, port, user, password, name: 'postgres', ...settings },
        capabilities: {
          tls: {
            sql: 'select ssl as id from pg_stat_ssl where pid = pg_backend_pid()',
            result: { id: { type: 'boolean' } },
          },
        },
      }),
      { files },
    );
    const { json } = await station.call('tls');
    await agent.stop();
    return json;
  }
  const yes = { rows: [{ id: true }], count: 1 };
  const no = { rows: [{ id: false }], count: 1 };

  test.each([
    ['prefer is the default', {}, 'localhost', yes],
    ['disable', { sslmode: 'disable' }, 'localhost', no],
    ['require', { sslmode: 'require' }, '127.0.0.1', yes],
    ['require with the authority', { sslmode: 'require', ssl_root_cert: 'authority.pem' }, '127.0.0.1', yes],
    ['verify-full', { sslmode: 'verify-full', ssl_root_cert: 'authority.pem' }, 'localhost', yes],
  ])('%s', { tags }, async (_title, settings, host, expected) => {
    expect(await encrypted(settings, host)).toEqual(expected);
  });

  test.each([
    [
      'require with another authority',
      { sslmode: 'require', ssl_root_cert: 'other.pem' },
      'localhost',
      'not trusted',
    ],
    ['verify-full without the authority', { sslmode: 'verify-full' }, 'localhost', 'in ssl_root_cert'],
    [
      'verify-full with another authority',
      { sslmode: 'verify-full', ssl_root_cert: 'other.pem' },
      'localhost',
      'not trusted',
    ],
    [
      'verify-full of another name',
      { sslmode: 'verify-full', ssl_root_cert: 'authority.pem' },
      '127.0.0.1',
      'cannot be connected to',
    ],
  ])('%s is refused by the checks', { tags }, async (_title, settings, host, why) => {
    const { port, user, password } = secure;
    const database = { host, port, user, password, name: 'postgres', ...settings };
    const checked = await station.check({ database }, { offline: false, files });
    expect(checked).toEqual({
      code: 2,
      text: expect.stringMatching(`database: cannot use the database: .*${why}`),
    });
  });

  test.each([
    ['prefer', 0],
    ['disable', 0],
    ['require', 2],
    ['verify-full', 2],
  ])('%s with a server that has none: %i', { tags }, async (sslmode, code) => {
    const checked = await station.check({ database: { sslmode } }, { offline: false });
    expect(checked).toMatchObject({ code });
  });
});

const linkTags = ['file:gateway.ca_file', 'file:gateway.proxy', 'file:gateway.proxy_ca_file'];
test('gateway and proxy are checked with the authorities of the file', { tags: linkTags }, async () => {
  const folder = await station.folder({
    'cert.pem': CERTIFICATE,
    'key.pem': CERTIFICATE_KEY,
    'authority.pem': AUTHORITY,
    'other.pem': OTHER_AUTHORITY,
  });
  const tls = { GATEWAY_TLS_CERT_FILE: 'cert.pem', GATEWAY_TLS_KEY_FILE: 'key.pem' };
  const { process: gateway, port } = await startGateway(
    { ...gatewaySettings(publicKey(), []), ...tls },
    { cwd: folder },
  );
  const url = `wss://localhost:${port}/ws/agent`;
  const tunnels: (string | undefined)[] = [];
  const proxyServer = createServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY });
  proxyServer.on('connect', (request: IncomingMessage, client: Duplex) => {
    tunnels.push(request.url);
    const upstream = connect(port, '127.0.0.1', () => client.write('HTTP/1.1 200 OK\r\n\r\n'));
    upstream.pipe(client).pipe(upstream);
    for (const socket of [client, upstream]) socket.on('error', () => socket.destroy());
  });
  const proxy = `https://localhost:${await listenOnLoopback(proxyServer)}`;
  const ca_file = 'authority.pem';
  try {
    for (const [ca, expected] of [
      [{ ca_file }, /^svc-agent: connected to wss:/],
      [{ ca_file, proxy, proxy_ca_file: ca_file }, /^svc-agent: connected to wss:/],
      [
        { ca_file, proxy, proxy_ca_file: 'other.pem' },
        /^svc-agent: not connected to wss:.*the proxy localhost:\d+ opened no tunnel: .* in gateway\.proxy_ca_file/,
      ],
      [{ ca_file: 'other.pem' }, /^svc-agent: not connected to wss:.*no authority in gateway\.ca_file/],
      [{}, /^svc-agent: not connected to wss:.*not trusted: .* in gateway\.ca_file/],
    ] as const) {
      await writeFile(join(folder, 'capability.yaml'), station.file({ gateway: { url, ...ca } }));
      const agent = await startProcess(join(folder, 'svc-agent'), [], { cwd: folder });
      await agent.waitForLine((text) => expected.test(text));
      expect(await agent.stop()).toEqual({ code: 0, signal: null });
    }
    expect(tunnels).toEqual([`localhost:${port}`]);
  } finally {
    proxyServer.close();
    await gateway.stop();
  }

  function publicKey(): string {
    const seed = Buffer.from(station.agentPrivateKey, 'base64url');
    const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
    const key = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }));
    return key.export({ format: 'jwk' }).x ?? '';
  }
});

describe(
  'an account that can write',
  { tags: ['file:database.require_readonly_account', 'sql:audit'] },
  () => {
    test('is a finding with the statement that fixes it, or a failure where a reader is required', async () => {
      const writer = `${database.name}_writer`;
      await database.execute(`
      create role ${writer} login password 'w';
      grant select, insert on confidential to ${writer};`);
      try {
        const account = { user: writer, password: 'w' };
        const ran = async (settings: object) => {
          const folder = await station.folder({
            'capability.yaml': station.file({ database: { ...account, ...settings } }),
          });
          const { code, stdout } = await runProcess(join(folder, 'svc-agent'), ['check']);
          return { code, stdout };
        };
        const fix = `REVOKE INSERT ON TABLE public.confidential FROM ${writer}`;
        for (const settings of [{}, { require_readonly_account: false }]) {
          expect(await ran(settings)).toEqual({ code: 0, stdout: expect.stringContaining(fix) });
        }
        const required = await ran({ require_readonly_account: true });
        expect(required).toEqual({
          code: 2,
          stdout: expect.stringMatching(
            /^\S+\/capability\.yaml:\d+:\d+ {2}database\.require_readonly_account: is true, but/m,
          ),
        });
        await database.execute(`
        revoke insert on confidential from ${writer};
        revoke temporary on database ${database.name} from public;`);
        expect((await ran({ require_readonly_account: true })).code).toBe(0);
      } finally {
        await database.execute(`drop owned by ${writer}; drop role ${writer}`);
      }
    });
  },
);

describe('the log file', () => {
  test(
    'has a record for each call, without parameters; standard error is short',
    {
      tags: ['log:agent-file', 'log:canary'],
    },
    async () => {
      const capabilities = {
        find: {
          sql: 'select 10 / :canary_divisor::bigint as id',
          params: { canary_divisor: { type: 'integer', required: true } },
          result: { id: { type: 'integer' } },
        },
      };
      const agent = await station.agent(station.file({ capabilities }));
      const answers = [
        await station.call('find', { canary_divisor: 5 }),
        await station.call('find', { canary_divisor: 'canary_value' }),
        await station.call('find', { canary_divisor: 0 }),
      ];
      await agent.stop();
      const log = await readFile(join(agent.folder, 'svc-agent.log'), 'utf8');
      const records: Record<string, unknown>[] = log
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      for (const record of records) expect(record).toMatchObject({ time, level: expect.any(String) });
      const calls = records.filter(({ event }) => event === 'call');
      expect(calls).toEqual(
        ['OK', 'AGENT_INVALID_PARAMS', 'AGENT_QUERY_FAILED'].map((outcome, index) =>
          expect.objectContaining({
            level: 'info',
            capability: 'find',
            api_key_name: 'all',
            outcome,
            request_id: answers[index]?.headers.get('x-request-id'),
            duration_ms: expect.any(Number),
          }),
        ),
      );
      expect(calls[2]).toMatchObject({ detail: expect.stringContaining('22012') });
      expect(records.map(({ event }) => event)).toEqual(
        expect.arrayContaining(['starting', 'connected', 'shutting_down']),
      );
      expect(log).not.toMatch(/canary_value|10 \/|"canary_divisor"/);
      expect(agent.process.output('stdout')).toBe('');
      const lines = agent.process.output('stderr').trimEnd().split('\n');
      expect(lines.every((line) => line.startsWith('svc-agent: ') && line.length < 300)).toBe(true);
      expect(lines.join('\n')).not.toMatch(/canary|22012|division|10 \//);
    },
  );

  test.each([
    ['logging.max_size and max_files', { max_size: '2KB', max_files: 3 }, 3, 2048],
    ['one file', { max_size: '2KB', max_files: 1 }, 1, 2048],
    ['5 files by default', { max_size: '1KB' }, 5, 1024],
  ])(
    'is rotated: %s',
    { tags: ['log:rotation', 'file:logging.max_size', 'file:logging.max_files'] },
    async (_title, logging, files, bytes) => {
      const agent = await station.agent(station.file({ logging }));
      for (let round = 0; round < 8; round++) {
        await Promise.all(Array.from({ length: 8 }, () => station.call('one')));
        await new Promise((resolve) => setTimeout(resolve, 110));
      }
      await agent.stop();
      const names = (await readdir(agent.folder))
        .filter((name) => name.startsWith('svc-agent.log'))
        .toSorted();
      expect(names).toEqual(
        Array.from({ length: files }, (_, index) => `svc-agent.log${index === 0 ? '' : `.${index}`}`),
      );
      const sizes = await Promise.all(
        names.map(async (name) => (await readFile(join(agent.folder, name))).length),
      );
      for (const size of sizes) expect(size).toBeLessThan(bytes + 400);
    },
  );

  describe('on standard output', { tags: ['file:logging.output'] }, () => {
    const EVENTS = ['starting', 'connected', 'call', 'shutting_down'];

    /** What it writes while it answers one call, and whether there is a log file then. */
    async function ran(
      folder: string,
      [program = './svc-agent', ...args]: readonly string[] = [],
      options: ProcessOptions = {},
    ): Promise<{ stdout: string; stderr: string; hasFile: boolean }> {
      const agent = await startProcess(program, args, { cwd: folder, ...options });
      try {
        await expect.poll(async () => (await station.call('one')).status).toBe(200);
        await agent.waitForLine((line) => line.includes('request_id'));
      } finally {
        const onTerminal = /^pid (\d+)/.exec(agent.output('stdout'))?.[1];
        if (onTerminal !== undefined) process.kill(Number(onTerminal));
        await (onTerminal === undefined ? agent.stop() : agent.exited);
      }
      const hasFile = (await readdir(folder)).includes('svc-agent.log');
      return { stdout: agent.output('stdout'), stderr: agent.output('stderr'), hasFile };
    }

    const onStandardOutput = (): Promise<string> =>
      station.folder({ 'capability.yaml': station.file({ logging: { output: 'stdout' } }) });

    function eventsOf(stdout: string): readonly unknown[] {
      return stdout
        .trimEnd()
        .split('\n')
        .map((line): unknown => JSON.parse(line).event)
        .filter((event) => event !== 'account_finding' && event !== 'account_audited');
    }

    test('logging.output: stdout writes the records there, and no file', async () => {
      const { stdout, stderr, hasFile } = await ran(await onStandardOutput());
      expect({ events: eventsOf(stdout), hasFile }).toEqual({ events: EVENTS, hasFile: false });
      expect(stderr).toMatch(/^svc-agent: connected to /m);
      expect(stderr).not.toContain('cannot write');
    });

    test('a folder that cannot be written costs one warning, and no record', async () => {
      const owner = await serverAccount();
      const home = await temporaryFolder('read-only', { owner });
      await copyFile(join(await station.folder(), 'svc-agent'), join(home.path, 'svc-agent'));
      await writeFile(join(home.path, 'capability.yaml'), station.file({}));
      await chmod(home.path, 0o555);
      const account = owner === undefined ? {} : { uid: owner.uid, gid: owner.gid };
      const check = (as: typeof account): ReturnType<typeof runProcess> =>
        runProcess(join(home.path, 'svc-agent'), ['check'], { cwd: home.path, ...as });
      const { stdout, stderr, hasFile } = await ran(home.path, [], account);
      const checked = await check(account);
      await writeFile(join(home.path, 'capability.yaml'), station.file({ database: { port: 1 } }));
      const refused = await check(account);
      await chmod(home.path, 0o755);
      await home.remove();
      expect({ events: eventsOf(stdout), hasFile }).toEqual({ events: EVENTS, hasFile: false });
      const warnings = stderr.split('\n').filter((line) => line.includes('cannot write'));
      expect(warnings).toEqual([
        expect.stringMatching(/permission denied\): the log goes to standard output/),
      ]);
      // A command writes no log beside the program.
      expect(checked).toMatchObject({ code: 0, stderr: '' });
      expect(refused.code).toBe(2);
      expect(refused.stdout).toMatch(/^Details: .*--log FILE/m);
      expect(refused.stderr).toBe('');
    });

    test.skipIf(!existsSync('/usr/bin/script'))('on a terminal it has lines for people', async () => {
      const onTerminal = ['script', '-qfec', 'echo pid $$; exec ./svc-agent', '/dev/null'];
      const { stdout } = await ran(await onStandardOutput(), onTerminal, { env: { NO_COLOR: '1' } });
      const lines = stdout.trimEnd().split(/\r?\n/).slice(1);
      const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/;
      expect(lines.filter((line) => !time.test(line))).toEqual([]);
      expect(lines).toContainEqual(expect.stringMatching(/Z info {2}connected gateway=ws:\S+ conn_id=/));
      expect(lines).toContainEqual(expect.stringMatching(/Z info {2}call request_id=.* capability=one /));
    });
  });

  test('is not rotated before 10MB by default', { tags: ['file:logging.max_size'] }, async () => {
    const folder = await station.folder();
    await copyFile(join(folder, 'svc-agent'), join(folder, 'agent'));
    const { stdout } = await runProcess(join(folder, 'svc-agent'), ['schema']);
    expect(JSON.parse(stdout)).toMatchObject({
      properties: { logging: { properties: { max_size: { default: '10MB' }, max_files: { default: 5 } } } },
    });
    const sizes = [10 * 1024 * 1024 - 20_000, 10 * 1024 * 1024];
    for (const [index, size] of sizes.entries()) {
      const home = join(folder, String(index));
      await mkdir(home);
      await writeFile(join(home, 'svc-agent.log'), `${'x'.repeat(size - 1)}\n`);
      await copyFile(join(folder, 'svc-agent'), join(home, 'svc-agent'));
      await runProcess(join(home, 'svc-agent'), []);
      const names = (await readdir(home)).filter((name) => name.startsWith('svc-agent.log'));
      expect(names).toHaveLength(index + 1);
    }
  });
});
