import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runProcess, testDatabase, type TestDatabase } from '@svc/testkit';
import { startStation, type Station } from './station.testing.ts';

let database: TestDatabase;
let station: Station;
let folder: string;

const WRONG_SQL = [
  ['syntax', 'select 1 as\nid fro book', 'is not valid SQL in its line 2'],
  ['erases', 'delete from book', 'must be one SELECT'],
  ['two', 'select 1 as id; select 2 as id', 'must be one SELECT'],
  ['copies', 'select 1 as id into copy', 'remove INTO'],
  ['locks', 'select id from book for update', 'remove FOR UPDATE'],
  ['undeclared', 'select :id as id', 'uses :id, which is not declared'],
  ['numbered', 'select $1 as id', 'uses $1: write parameters as :name'],
  ['reads_files', "select pg_read_file('/etc/passwd') as id", 'calls pg_read_file'],
  ['unused', 'select 1 as id', 'is not used: write :spare in the SQL or remove it'],
] as const;
const WRONG_CAPABILITIES = Object.fromEntries(
  WRONG_SQL.map(([name, sql]) => {
    const params = name === 'unused' ? { spare: { type: 'integer' } } : {};
    return [name, { sql, params, result: { id: { type: 'integer' } } }];
  }),
);
const OFFLINE = 'offline: tables, columns, types and functions are checked with the database only';

beforeAll(async () => {
  database = await testDatabase();
  station = await startStation(database);
  folder = await station.folder({
    'good.yaml': station.file(),
    'no-database.yaml': station.file({ database: { port: 1 } }),
    'wrong-sql.yaml': station.file({ capabilities: WRONG_CAPABILITIES }),
    'two.yaml': station.file({
      capabilities: {
        a: { description: 'A.', sql: 'select id from nowhere', result: { id: { type: 'integer' } } },
        b: { description: 'B.', sql: 'select 1 as id', result: { id: { type: 'integer' } } },
      },
    }),
    'warned.yaml': station.file({
      capabilities: {
        page: {
          description: 'A page.',
          sql: 'select 1 as id limit :size offset :start',
          params: { size: { type: 'integer', minimum: 1 }, start: { type: 'integer' } },
          result: { id: { type: 'integer' } },
        },
      },
    }),
    'strict.yaml': station.file({ database: { require_readonly_account: true } }),
    'bad.yaml': station.file({ service: { titel: 'x' }, database: { port: 0 } }),
  });
});
afterAll(() => station.stop());

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Told {
  readonly path: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

interface JsonReport {
  readonly capabilities?: number;
  readonly faults: readonly Told[];
  readonly warnings: readonly Told[];
  readonly details?: string;
  readonly account: readonly { readonly problem: string; readonly remedy: string }[];
}

function lineOf(file: string, { path, message, line, column }: Told, kind = ''): string {
  const place = line === undefined ? file : `${file}:${line}:${column}`;
  return `${place}  ${kind}${path === '' ? '' : `${path}: `}${message}`;
}

async function agent(...args: readonly string[]): Promise<Ran> {
  const { code, stdout, stderr } = await runProcess(join(folder, 'svc-agent'), args, { cwd: folder });
  return { code, stdout, stderr };
}

test(
  '--help tells of every command, flag and exit code',
  { tags: ['command:help', 'command:exit-codes'] },
  async () => {
    const help = await agent('--help');
    expect(help).toMatchObject({ code: 0, stderr: '' });
    for (const word of [
      'check',
      'schema',
      '--config',
      '--offline',
      '--json',
      '--version',
      'AGENT_CAPABILITY_FILE',
      'svc-agent.log',
    ]) {
      expect(help.stdout).toContain(word);
    }
    expect(await agent('-h')).toEqual(help);
    const check = await agent('check', '--help');
    expect(check).toMatchObject({ code: 0, stderr: '' });
    for (const word of ['svc-agent check', '--config', '--offline', '--json'])
      expect(check.stdout).toContain(word);
    expect(check.stdout).not.toContain('schema');
    expect(await agent('help', 'check')).toEqual(check);
  },
);

test('--version is that of the package', { tags: ['command:help', 'command:exit-codes'] }, async () => {
  const path = join(import.meta.dirname, '../../package.json');
  const { version }: { version: string } = JSON.parse(await readFile(path, 'utf8'));
  expect(await agent('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});

test.each([
  [['chekc'], 'unknown command "chekc": did you mean `check`?'],
  [['check', '--ofline'], 'unknown flag "--ofline": did you mean `--offline`?'],
  [['check', 'capability.yaml'], 'unexpected argument "capability.yaml": name a file with `--config`'],
] as const)(
  '%j is refused with a hint',
  { tags: ['command:unknown', 'command:exit-codes', 'command:no-stack'] },
  async (args, hint) => {
    expect(await agent(...args)).toEqual({ code: 2, stdout: '', stderr: `svc-agent: ${hint}\n` });
  },
);

describe('check', { tags: ['command:check', 'command:exit-codes'] }, () => {
  test('reports on the file and on the database, and ends', async () => {
    const { code, stdout, stderr } = await agent('check', '--config', 'good.yaml');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.split('\n');
    expect(lines[0]).toBe('good.yaml: well formed, 1 capability');
    expect(lines[1]).toBe('database: answers; every capability only reads and yields what it declares');
    expect(lines.slice(2).join('\n')).toMatch(
      /^account: .*; to fix it: use another account: CREATE ROLE .*$/m,
    );
  });

  test.each(['/dev/stdin', '/dev/fd/5'])('reads the file from %s, as secrets are piped in', async (file) => {
    const piped = `cat good.yaml | { exec 5<&0; ./svc-agent check --offline --config ${file}; }`;
    const { code, stdout } = await runProcess('/bin/sh', ['-c', piped], { cwd: folder });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${file}: well formed, 1 capability\n${OFFLINE}\n` });
  });

  test('--offline asks no database', async () => {
    const { code, stdout } = await agent('check', '--offline', '--config', 'no-database.yaml');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `no-database.yaml: well formed, 1 capability\n${OFFLINE}\n`,
    });
    const online = await agent('check', '--config', 'no-database.yaml');
    expect(online.code).toBe(2);
    expect(online.stdout).toContain(
      'no-database.yaml  database: cannot use the database: nothing listens there',
    );
  });

  test(
    '--offline tells all faults of the SQL that show without a database, as the whole check does',
    { tags: ['file:lint', 'command:no-stack'] },
    async () => {
      const log = ['--log', 'wrong-sql.log'];
      const { code, stdout, stderr } = await agent(
        'check',
        '--offline',
        '--config',
        'wrong-sql.yaml',
        ...log,
      );
      expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
      const [first, note, ...lines] = stdout.trimEnd().split('\n');
      const details = lines.pop();
      expect([first, note]).toEqual([
        `wrong-sql.yaml: well formed, ${WRONG_SQL.length} capabilities`,
        OFFLINE,
      ]);
      expect(details).toBe('Details: wrong-sql.log');
      expect(lines).toHaveLength(WRONG_SQL.length);
      const file = (await readFile(join(folder, 'wrong-sql.yaml'), 'utf8')).split('\n');
      for (const [index, [name, , message]] of WRONG_SQL.entries()) {
        const [key, path] = name === 'unused' ? ['spare', 'params.spare'] : ['sql', 'sql'];
        const start = file.findIndex((text) => text.includes(`"${name}": {`));
        const line = file.findIndex((text, at) => at > start && text.includes(`"${key}": `));
        const column = (file[line]?.indexOf(`"${key}"`) ?? 0) + 1;
        const place = `wrong-sql.yaml:${line + 1}:${column}  capabilities.${name}.${path}: `;
        expect(lines[index]?.startsWith(place), `${lines[index]} begins with ${place}`).toBe(true);
        expect(lines[index]).toContain(message);
      }
      const online = await agent('check', '--config', 'wrong-sql.yaml', ...log);
      expect(online).toEqual({ code: 2, stdout: stdout.replace(`${OFFLINE}\n`, ''), stderr: '' });
    },
  );

  test('--details changes nothing: a terminal is shown the words of the database', async () => {
    const args = ['check', '--config', 'two.yaml'];
    expect(await agent(...args, '--details')).toEqual(await agent(...args));
  });

  test('what a comment has swallowed is the first fault of its capability', async () => {
    const text = `gateway: { url: ws://localhost:1/ws/agent, agent_private_key: ${station.agentPrivateKey} }
database: { host: localhost, name: none, user: none, password: none }
capabilities:
  a:
    sql: >
      select id -- the number
      from book where id = :id
    params: { id: { type: integer } }
    result: { id: { type: integer } }
`;
    await writeFile(join(folder, 'swallowed.yaml'), text);
    const { code, stdout } = await agent('check', '--offline', '--config', 'swallowed.yaml');
    expect({ code, stdout }).toMatchObject({ code: 2 });
    const [, , ...lines] = stdout.trimEnd().split('\n');
    expect(lines).toEqual([
      expect.stringMatching(/^swallowed.yaml:6:17 {2}capabilities.a.sql: this comment swallows what follows/),
      expect.stringMatching(/ {2}capabilities.a.params.id: is not used: :id in a comment/),
    ]);
  });

  test('--offline leaves to the database what only that knows', async () => {
    expect(await agent('check', '--offline', '--config', 'two.yaml')).toEqual({
      code: 0,
      stdout: `two.yaml: well formed, 2 capabilities\n${OFFLINE}\n`,
      stderr: '',
    });
    const online = await agent('check', '--config', 'two.yaml');
    expect(online.code).toBe(2);
    expect(online.stdout).toContain('capabilities.a.sql: is refused by the database (a table or view');
  });

  test(
    'tells all faults with line and column, in the report',
    { tags: ['file:lint', 'command:no-stack'] },
    async () => {
      const { code, stdout, stderr } = await agent('check', '--offline', '--config', 'bad.yaml');
      expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
      const file = (await readFile(join(folder, 'bad.yaml'), 'utf8')).split('\n');
      const place = (word: string, part: string): string => {
        const line = file.findIndex((text) => text.includes(word));
        return `bad.yaml:${line + 1}:${(file[line]?.indexOf(part) ?? 0) + 1}  `;
      };
      expect(stdout.trimEnd().split('\n').toSorted()).toEqual(
        [
          `${place('"titel"', '"titel"')}service.titel: unknown key, did you mean \`title\`?`,
          `${place('"port"', '0')}database.port: must be >= 1`,
        ].toSorted(),
      );
    },
  );

  test.each([[], ['--offline']])(
    'warns of what will fail at some calls, and ends with 0: %j',
    { tags: ['command:check.warnings'] },
    async (...flags) => {
      const { code, stdout, stderr } = await agent('check', '--config', 'warned.yaml', ...flags);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout.split('\n').filter((line) => line.includes('warning'))).toEqual([
        expect.stringMatching(
          /^warned\.yaml:\d+:\d+ {2}warning: capabilities\.page\.params\.start: may be negative, .*: add minimum: 0 \(or 1\)$/,
        ),
      ]);
    },
  );

  test.each([
    ['strict.yaml', []],
    ['warned.yaml', ['--offline']],
    ['missing.yaml', []],
    ['two.yaml', []],
  ])('--json tells programs of %s %j what the lines tell people', async (file, flags) => {
    const args = ['check', '--config', file, ...flags];
    const [text, { code, stdout, stderr }] = await Promise.all([agent(...args), agent(...args, '--json')]);
    expect({ code, stderr }).toEqual({ code: text.code, stderr: '' });
    const report: JsonReport = JSON.parse(stdout);
    const { capabilities: count, faults, warnings, details, account } = report;
    expect(report).toMatchObject({ ok: code === 0, file, offline: flags.length > 0 });
    const told = [
      ...(count === undefined
        ? []
        : [`${file}: well formed, ${count} ${count === 1 ? 'capability' : 'capabilities'}`]),
      ...faults.map((fault) => lineOf(file, fault)),
      ...warnings.map((warning) => lineOf(file, warning, 'warning: ')),
      ...account.map(({ problem, remedy }) => `account: ${problem}; to fix it: ${remedy}`),
      ...(details === undefined ? [] : [`Details: ${details}`]),
    ];
    const others = /^(?:offline: |database: answers|transactions: )/;
    const lines = text.stdout.trimEnd().split('\n');
    expect(told.toSorted()).toEqual(lines.filter((line) => !others.test(line)).toSorted());
  });
});

test.each([
  ['check --config bad.yaml | true', 2],
  ['check --config good.yaml | true', 0],
  ['--config bad.yaml 2>&1 >&- | true', 2],
])(
  'a reader that has gone does not change how it ends: svc-agent %s',
  { tags: ['command:exit-codes'] },
  async (line, code) => {
    const { stdout } = await runProcess('bash', ['-c', `./svc-agent ${line}; echo $PIPESTATUS`], {
      cwd: folder,
    });
    expect(stdout).toBe(`${code}\n`);
  },
);

describe('the agent itself', { tags: ['command:svc-agent', 'command:exit-codes'] }, () => {
  test('runs with --config until it is asked to end, and ends with 0', async () => {
    const running = await station.agent(station.file());
    expect((await station.call('one')).json).toEqual({ rows: [{ one: 1 }], count: 1 });
    running.process.signal('SIGINT');
    expect(await running.process.exited).toEqual({ code: 0, signal: null });
  });

  test('a failure at run time ends it with 1', { tags: ['command:no-stack'] }, async () => {
    const fault = join(folder, 'fault.cjs');
    await writeFile(fault, 'setTimeout(() => { throw new Error("words of the fault"); }, 0);');
    const { code, stdout, stderr } = await runProcess(join(folder, 'svc-agent'), ['--config', 'good.yaml'], {
      cwd: folder,
      env: { NODE_OPTIONS: `--require ${fault}` },
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe('svc-agent: internal error, ending; the log file holds the details\n');
  });
});
