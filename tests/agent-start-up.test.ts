import { once } from 'node:events';
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  createAgentSecret,
  freePort,
  runProcess,
  startProcess,
  SVC_AGENT,
  temporaryFolder,
  testDatabase,
  type TemporaryFolder,
  type TestDatabase,
} from '@svc/testkit';

// Connections that an agent leaves open fail the file when its database is dropped.
let database: TestDatabase;
let reader: { readonly user: string; readonly password: string };
let privateKey: string;
let folder: TemporaryFolder;
let agent: string;
beforeAll(async () => {
  database = await testDatabase({ sql: ['create table confidential_table (id int)'] });
  reader = { user: `${database.name}_reader`, password: 'reader' };
  await database.execute(`
    create role ${reader.user} login password '${reader.password}';
    revoke temporary on database ${database.name} from public;
    grant select on confidential_table to ${reader.user};
  `);
  privateKey = createAgentSecret().agent_private_key;
});
afterAll(() => database.execute(`drop owned by ${reader.user}; drop role ${reader.user}`));
beforeEach(async () => {
  folder = await temporaryFolder('start-up');
  agent = join(folder.path, 'svc-agent');
  await copyFile(SVC_AGENT, agent);
});
afterEach(() => folder.remove());

interface FileOptions {
  readonly database?: Readonly<Record<string, unknown>>;
  readonly sql?: string;
  readonly gatewayPort?: number;
}

/** JSON is YAML, too. */
async function writeCapabilityFile(options: FileOptions = {}): Promise<void> {
  const { host, port, name } = database;
  const { sql = 'select id from confidential_table', gatewayPort = 1 } = options;
  const file = {
    service: { title: 'Test', version: '1.0.0' },
    gateway: { url: `ws://127.0.0.1:${gatewayPort}/ws/agent`, agent_private_key: privateKey },
    database: { driver: 'postgres', host, port, name, ...reader, ...options.database },
    capabilities: { get: { description: 'Get', sql, result: { id: { type: 'integer' } } } },
  };
  await writeFile(join(folder.path, 'capability.yaml'), JSON.stringify(file));
}

async function logged(event: string, file: string): Promise<Record<string, unknown>[]> {
  const text = await readFile(join(folder.path, file), 'utf8');
  return text
    .split('\n')
    .slice(0, -1)
    .map((line): Record<string, unknown> => JSON.parse(line))
    .filter((record) => record['event'] === event);
}

/** The agent's own start has its log beside the program, a command where the user says. */
const START = ['svc-agent', [], 'stderr', 'svc-agent.log'] as const;
const CHECK = ['svc-agent check', ['check', '--log', 'check.log'], 'stdout', 'check.log'] as const;

const MISTAKES: readonly (readonly [string, FileOptions | (() => Promise<FileOptions>), string, RegExp])[] = [
  [
    'a wrong password',
    { database: { password: 'wrong' } },
    'database: cannot use the database: it refuses the login: check user',
    /password authentication failed/,
  ],
  [
    'a database that cannot be reached',
    async () => ({ database: { port: await freePort() } }),
    'database: cannot use the database: nothing listens there: check host and port',
    /ECONNREFUSED/,
  ],
  [
    'SQL that the parser refuses',
    { sql: 'select id frm confidential_table wher' },
    'capabilities.get.sql: ',
    /syntax error/,
  ],
  [
    'SQL that the database refuses',
    { sql: 'select id from confidential_tables' },
    'capabilities.get.sql: ',
    /"confidential_tables" does not exist/,
  ],
];

describe.each(MISTAKES)('%s', (_title, options, path, detail) => {
  test.each([
    [...START, 0],
    [...CHECK, 1],
  ] as const)(
    'is one line of %s, the detail is in the log',
    async (...[, args, stream, log, linesBefore]) => {
      await writeCapabilityFile(typeof options === 'function' ? await options() : options);
      const ran = await runProcess(agent, args, { cwd: folder.path });
      expect(ran.code).toBe(2);
      const lines = ran[stream].trimEnd().split('\n').slice(linesBefore);
      const report = stream === 'stdout' ? ['Details: check.log'] : [];
      expect(lines).toEqual([expect.stringMatching(/capability\.yaml(?::\d+:\d+)? {2}/), ...report]);
      expect(lines[0]).toContain(`  ${path}`);
      if (stream === 'stdout') expect(ran.stderr).toBe('');
      expect(ran.stdout + ran.stderr).not.toMatch(
        /confidential|select|authentication|syntax error|ECONN|    at /,
      );
      expect(await logged('startup_fault', log)).toEqual([
        expect.objectContaining({ detail: expect.stringMatching(detail) }),
      ]);
    },
  );
});

describe('an account that cannot be audited', () => {
  beforeAll(() => database.execute('revoke select on pg_catalog.pg_foreign_server from public'));
  afterAll(() => database.execute('grant select on pg_catalog.pg_foreign_server to public'));
  const detail = expect.stringMatching(/permission denied.*pg_foreign_server/);

  test('is a finding of svc-agent check', async () => {
    await writeCapabilityFile();
    const { code, stdout, stderr } = await runProcess(agent, CHECK[1], { cwd: folder.path });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trimEnd().split('\n').slice(3)).toEqual([
      expect.stringMatching(/^account: the account could not be audited; to fix it: /),
      'Details: check.log',
    ]);
    expect(stdout).not.toMatch(/permission denied|pg_foreign_server/);
    const findings = await logged('account_finding', 'check.log');
    expect(findings).toEqual([expect.objectContaining({ level: 'warn', detail })]);
  });

  test('does not keep svc-agent from starting', async () => {
    await writeCapabilityFile();
    const running = await startProcess(agent, [], { cwd: folder.path });
    await running.waitForLine((line) => line.includes('starting with 1 capability '));
    expect(await running.stop()).toEqual({ code: 0, signal: null });
    expect(running.output()).toContain('(1 finding)');
    expect(running.output()).not.toMatch(/permission denied|pg_foreign_server|internal error/);
    const findings = await logged('account_finding', 'svc-agent.log');
    expect(findings).toEqual([expect.objectContaining({ detail })]);
  });

  test.each([START, CHECK])(
    'is a fault of %s when the account is required to only read',
    async (_title, args, stream, log) => {
      await writeCapabilityFile({ database: { require_readonly_account: true } });
      const ran = await runProcess(agent, args, { cwd: folder.path });
      expect(ran.code).toBe(2);
      const lines = ran[stream].trimEnd().split('\n');
      if (stream === 'stdout') expect(lines.pop()).toBe('Details: check.log');
      expect(lines.at(-1)).toContain('could not be audited');
      expect(ran.stdout + ran.stderr).not.toMatch(/permission denied|pg_foreign_server|    at /);
      expect(await logged('account_finding', log)).toEqual([expect.objectContaining({ detail })]);
    },
  );
});

test.each([
  ['svc-agent', [], 'SIGTERM'],
  ['svc-agent', [], 'SIGKILL'],
  ['svc-agent check', ['check'], 'SIGTERM'],
] as const)('the checks of %s %j end with it on %s', async (_title, args, signal) => {
  const silent = createServer();
  const connected = new Promise<Socket>((resolve) => silent.once('connection', resolve));
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  const address = silent.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP address');
  await writeCapabilityFile({ database: { host: '127.0.0.1', port: address.port } });
  const running = await startProcess(agent, args, { cwd: folder.path });
  const socket = await connected;
  const left = once(socket.resume(), 'close');
  socket.on('error', () => {});
  process.kill(running.pid, signal);
  expect(await running.exited).toEqual({ code: null, signal });
  await left;
  silent.close();
});

test('signals that do nothing do not end the checks either', { tags: ['shutdown:signals'] }, async () => {
  const silent = createServer();
  const connected = new Promise<Socket>((resolve) => silent.once('connection', resolve));
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  const address = silent.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP address');
  await writeCapabilityFile({ database: { host: '127.0.0.1', port: address.port } });
  const running = await startProcess(agent, [], { cwd: folder.path });
  const socket = await connected;
  socket.on('error', () => {});
  // To both processes, as a terminal or a service manager sends them.
  for (const signal of ['SIGUSR1', 'SIGUSR2', 'SIGHUP']) process.kill(-running.pid, signal);
  socket.destroy();
  silent.close();
  expect(await running.exited).toEqual({ code: 2, signal: null });
  expect(running.output()).toContain('database: cannot use the database');
  expect(running.output()).not.toContain('Debugger');
});

test.each([
  [...START, '; the log file holds the details'],
  [...CHECK, '; check.log holds the details'],
  ['svc-agent lint', ['lint'], 'stderr', undefined, '; `--log FILE` appends the details to FILE'],
] as const)(
  'a fault of %s itself is one line without its words, which are in the log',
  async (...[, args, , log, end]) => {
    await writeCapabilityFile();
    const fault = join(folder.path, 'fault.cjs');
    await writeFile(fault, 'setTimeout(() => { throw new Error("words of the database"); }, 0);');
    const env = { NODE_OPTIONS: `--require ${fault}` };
    const { code, stderr } = await runProcess(agent, args, { cwd: folder.path, env });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `svc-agent: internal error, ending${end}\n`,
    });
    if (log === undefined) {
      expect(await readdir(folder.path)).not.toContain('svc-agent.log');
      return;
    }
    expect(await logged('crashed', log)).toEqual([
      expect.objectContaining({ detail: expect.stringContaining('words of the database\n    at ') }),
    ]);
  },
);

test('an account that only reads has no finding, also when it is required', async () => {
  await writeCapabilityFile({ database: { require_readonly_account: true } });
  const { code, stdout } = await runProcess(agent, ['check'], { cwd: folder.path });
  expect(code).toBe(0);
  expect(stdout.trimEnd().split('\n').slice(3)).toEqual([
    expect.stringMatching(/^note: like every account of a PostgreSQL server .*\(lo_create\)/),
  ]);
});

test('what an account may write is said on standard error without names, and named in the log', async () => {
  await database.execute(`grant insert on confidential_table to ${reader.user}`);
  try {
    await writeCapabilityFile();
    const running = await startProcess(agent, [], { cwd: folder.path });
    await running.waitForLine((line) => line.includes('starting with'));
    await running.stop();
    expect(running.output()).not.toContain('confidential');
    expect(await logged('account_finding', 'svc-agent.log')).toEqual([
      expect.objectContaining({ problem: expect.stringContaining('confidential_table') }),
    ]);
  } finally {
    await database.execute(`revoke insert on confidential_table from ${reader.user}`);
  }
});
