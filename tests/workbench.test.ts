import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  ask,
  createKeyPair,
  freePort,
  isPortFree,
  runProcess,
  SVC_AGENT,
  temporaryFolder,
  testDatabase,
  type RunningProcess,
  type TemporaryFolder,
  type TestDatabase,
} from '@svc/testkit';
import {
  createReader,
  fillFolder,
  saveFile,
  startDev,
  type Reader,
  type Workbench,
} from './workbench.testing.ts';

let database: TestDatabase;
let reader: Reader;
let folder: TemporaryFolder;
let running: RunningProcess[];
beforeAll(async () => {
  database = await testDatabase({
    sql: ["create table film (id int primary key, title text); insert into film values (1, 'Alien')"],
  });
  reader = await createReader(database);
});
afterAll(() => database.execute(`drop owned by ${reader.user}; drop role ${reader.user}`));
beforeEach(async () => {
  running = [];
  folder = await temporaryFolder('workbench');
  await fillFolder(folder.path, reader);
});
afterEach(async () => {
  await Promise.all(running.map((each) => each.stop()));
  await folder.remove();
});

const FILM = `  get_film:
    sql: SELECT id, title FROM film WHERE id = :id
    params: { id: { type: integer, required: true, minimum: 1 } }
    result: { id: { type: integer }, title: { type: string } }
`;

async function save(capabilities = FILM, more = ''): Promise<void> {
  await saveFile(folder.path, database, reader, capabilities, more);
}

async function startWorkbench(args?: readonly string[]): Promise<Workbench> {
  const bench = await startDev(folder.path, args);
  running.push(bench.process);
  return bench;
}

test(
  'a file is served with a key of its own, and each save of it that passes',
  { tags: ['command:dev'] },
  async () => {
    await save();
    const bench = await startWorkbench();
    const { url, api_key: apiKey, capability, params, curl, mcp } = bench.first;
    expect(bench.first).toMatchObject({ event: 'ready', capabilities: 1, mcp_url: `${String(url)}/mcp` });
    expect({ capability, params }).toEqual({ capability: 'get_film', params: { id: 1 } });
    expect(curl).toContain(String(apiKey));
    expect(JSON.stringify(mcp)).toContain(`Bearer ${String(apiKey)}`);
    const [page, token] = String(bench.first['console_url']).split('#token=');
    const looked = await ask(`${page}data/overview`, { apiKey: token });
    expect([looked.status, looked.json]).toEqual([200, expect.objectContaining({ agents: 1 })]);
    const called = await runProcess('sh', ['-c', String(curl)]);
    expect(JSON.parse(called.stdout)).toMatchObject({ rows: [{ id: 1, title: 'Alien' }] });

    await save(FILM.replace('title FROM', 'upper(title) AS title FROM'));
    expect(await bench.next('served', 'refused')).toMatchObject({
      event: 'served',
      changed: ['get_film'],
      checked: 1,
    });
    expect((await bench.call('get_film', { id: 1 })).json).toMatchObject({ rows: [{ title: 'ALIEN' }] });

    await save(
      `${FILM.replace('title FROM', 'tittle FROM')}  one: { sql: SELECT 1 AS one, result: { one: { type: integer } } }\n`,
    );
    expect(await bench.next('served', 'refused')).toMatchObject({
      event: 'refused',
      serves_on: true,
      faults: [{ path: 'capabilities.get_film.sql', line: 7, column: 5 }],
    });
    expect((await bench.call('get_film', { id: 1 })).json).toMatchObject({ rows: [{ title: 'ALIEN' }] });

    // The verdict on `one` stands from the save that was refused.
    await save(`${FILM}  one: { sql: SELECT 1 AS one, result: { one: { type: integer } } }\n`);
    expect(await bench.next('served', 'refused')).toMatchObject({
      event: 'served',
      added: ['one'],
      changed: ['get_film'],
      checked: 1,
    });
    expect((await bench.call('one', {})).json).toMatchObject({ rows: [{ one: 1 }] });

    await writeFile(join(folder.path, 'password'), 'wrong');
    expect(await bench.next('served', 'refused')).toMatchObject({
      event: 'refused',
      faults: [{ path: 'database' }],
    });
    await writeFile(join(folder.path, 'password'), reader.password);
    expect(await bench.next('served', 'refused')).toMatchObject({ event: 'served', capabilities: 2 });

    expect(await bench.process.stop()).toEqual({ code: 0, signal: null });
    expect(bench.process.output('stderr')).toBe('');
    expect(bench.process.output('stdout')).not.toContain('tittle');
    expect(await isPortFree(portOf(bench))).toBe(true);
  },
);

test('calls are shown, and what the database says of them is not where it could be kept', async () => {
  await save();
  const bench = await startWorkbench();
  await bench.call('get_film', { id: 1 });
  expect(await bench.next('call')).toMatchObject({ name: 'get_film', status: 200, rows: 1 });
  await bench.call('get_film', { id: 'x' });
  expect(await bench.next('call')).toMatchObject({ status: 400, error_code: 'AGENT_INVALID_PARAMS' });
  await bench.call('get_nothing', {});
  expect(await bench.next('call')).toMatchObject({ name: 'get_nothing', status: 404 });
});

test('a file that takes tokens only takes the key of the workbench, with the claims that it is given', async () => {
  await save(
    `${FILM}  get_mine:
    sql: SELECT title FROM film WHERE id = :id
    params: { id: { type: integer, from: principal.claims.film } }
    result: { title: { type: string } }
`,
    `identity:
  trust: token
  issuers:
    - name: corp
      issuer: https://issuer.example.com
      audiences: [films]
      jwks_file: keys.json
      grants: [{ capabilities: ['*'], scope: films }]
      claims: { film: film }
`,
  );
  const { publicKey } = createKeyPair();
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'EdDSA', use: 'sig' };
  await writeFile(join(folder.path, 'keys.json'), JSON.stringify({ keys: [jwk] }));
  const bench = await startWorkbench(['--port', '0', '--claim', 'film:=1']);
  expect(bench.first).toMatchObject({ event: 'ready' });
  expect((await bench.call('get_film', { id: 1 })).json).toMatchObject({ rows: [{ id: 1 }] });
  expect((await bench.call('get_mine', {})).json).toMatchObject({ rows: [{ title: 'Alien' }] });
});

test('the gateway ends with the workbench, however that ends', { tags: ['command:dev'] }, async () => {
  await save();
  const bench = await startWorkbench();
  const port = portOf(bench);
  expect(await isPortFree(port)).toBe(false);
  bench.process.signal('SIGKILL');
  await bench.process.exited;
  await expect.poll(() => isPortFree(port)).toBe(true);
});

test('the next free port is taken where the wanted one is not free', async () => {
  await save();
  const port = await freePort();
  const other = createServer().listen(port, '127.0.0.1');
  try {
    const bench = await startWorkbench(['--port', String(port)]);
    expect(portOf(bench)).toBeGreaterThan(port);
  } finally {
    other.close();
  }
});

describe('without a gateway', () => {
  beforeEach(async () => {
    await mkdir(join(folder.path, 'alone'));
    await copyFile(SVC_AGENT, join(folder.path, 'alone/svc-agent'));
    await save();
  });

  test('beside it, it says how to do without', { tags: ['command:dev'] }, async () => {
    const file = join(folder.path, 'capability.yaml');
    const { code, stderr } = await runProcess(join(folder.path, 'alone/svc-agent'), [
      'dev',
      '--config',
      file,
    ]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('--no-gateway') });
  });

  test('each save is checked', async () => {
    const bench = await startWorkbench(['--no-gateway']);
    expect(bench.first).toMatchObject({ event: 'watching', capabilities: 1 });
    await save(FILM.replace('FROM film', 'FROM flim'));
    expect(await bench.next('checked', 'refused')).toMatchObject({ event: 'refused' });
    await save(FILM);
    expect(await bench.next('checked', 'refused')).toMatchObject({
      event: 'checked',
      capabilities: 1,
      checked: 0,
    });
    // A save says only what the one before had not said.
    await save(`${FILM}${FILM.replace('get_film', 'get_more')}`);
    expect([await bench.next('note'), await bench.next('note')]).toMatchObject([
      { message: expect.stringContaining('get_film.description: is missing:') },
      { message: expect.stringContaining('is missing here and in 1 more') },
    ]);
    expect(await bench.process.stop()).toEqual({ code: 0, signal: null });
  });
});

test('a file at fault from the start ends with 2, on standard error without the words of the database', async () => {
  await save(FILM.replace('title FROM', 'tittle FROM'));
  const { code, stderr, stdout } = await runProcess(join(folder.path, 'svc-agent'), ['dev', '--port', '0']);
  expect(code).toBe(2);
  expect(stderr).toMatch(/capability\.yaml:7:5 {2}capabilities\.get_film\.sql: /);
  expect(`${stdout}${stderr}`).not.toContain('tittle');
  expect(await readFile(join(folder.path, 'svc-agent.log'), 'utf8')).toContain('tittle');
});

function portOf({ first }: Workbench): number {
  return Number(new URL(String(first['url'])).port);
}
