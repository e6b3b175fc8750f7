import { existsSync } from 'node:fs';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runProcess, testDatabase, type TestDatabase } from '@svc/testkit';
import { startStation, type Station } from './station.testing.ts';

const CAPABILITIES = {
  get_film: {
    description: 'One film.',
    sql: 'select film_id, title, length, views from film where film_id = :film_id',
    params: { film_id: { type: 'integer', required: true } },
    result: {
      film_id: { type: 'integer' },
      title: { type: 'string' },
      length: { type: 'integer' },
      views: { type: 'number' },
    },
  },
  some: {
    sql: 'select film_id from film where film_id = any (:ids) and :on and :note::text is not null order by 1',
    params: {
      ids: { type: 'array', items: { type: 'integer' }, required: true },
      on: { type: 'boolean', required: true },
      note: { type: 'string', required: true },
    },
    result: { film_id: { type: 'integer' } },
  },
  titles: {
    sql: 'select title from film where length = :length order by title',
    params: { length: { type: 'integer', required: true } },
    policy: { max_rows: 2 },
    result: { title: { type: 'string' } },
  },
  // Its two columns say the same, which the planner does not know.
  twins: {
    sql: 'select count(*) as n from twin where a = 1 and b = 1',
    result: { n: { type: 'integer' } },
  },
  sorted: {
    sql: 'select count(*) as n from (select film_id from twin order by b desc, film_id offset 0) t',
    result: { n: { type: 'integer' } },
  },
  grouped: {
    sql: 'select count(*) as n from (select id from twin_by_a order by a, id desc offset 0) t',
    result: { n: { type: 'integer' } },
  },
  // The first row is enough.
  partial: {
    sql: 'select case when exists (select from film where views > 0) then 1 end as n',
    result: { n: { type: 'integer' } },
  },
  fails: { sql: 'select film_id / (film_id - 1) as q from film', result: { q: { type: 'integer' } } },
  broken: { sql: 'select nothing_here from film', result: { nothing_here: { type: 'string' } } },
  mine: {
    sql: 'select title from film where film_id = :tenant',
    params: { tenant: { type: 'integer', from: 'principal.claims.tenant' } },
    result: { title: { type: 'string' } },
  },
  whoami: {
    sql: "select current_setting('svc.subject') as subject, current_setting('svc.issuer') as issuer",
    result: { subject: { type: 'string' }, issuer: { type: 'string' } },
    policy: { allow_functions: ['current_setting'] },
  },
};
const { mine, whoami, ...plain } = CAPABILITIES;

let database: TestDatabase;
let station: Station;
let folder: string;
beforeAll(async () => {
  database = await testDatabase();
  await database.execute(
    `create table film (film_id int primary key, title text not null, length int, views numeric);
     insert into film select n, 'Film ' || n, n % 100, 12345678901234567890 from generate_series(1, 20000) n;
     update film set title = E'Red \\x1b[31m' where film_id = 2;
     create table twin as select n as film_id, n % 200 as a, n % 200 as b from generate_series(1, 20000) n;
     create table twin_by_a as select n as id, n / 10000 as a from generate_series(1, 20000) n;
     create index twin_order on twin_by_a (a);
     analyze film, twin, twin_by_a;
     grant select on film, twin, twin_by_a to public;
     alter database ${database.name} set work_mem = '64kB'`,
  );
  station = await startStation(database);
  folder = await station.folder({
    'capability.yaml': station.file({ capabilities: plain }),
    'identity.yaml': station.file({ capabilities: { mine, whoami }, identity: { trust: 'gateway' } }),
  });
});
afterAll(() => station.stop());

async function tried(
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const { code, stdout, stderr } = await runProcess(join(folder, 'svc-agent'), ['try', ...args], {
    cwd: folder,
  });
  return { code, stdout, stderr };
}

interface Report {
  readonly ok: boolean;
  readonly rows?: readonly object[];
  readonly error?: { readonly code: string; readonly message: string };
  readonly findings?: readonly { readonly kind: string; readonly message: string }[];
  readonly faults?: readonly { readonly path: string; readonly message: string }[];
}

async function json(code: number, ...args: readonly string[]): Promise<Report> {
  const ran = await tried(...args, '--json');
  expect(ran).toMatchObject({ code, stderr: '' });
  const report: Report = JSON.parse(ran.stdout);
  expect(report.ok).toBe(code === 0);
  return report;
}

describe('svc-agent try', { tags: ['command:try'] }, () => {
  test('prints a table, what the call took, and exits with 0', async () => {
    const { code, stdout, stderr } = await tried('get_film', '-p', 'film_id=3');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [head, line, row, blank, figures] = stdout.split('\n');
    expect(head?.split(/ +/)).toEqual(['film_id', 'title', 'length', 'views']);
    expect(line).toMatch(/^-+ {2}-+ {2}-+ {2}-+$/);
    expect(row?.trim().split(/ {2,}/)).toEqual(['3', 'Film 3', '3', '12345678901234567890']);
    expect(blank).toBe('');
    expect(figures).toMatch(/^1 row, [\d.]+ ms, 72 bytes, some 18 tokens$/);
  });

  test('--json has the rows as the database wrote them, and the figures', async () => {
    const { stdout } = await tried('get_film', '--param', 'film_id=3', '--json');
    expect(stdout).toContain(
      '"rows":[{"film_id":3,"title":"Film 3","length":3,"views":12345678901234567890}]',
    );
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      capability: 'get_film',
      count: 1,
      truncated: false,
      bytes: 72,
      tokens: 18,
    });
    expect(stdout).not.toContain('principal');
  });

  test('each parameter is read by its type, and lists by their items', async () => {
    const others = ['-p', 'on=true', '-p', 'note=7'];
    const expected = { rows: [{ film_id: 4 }, { film_id: 5 }] };
    expect(await json(0, 'some', '-p', 'ids=4', '-p', 'ids=5', ...others)).toMatchObject(expected);
    const params = '{"ids":[4,5],"on":true,"note":"7"}';
    await writeFile(join(folder, 'params.json'), params);
    expect(await json(0, 'some', '--params', '@params.json')).toMatchObject(expected);
  });

  test('a call that fails exits with 1, and the words of the database stay off a pipe', async () => {
    const wrong = await tried('get_film', '-p', 'film_id=x');
    expect(wrong).toMatchObject({ code: 1, stdout: '' });
    expect(wrong.stderr).toMatch(/^svc-agent: AGENT_INVALID_PARAMS after [\d.]+ ms: film_id: must be /);
    expect(await json(1, 'get_film')).toMatchObject({
      error: { code: 'AGENT_INVALID_PARAMS', message: 'film_id: is required' },
    });
    const failed = await tried('fails');
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toMatch(
      /^svc-agent: AGENT_QUERY_FAILED after [\d.]+ ms: the query could not be completed\nDetails: .*--log FILE.*\n$/,
    );
  });

  test('what is wrong with this capability alone, or with the command line, exits with 2', async () => {
    const broken = await tried('broken');
    expect(broken).toMatchObject({ code: 2, stdout: '' });
    expect(broken.stderr).toMatch(
      /^\S+capability\.yaml:\d+:\d+ {2}capabilities\.broken\.sql: is refused by the database/,
    );
    expect(await json(2, 'get_flim')).toMatchObject({
      faults: [
        { path: 'capabilities', message: 'there is no capability of that name: did you mean get_film?' },
      ],
    });
    for (const args of [
      ['get_film', '-p', 'film_id'],
      ['get_film', '-p', 'film_id=1', '-p', 'film_id=2'],
      [],
    ]) {
      expect(await tried(...args)).toMatchObject({ code: 2, stdout: '' });
    }
  });

  test('who calls is made up, and the output says so', async () => {
    const at = ['--config', 'identity.yaml'];
    expect(await json(1, 'mine', ...at, '--as', 'north')).toMatchObject({
      error: { code: 'AGENT_PRINCIPAL_REFUSED' },
    });
    expect(await json(0, 'mine', ...at, '--as', 'north', '--claim', 'tenant=7')).toMatchObject({
      rows: [{ title: 'Film 7' }],
      principal: { key_name: 'north', claims: { tenant: 7 }, verified: false },
    });
    const { code, stdout } = await tried(
      'whoami',
      ...at,
      '--subject',
      'alice',
      '--issuer',
      'https://login.example',
    );
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('(not verified)') });
    expect(stdout).toMatch(/^alice {4}https:\/\/login\.example$/m);
  });

  test('a cap that leaves rows out is told', async () => {
    expect(await json(0, 'titles', '-p', 'length=5')).toMatchObject({ count: 2, truncated: true });
    expect((await tried('titles', '-p', 'length=5')).stdout).toContain('truncated: ');
  });

  test('what values hold cannot act on a terminal', async () => {
    expect((await tried('get_film', '-p', 'film_id=2')).stdout).toContain(String.raw`Red \u001b[31m`);
  });

  test('--explain names a scan that filters many rows, and finds nothing where an index serves', async () => {
    const scan = await json(0, 'titles', '-p', 'length=5', '--explain');
    expect(scan.findings).toEqual([
      {
        kind: 'filtered_scan',
        message: expect.stringMatching(/^Seq Scan: reads 20000 rows and leaves out 19800 of them/),
      },
    ]);
    expect(await json(0, 'get_film', '-p', 'film_id=3', '--explain')).toMatchObject({ findings: [] });
    expect(await json(1, 'get_film', '--explain')).toMatchObject({ error: { code: 'AGENT_INVALID_PARAMS' } });
  });

  test('--explain names an estimate that is far off, and what does not fit into memory', async () => {
    const found = async (name: string): Promise<readonly string[] | undefined> =>
      (await json(0, name, '--explain')).findings?.map(({ kind, message }) => `${kind}: ${message}`);
    expect(await found('twins')).toEqual([
      expect.stringMatching(/^filtered_scan: Seq Scan: reads 20000 rows and leaves out 19900 of them/),
      expect.stringMatching(/^estimate: Seq Scan: 1 rows expected, 100 came: run ANALYZE/),
    ]);
    expect(await found('sorted')).toContainEqual(
      expect.stringMatching(/^spill: Sort: does not fit into work_mem and goes to disk \(\d+ KB\)/),
    );
    expect(await found('grouped')).toContainEqual(
      expect.stringMatching(
        /^spill: (?:Incremental )?Sort: does not fit into work_mem and goes to disk \(\d+ KB\)/,
      ),
    );
    expect(await found('partial')).toEqual([]);
  });

  test('--explain names tables, indexes and filters on a terminal alone', async () => {
    const { stdout, stderr } = await tried('twins', '--explain');
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^filtered scan: Seq Scan: reads 20000 rows/m);
    expect(stdout).not.toMatch(/twin\b|\ba = 1/);
  });

  test.skipIf(!existsSync('/usr/bin/script'))('--explain names them on a terminal', async () => {
    const command = './svc-agent try twins --explain --json';
    const { stdout } = await runProcess('/usr/bin/script', ['-qfec', command, '/dev/null'], { cwd: folder });
    expect(JSON.parse(stdout)).toMatchObject({
      findings: [{ detail: 'on twin; filter: ((a = 1) AND (b = 1))' }, { kind: 'estimate' }],
      plan: { steps: expect.arrayContaining([expect.stringContaining('Seq Scan on twin')]) },
    });
  });

  test('a file that is not there is looked for where people have it', async () => {
    const at = await station.folder({});
    await mkdir(join(at, 'capability'));
    const { code, stderr } = await runProcess(join(at, 'svc-agent'), ['try', 'x'], { cwd: folder });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `${join(at, 'capability.yaml')}  cannot read the file: there is no such file; there is capability.yaml in this folder: name it with --config capability.yaml\n`,
    });
    await copyFile(join(folder, 'capability.yaml'), join(at, 'capability/capability.yaml'));
    const inFolder = await runProcess(join(at, 'svc-agent'), ['try', 'x'], { cwd: at });
    expect(inFolder.stderr).toContain('name it with --config capability/capability.yaml');
  });
});
