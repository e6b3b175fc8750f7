import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  freePort,
  runProcess,
  SVC_AGENT,
  temporaryFolder,
  testDatabase,
  type TemporaryFolder,
} from '@svc/testkit';
import { startPair, type Pair } from './pair.testing.ts';

const GET = {
  description: 'One of them.',
  sql: 'select 1 as one where :p::int > 0',
  params: { p: { type: 'integer', required: true } },
  result: { one: { type: 'integer' } },
};
const HIDDEN = { sql: 'select 1 as one', result: { one: { type: 'integer' } }, expose_in_openapi: false };
const withParam = (p: object): object => ({ get: { ...GET, params: { p: { ...GET.params.p, ...p } } } });

/** They name variables and files that are nowhere, as a file of another machine does. */
const SECTIONS = {
  gateway: { url: '${GATEWAY_OF_NOWHERE}', agent_private_key_file: 'nowhere' },
  database: { host: 'nowhere', name: 'n', user: 'u', password: '${NOT_SET}' },
};
const FILES: Readonly<Record<string, object>> = {
  same: { get: GET },
  breaking: withParam({ minimum: 5 }),
  risky: { get: { ...GET, description: 'Another.' } },
  compatible: withParam({ required: false }),
  hidden: { get: GET, hidden: HIDDEN },
};

let folder: TemporaryFolder;
let gateway: Pair;
beforeAll(async () => {
  folder = await temporaryFolder('diff');
  const { host, port, name, user, password } = await testDatabase();
  gateway = await startPair();
  const database = { driver: 'postgres', host, port, name, user, password };
  await Promise.all([
    gateway.startAgent('get', { database, capabilities: { get: GET } }),
    ...Object.entries(FILES).map(([file, capabilities]) =>
      writeFile(join(folder.path, `${file}.yaml`), JSON.stringify({ ...SECTIONS, capabilities })),
    ),
    writeFile(join(folder.path, 'bad.yaml'), JSON.stringify({ ...SECTIONS, capabilites: {} })),
    writeFile(
      join(folder.path, 'writes.yaml'),
      JSON.stringify({ ...SECTIONS, capabilities: { get: { ...GET, sql: 'delete from t', params: {} } } }),
    ),
  ]);
  await writeFile(join(folder.path, 'saved.json'), (await gateway.ask('/openapi.json')).text);
});
afterAll(async () => {
  await gateway.stop();
  await folder.remove();
});

interface Told {
  readonly ok: boolean;
  readonly changes: readonly { readonly severity: string; readonly path: string }[];
  readonly faults: readonly { readonly file: string; readonly path: string; readonly line?: number }[];
}

async function diff(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  return await runProcess(SVC_AGENT, ['diff', ...args], { cwd: folder.path, env });
}

async function told(...args: readonly string[]): Promise<Told & { readonly code: number | null }> {
  const key = gateway.apiKeys['all'] ?? '';
  const { code, stdout, stderr } = await diff([...args, '--json'], { SVC_API_KEY: key });
  expect(stderr).toBe('');
  const report: Told = JSON.parse(stdout);
  return { ...report, code };
}

const PATHS: Readonly<Record<string, string>> = {
  breaking: 'capabilities.get.params.p.minimum',
  risky: 'capabilities.get.description',
  compatible: 'capabilities.get.params.p.required',
};

describe('svc-agent diff', { tags: ['command:diff', 'command:exit-codes'] }, () => {
  test.each([
    ['same', [], 0],
    ['same', ['--fail-on', 'any'], 0],
    ['compatible', ['--fail-on', 'risky'], 0],
    ['compatible', ['--fail-on=any'], 3],
    ['risky', [], 0],
    ['risky', ['--fail-on', 'risky'], 3],
    ['breaking', [], 3],
    ['breaking', ['--fail-on', 'risky'], 3],
  ] as const)('between files, %s with %j, ends with %i', async (file, flags, code) => {
    const report = await told('same.yaml', `${file}.yaml`, ...flags);
    const path = PATHS[file];
    expect(report.changes.map((change) => `${change.severity} ${change.path}`)).toEqual(
      path === undefined ? [] : [`${file} ${path}`],
    );
    expect(report).toMatchObject({ code, ok: code === 0 });
  });

  test('says it in lines, too', async () => {
    const { code, stdout } = await diff(['same.yaml', 'breaking.yaml']);
    expect(code).toBe(3);
    expect(stdout).toContain('breaking    capabilities.get.params.p.minimum: none became 5');
    expect(stdout).toContain('1 change: 1 breaking, 0 risky, 0 compatible\n');
    expect(stdout).not.toContain('\u001b');
  });

  test('reads what a gateway serves, and what was saved of it', async () => {
    const url = `${gateway.url}/openapi.json`;
    expect(await told(url, 'same.yaml', '--fail-on', 'any')).toMatchObject({ code: 0, changes: [] });
    expect(await told('hidden.yaml', url, '--fail-on', 'any')).toMatchObject({ code: 0, changes: [] });
    expect(await told('saved.json', url, '--fail-on', 'any')).toMatchObject({ code: 0, changes: [] });
    expect((await told(url, 'breaking.yaml')).code).toBe(3);
  });

  test('takes the key from SVC_API_KEY alone where there is no terminal', async () => {
    const url = `${gateway.url}/openapi.json`;
    const without = await diff(['same.yaml', url]);
    expect(without).toMatchObject({ code: 2, stdout: '' });
    expect(without.stderr).toContain('SVC_API_KEY');
    const wrong = await diff(['same.yaml', url], { SVC_API_KEY: 'wrong-key' });
    expect(wrong.code).toBe(1);
    expect(wrong.stdout).toContain('refuses the API key (401)');
    expect(wrong.stdout + wrong.stderr).not.toContain('wrong-key');
  });

  test('ends with 1 where nothing answers, and with 2 for what is none of both', async () => {
    const nowhere = await told('same.yaml', `http://127.0.0.1:${await freePort()}/openapi.json`);
    expect(nowhere).toMatchObject({ code: 1, ok: false, faults: [{ path: '' }] });
    expect((await told('same.yaml', `${gateway.url}/healthz`)).code).toBe(2);
    expect(await told('same.yaml', 'bad.yaml', '--fail-on', 'any')).toMatchObject({
      code: 2,
      faults: [
        { file: 'bad.yaml', path: 'capabilities' },
        { file: 'bad.yaml', path: 'capabilites', line: 1 },
      ],
    });
    expect(await told('writes.yaml', 'missing.yaml')).toMatchObject({
      code: 2,
      faults: [
        { file: 'writes.yaml', path: 'capabilities.get.sql' },
        { file: 'missing.yaml', path: '' },
      ],
    });
    for (const args of [[], ['same.yaml'], ['same.yaml', 'same.yaml', '--fail-on', 'worse']])
      expect(await diff(args)).toMatchObject({ code: 2, stdout: '' });
  });
});
