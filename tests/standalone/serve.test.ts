import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ask,
  createKey,
  runProcess,
  startProcess,
  SVC,
  temporaryFolder,
  testDatabase,
  type RunningProcess,
  type TestDatabase,
} from '@svc/testkit';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';

let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase({
    sql: [
      'create table book (id integer primary key, title text)',
      "insert into book values (1, 'One'), (2, 'Two')",
    ],
  });
});

function fileFor({ host, port, name, user, password }: TestDatabase, more = ''): string {
  return `service: { title: Library, version: 1.2.0 }
database: { host: ${host}, port: ${port}, name: ${name}, user: ${user}, password: "${password}" }
capabilities:
  get_book:
    description: A book by its number
    sql: select id, title from book where id = :id
    params: { id: { type: integer, required: true } }
    result: { id: { type: integer }, title: { type: string } }
${more}`;
}

interface Served {
  readonly process: RunningProcess;
  readonly url: string;
  readonly folder: string;
}

async function folderWith(text = fileFor(database)): Promise<string> {
  const folder = await temporaryFolder('serve');
  onTestFinished(() => folder.remove());
  await writeFile(join(folder.path, 'library.yaml'), text);
  return folder.path;
}

async function serve(
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const folder = await folderWith();
  const process = await startProcess(SVC, ['serve', '--config', 'library.yaml', ...args], {
    cwd: folder,
    env: { GATEWAY_ADDR: '127.0.0.1:0', ...env },
  });
  onTestFinished(async () => void (await process.stop()));
  const listening = await process.waitForLine((line) => line.includes('"event":"listening"'));
  const record: { readonly port: number } = JSON.parse(listening);
  return { process, url: `http://127.0.0.1:${record.port}`, folder };
}

const call = (url: string, apiKey: string, params: unknown) =>
  ask(`${url}/api/v1/capabilities/get_book`, { method: 'POST', body: JSON.stringify(params), apiKey });

test('serves REST, MCP, OpenAPI and health from one process', async () => {
  const { api_key: apiKey, record } = await createKey('all', '*', {});
  const { process, url } = await serve([], { GATEWAY_API_KEYS_JSON: JSON.stringify([record]) });
  const { status, text } = await call(url, apiKey, { id: 2 });
  expect({ status, body: JSON.parse(text) }).toMatchObject({
    status: 200,
    body: { rows: [{ id: 2, title: 'Two' }] },
  });
  expect(JSON.parse((await ask(`${url}/healthz`, {})).text)).toMatchObject({ agent_connected: true });
  expect((await ask(`${url}/readyz`, {})).status).toBe(200);
  expect((await ask(`${url}/ws/agent`, {})).status).toBe(404);
  expect((await ask(`${url}/openapi.json`, { apiKey })).text).toContain('get_book');
  const listed = await ask(`${url}/mcp`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    apiKey,
  });
  expect(listed.text).toContain('get_book');
  expect((await call(url, 'svc_no_key', { id: 2 })).status).toBe(401);
  await process.stop();
  const records = process
    .output('stdout')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): { readonly event: string } => JSON.parse(line));
  expect(records.map(({ event }) => event)).toEqual(
    expect.arrayContaining(['starting', 'listening', 'request', 'call', 'shutting_down']),
  );
  expect(process.output('stderr')).toContain('this process faces callers and holds the database credential');
});

describe('without a setting of keys', () => {
  test('writes a key for this run to a file, which nobody else can read', async () => {
    const { url, folder } = await serve(['--key-file', 'key']);
    const file = join(folder, 'key');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const apiKey = (await readFile(file, 'utf8')).trim();
    expect((await call(url, apiKey, { id: 1 })).status).toBe(200);
  });

  test.each([
    ['without a terminal and a file', [], {}, /--key-file FILE/],
    ['with a file that exists', ['--key-file', 'library.yaml'], {}, /exists already/],
    [
      'on an address that others reach',
      ['--key-file', 'key'],
      { GATEWAY_ADDR: '0.0.0.0:0' },
      /GATEWAY_API_KEYS/,
    ],
    ['with several services', ['--key-file', 'key'], { GATEWAY_SERVICES_FILE: 'x' }, /GATEWAY_SERVICES_FILE/],
    ['with workers', ['--key-file', 'key'], { GATEWAY_WORKERS: '2' }, /GATEWAY_WORKERS/],
    ['with keys as well', ['--key-file', 'key'], { GATEWAY_API_KEYS_JSON: '[]' }, /--key-file/],
  ])('%s it ends with 2', async (_when, args, env, expected) => {
    const { code, stderr } = await runProcess(SVC, ['serve', '--config', 'library.yaml', ...args], {
      cwd: await folderWith(),
      env: { GATEWAY_ADDR: '127.0.0.1:0', ...env },
    });
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringMatching(expected) });
  });
});

test('a file that does not pass the checks ends it with 2, before it listens, and leaves no key', async () => {
  const cwd = await folderWith(fileFor(database).replace('from book', 'from nothing'));
  const { code, stderr, stdout } = await runProcess(
    SVC,
    ['serve', '--config', 'library.yaml', '--key-file', 'key'],
    {
      cwd,
      env: { GATEWAY_ADDR: '127.0.0.1:0' },
    },
  );
  expect(code).toBe(2);
  expect(stderr).toContain('library.yaml');
  expect(stdout).not.toContain('listening');
  await expect(stat(join(cwd, 'key'))).rejects.toThrow('ENOENT');
});

test('a changed file is served without a failed call', async () => {
  const { process, url, folder } = await serve(['--key-file', 'key', '--watch']);
  const apiKey = (await readFile(join(folder, 'key'), 'utf8')).trim();
  const reloaded = process.waitForLine((line) => line.includes('"event":"reloaded"'));
  await writeFile(join(folder, 'library.yaml'), fileFor(database).replaceAll('get_book', 'read_book'));
  let isReloaded = false;
  void reloaded.then(() => (isReloaded = true));
  const statuses = new Set<number>();
  while (!isReloaded) statuses.add((await call(url, apiKey, { id: 1 })).status);
  await reloaded;
  expect([...statuses].every((status) => status === 200 || status === 404)).toBe(true);
  const { status } = await ask(`${url}/api/v1/capabilities/read_book`, {
    method: 'POST',
    body: '{"id":1}',
    apiKey,
  });
  expect(status).toBe(200);
});
