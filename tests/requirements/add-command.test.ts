import { chmod, chown, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runProcess, testDatabase, type TestDatabase } from '@svc/testkit';
import { startStation, type Station } from './station.testing.ts';

let database: TestDatabase;
let station: Station;
let folder: string;
/** With comments and a layout that no program would write. */
let before: string;
beforeAll(async () => {
  database = await testDatabase();
  await database.execute(`create table film (film_id int primary key, title text not null, length int);
    insert into film values (1, 'Academy Dinosaur', 86);
    create table rental (id int primary key, film_id int not null references film, returned timestamptz,
      price numeric, paid boolean not null);
    insert into rental values (1, 1, '2026-01-02', 2.5, true), (2, 1, null, 2.5, false);
    grant select on film, rental to public`);
  station = await startStation(database);
  const { gateway, database: section }: Readonly<Record<string, object>> = JSON.parse(station.file());
  before = `# Films.
gateway: ${JSON.stringify(gateway)}
database:   ${JSON.stringify(section)} # the replica

capabilities:
  one:   # the first
    description: "One."
    sql:  select 1 as one
    result: { one: {type: integer} }
# the end
`;
  folder = await station.folder({
    'capability.yaml': before,
    'film.sql': '-- by its key\nselect film_id, title, length\nfrom film\nwhere film_id = :film_id;\n',
    'wrong.sql': 'select nothing_here from film',
    'calls.sql': 'select pg_sleep(1) as slept',
  });
});
afterAll(() => station.stop());

async function agent(
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const { code, stdout, stderr } = await runProcess(join(folder, 'svc-agent'), args, { cwd: folder });
  return { code, stdout, stderr };
}
const fileNow = (): Promise<string> => readFile(join(folder, 'capability.yaml'), 'utf8');

const SECTION = `  get_film:
    sql: |-
      -- by its key
      select film_id, title, length
      from film
      where film_id = :film_id;
    params:
      film_id: { type: integer, required: true }
    result:
      film_id: { type: integer, nullable: false }
      title: { type: string, nullable: false }
      length: { type: integer }
`;

describe('svc-agent add', { tags: ['command:add'] }, () => {
  test('what is wrong leaves the file as it was', async () => {
    const wrong = await agent(['add', 'other', '--sql-file', 'wrong.sql']);
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toMatch(
      /^\S+capability\.yaml {2}capabilities\.other\.sql: is refused by the database/,
    );
    expect(wrong.stderr).not.toContain('nothing_here');
    const { code, stdout } = await agent(['add', 'other', '--sql-file', 'calls.sql', '--json']);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      written: false,
      faults: [{ path: 'capabilities.other.sql', message: expect.stringContaining('pg_sleep') }],
    });
    expect((await agent(['add', 'one', '--sql-file', 'film.sql'])).stderr).toMatch(
      /^\S+capability\.yaml:\d+:\d+ {2}capabilities\.one: already exists/,
    );
    expect((await agent(['add', 'No-Name', '--sql-file', 'film.sql'])).code).toBe(2);
    expect((await agent(['add', 'other', '--sql-file', 'none.sql'])).code).toBe(2);
    await writeFile(join(folder, 'empty.sql'), '\n');
    expect((await agent(['add', 'other', '--sql-file', 'empty.sql'])).stderr).toBe(
      'svc-agent: there is no SQL: give one SELECT with `--sql-file`\n',
    );
    expect(await fileNow()).toBe(before);
  });

  test('--print shows what is new and writes nothing', async () => {
    const { code, stdout } = await agent(['add', 'get_film', '--sql-file', 'film.sql', '--print']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: SECTION.replaceAll(/^ {2}/gm, '') });
    expect(await fileNow()).toBe(before);
  });

  test('adds a capability that answers, and keeps every other byte', async () => {
    const path = join(folder, 'capability.yaml');
    const [uid, gid] = process.getuid?.() === 0 ? [1, 2] : [process.getuid?.(), process.getgid?.()];
    await chown(path, uid ?? 0, gid ?? 0);
    await chmod(path, 0o640);
    const added = await agent(['add', 'get_film', '--sql-file', 'film.sql']);
    expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining('added get_film') });
    expect(await fileNow()).toBe(before.replace('# the end\n', `${SECTION}# the end\n`));
    const after = await stat(path);
    expect([after.uid, after.gid, after.mode & 0o777]).toEqual([uid, gid, 0o640]);
    expect((await readdir(folder)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    const tried = await agent(['try', 'get_film', '-p', 'film_id=1', '--json']);
    expect(JSON.parse(tried.stdout)).toMatchObject({ rows: [{ title: 'Academy Dinosaur' }] });
  });

  test('takes what looks like a variable of the environment for text', async () => {
    await writeFile(join(folder, 'home.sql'), "select '${HOME}' as home");
    expect((await agent(['add', 'home', '--sql-file', 'home.sql'])).code).toBe(0);
    const tried = await agent(['try', 'home', '--json']);
    expect(JSON.parse(tried.stdout)).toMatchObject({ rows: [{ home: '${HOME}' }] });
  });

  test('keeps the place of filters, and writes one for each field that is a column there', async () => {
    const sql =
      'select r.film_id, left(f.title, 3) as title, returned, round(r.price) as price, f.length as minutes, paid, r.id as svc_id\n' +
      'from rental r join film f using (film_id)\nwhere {filters} and f.length > :shortest\norder by r.id';
    await writeFile(join(folder, 'list.sql'), sql);
    const added = await agent(['add', 'list_rentals', '--sql-file', 'list.sql']);
    expect(added).toMatchObject({ code: 0, stderr: '' });
    expect(await fileNow()).toContain(`  list_rentals:
    sql: |-
${sql.replaceAll(/^/gm, '      ')}
    params:
      shortest: { type: integer, required: true }
      film_id: { type: integer, filter: film_id = :film_id }
      returned_from: { type: datetime, filter: returned >= :returned_from }
      returned_before: { type: datetime, filter: returned < :returned_before }
      minutes: { type: integer, filter: length = :minutes }
      paid: { type: boolean, filter: paid = :paid }
    result:
`);
    const call = ['try', 'list_rentals', '-p', 'shortest=1', '-p', 'paid=true', '--json'];
    const tried = await agent(call);
    expect(JSON.parse(tried.stdout)).toMatchObject({ rows: [{ film_id: 1, paid: true }], count: 1 });
  });

  test.each([
    ['select film_id from film where length > 1 or {filters}', 'directly after `where`'],
    ['select film_id + 1 as next from film where {filters}', 'no parameter has a `filter`'],
    ['select film_id from film f where {filters} and {filters}', 'it must stand once'],
    ['select nothing_here from film where {filters}', 'is refused by the database'],
  ])('refuses %s', async (sql, message) => {
    await writeFile(join(folder, 'list.sql'), sql);
    const before = await fileNow();
    const { code, stderr } = await agent(['add', 'refused', '--sql-file', 'list.sql']);
    expect(code).toBe(2);
    expect(stderr).toContain('capabilities.refused.sql: ');
    expect(stderr).toContain(message);
    expect(await fileNow()).toBe(before);
  });

  test('reads the SQL from standard input, and says what it wrote as JSON', async () => {
    await writeFile(
      join(folder, 'run.sh'),
      'echo "select 2 as two" | ./svc-agent add two --sql-file - --json',
    );
    const { code, stdout } = await runProcess('sh', ['run.sh'], { cwd: folder });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      capability: 'two',
      written: true,
      section: 'two:\n  sql: select 2 as two\n  result:\n    two: { type: integer }\n',
    });
  });
});
