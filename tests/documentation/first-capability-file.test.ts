import { mkdir, copyFile, readFile, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import {
  runProcess,
  startService,
  SVC_AGENT,
  SVC_GATEWAY,
  temporaryFolder,
  testDatabase,
  type Service,
  type TemporaryFolder,
  type TestDatabase,
} from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readDocument } from './documents.ts';

/** Goes the way of the guide: its SQL and its file, on a real PostgreSQL, to a called capability. */
const guide = readDocument('docs/guides/first-capability-file.md');
const sql = guide.blocks.filter(({ language }) => language === 'sql').map(({ text }) => text);
const file = guide.blocks.find(({ mark }) => mark === 'complete')?.text ?? '';
const parts = guide.blocks
  .filter(
    ({ language, mark, text }) => language === 'yaml' && mark === '' && text.startsWith('capabilities:'),
  )
  .map(({ text }) => text.replace('capabilities:\n', ''));

const reader = `reader_${randomBytes(4).toString('hex')}`;
const PASSWORD = 'choose-a-long-one';
const here = (text: string, database: TestDatabase): string =>
  text.replaceAll('svc_reader', reader).replaceAll('on database shop', `on database ${database.name}`);

let database: TestDatabase;
let folder: TemporaryFolder;
let service: Service;
beforeAll(async () => {
  database = await testDatabase();
  // All but the last block, which is about row-level security.
  for (const text of sql.slice(0, -1)) await database.execute(here(text, database));
  await database.execute(
    `create function shop.draw_number() returns integer volatile language sql as 'select 4'`,
  );
  folder = await temporaryFolder('guide');
  service = await startService({
    database: { ...database, user: reader, password: PASSWORD },
    capabilities: `${file.slice(file.indexOf('capabilities:'))}${parts.join('')}`,
    keys: { north: 'list_invoices', south: 'list_invoices', nobody: 'list_invoices' },
  });
});
afterAll(async () => {
  await service?.stop();
  await folder?.remove();
  await database.execute(`drop owned by ${reader}; drop role ${reader}`);
});

test('the account can do nothing but read, and the file passes every check', async () => {
  const home = join(folder.path, 'agent');
  await mkdir(home);
  await copyFile(SVC_AGENT, join(home, 'svc-agent'));
  await writeFile(join(home, 'agent-key'), 'rZBuX-AEx_xum6pA9iB6YyZszwz7j5OQX8XyDmOnhTo\n');
  await writeFile(join(home, 'db-password'), `${PASSWORD}\n`);
  const yaml = here(file, database)
    .replace('db.internal', JSON.stringify(database.host))
    .replace('name: shop', `name: ${database.name}\n  port: ${database.port}`);
  await writeFile(join(home, 'capability.yaml'), yaml);
  const { code, stdout } = await runProcess(join(home, 'svc-agent'), ['check']);
  expect(stdout).toContain('well formed, 2 capabilities');
  expect(stdout).not.toContain('account:');
  expect(code).toBe(0);
});

test('email addresses stay inside', async () => {
  const [row] = await database.query<{ may: boolean }>(
    `select has_column_privilege($1, 'shop.customer', 'email', 'select') as may`,
    [reader],
  );
  expect(row).toEqual({ may: false });
});

test('the call answers what the guide shows', async () => {
  const { status, json } = await service.call('get_invoice', { id: 101 });
  const shown = guide.blocks.find(({ language }) => language === 'json')?.text ?? '';
  expect(status).toBe(200);
  expect(json).toEqual(JSON.parse(shown));
});

test('an optional parameter filters, and its absence does not', async () => {
  const ids = async (params: object): Promise<unknown> => (await service.call('list_invoices', params)).json;
  expect(await ids({})).toMatchObject({ count: 3, rows: [{ id: 103 }, { id: 102 }, { id: 101 }] });
  expect(await ids({ since: '2025-02-01' })).toMatchObject({ count: 2 });
  expect(await ids({ since: '2025-02-01', customer: 2 })).toMatchObject({ count: 1, rows: [{ id: 103 }] });
  expect(await ids({ sort: 'largest' })).toMatchObject({ rows: [{ id: 103 }, { id: 101 }, { id: 102 }] });
});

test('a part of a text is found, and a wildcard is one only where it should be', async () => {
  const found = async (capability: string, part: string): Promise<unknown> => {
    const { json } = await service.call(capability, { part });
    return json;
  };
  await database.execute("insert into shop.customer values (3, '100%_\\\\', '-')");
  const all = { count: 3 };
  const odd = { count: 1, rows: [{ id: 3 }] };
  expect(await found('find_customers', 'RAC')).toMatchObject({ rows: [{ id: 2, name: 'Grace' }], count: 1 });
  expect(await found('find_customers', '%')).toMatchObject(all);
  expect(await found('find_customers_literally', 'RAC')).toMatchObject({ rows: [{ id: 2 }], count: 1 });
  const literal = await Promise.all(
    ['%', '_', '\\', '0%_\\'].map((part) => found('find_customers_literally', part)),
  );
  expect(literal).toMatchObject([odd, odd, odd, odd]);
  await database.execute('delete from shop.customer where id = 3');
});

test('a cap under on_limit: error is an error, and a named function may be called', async () => {
  expect(await service.call('all_totals', {})).toMatchObject({
    status: 502,
    json: { error: { code: 'AGENT_RESULT_TOO_LARGE' } },
  });
  expect(await service.call('draw', {})).toMatchObject({ json: { rows: [{ number: 4 }] } });
});

test('the message of the guide for a misspelt key is the real one', async () => {
  const home = join(folder.path, 'misspelt');
  await mkdir(home);
  await writeFile(join(home, 'capability.yaml'), file.replace('minimum:', 'minimun:'));
  const { stdout } = await runProcess(SVC_AGENT, ['check', '--offline', '--config', 'capability.yaml'], {
    cwd: home,
  });
  const shown = guide.blocks.find(({ language }) => language === 'text')?.text ?? '';
  expect(stdout).toContain(shown.trim());
});

test('the commands that make keys work', async () => {
  const commands = guide.blocks.flatMap(({ text }) => text.match(/(?<=^svc-gateway )create-key .*/gm) ?? []);
  for (const command of commands) {
    const { code } = await runProcess(SVC_GATEWAY, command.split(' '), { cwd: folder.path });
    expect(code).toBe(0);
  }
  const records: unknown = JSON.parse(await readFile(join(folder.path, 'api-keys.json'), 'utf8'));
  expect(records).toMatchObject([{ name: 'reports' }, { name: 'north' }]);
});

test('with the policy of the guide each key has its own rows', async () => {
  await database.execute(here(sql.at(-1) ?? '', database));
  const seen = async (key: string): Promise<unknown> =>
    (await service.call('list_invoices', {}, { key })).json;
  expect(await seen('north')).toMatchObject({ count: 2, rows: [{ id: 103 }, { id: 101 }] });
  expect(await seen('south')).toMatchObject({ count: 1, rows: [{ id: 102 }] });
  expect(await seen('nobody')).toEqual({ rows: [], count: 0 });
});
