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
    grant select on film to public`);
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
