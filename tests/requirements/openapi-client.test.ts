import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runProcess, temporaryFolder, testDatabase, type TemporaryFolder } from '@svc/testkit';
import { richFile, TABLES } from './openapi-capabilities.testing.ts';
import { compileSources, generateTypes } from './openapi-client.testing.ts';
import { startPair, type Pair } from './pair.testing.ts';

const CLIENT = `
import createClient from 'openapi-fetch';
import type { paths } from './schema.js';

declare const process: { env: Record<string, string | undefined> };
export const client = createClient<paths>({
  baseUrl: process.env['GATEWAY'] ?? '',
  headers: { Authorization: \`Bearer \${process.env['KEY'] ?? ''}\` },
});
`;

const GOOD = `
import { client } from './client.js';

const things = await client.POST('/api/v1/capabilities/every_result', { body: { up_to: 1 } });
if (things.error) throw new Error(things.error.error.message);
for (const row of things.data.rows) {
  const id: number = row.id;
  const text: string | null = row.text;
  const flag: boolean | null = row.flag;
  const day: string | null = row.day;
  const tags: unknown[] | null = row.tags;
  console.log(JSON.stringify([id, text, flag, day, tags]));
}
const count: number = things.data.count;
const cut: boolean = things.data.truncated ?? false;
console.log(JSON.stringify([count, cut]));

const whole = await client.POST('/api/v1/capabilities/whole_numbers', {
  body: { bounded: 5, chosen: 3, plain: null },
});
console.log(JSON.stringify(whole.data?.rows));

const none = await client.POST('/api/v1/capabilities/no_params', { body: {} });
console.log(JSON.stringify(none.data?.rows[0]?.one));

const refused = await client.POST('/api/v1/capabilities/divide', { body: { by: 0 } });
if (refused.error === undefined) throw new Error('an error was expected');
const { code, message }: { code: string; message: string } = refused.error.error;
console.log(JSON.stringify([refused.response.status, code, message]));
`;

const BAD_HEAD = `
import { client } from './client.js';
import type { paths } from './schema.js';
type Body = paths['/api/v1/capabilities/divide']['post']['requestBody']['content']['application/json'];
`;

/** Each line is a mistake of its own. */
const MISTAKES: Readonly<Record<string, string>> = {
  'a path that is none': `client.POST('/api/v1/capabilities/no_such', { body: {} });`,
  'a hidden capability': `client.POST('/api/v1/capabilities/hidden', { body: {} });`,
  'another method': `client.GET('/api/v1/capabilities/no_params');`,
  'no body': `client.POST('/api/v1/capabilities/divide');`,
  'a missing parameter': `client.POST('/api/v1/capabilities/divide', { body: {} });`,
  'null for a required parameter': `client.POST('/api/v1/capabilities/divide', { body: { by: null } });`,
  'a parameter of another type': `client.POST('/api/v1/capabilities/divide', { body: { by: '1' } });`,
  'a parameter of another name': `export const body: Body = { by: 1, from: 2 };`,
  'a value that is no choice': `client.POST('/api/v1/capabilities/whole_numbers', { body: { bounded: 1, chosen: 4 } });`,
  'a field that is not listed': `client.POST('/api/v1/capabilities/cut', { body: {} }).then(({ data }) => data?.rows[0]?.text);`,
  'a field of another type': `client.POST('/api/v1/capabilities/cut', { body: {} }).then(({ data }): string | undefined => data?.rows[0]?.id);`,
  'a null that is not expected': `client.POST('/api/v1/capabilities/every_result', { body: {} }).then(({ data }): string | undefined => data?.rows[0]?.text);`,
  'a code that no error has': `client.POST('/api/v1/capabilities/cut', { body: {} }).then(({ error }) => error?.error.code === 'AGENT_BUSSY');`,
  'a part that an error has not': `client.POST('/api/v1/capabilities/cut', { body: {} }).then(({ error }) => error?.error.detail);`,
};

let gateway: Pair;
let folder: TemporaryFolder;
let faults: readonly string[];
beforeAll(async () => {
  folder = await temporaryFolder('client');
  const { host, port, name, user, password } = await testDatabase({ sql: [TABLES] });
  gateway = await startPair({
    keys: { client: 'every_result,whole_numbers,no_params,divide,cut,hidden' },
  });
  await gateway.startAgent('rich', richFile({ driver: 'postgres', host, port, name, user, password }));
  await generateTypes(folder.path, (await gateway.ask('/openapi.json', { key: 'client' })).text);
  faults = await compileSources(folder.path, {
    'client.ts': CLIENT,
    'good.ts': GOOD,
    'bad.ts': [BAD_HEAD, ...Object.values(MISTAKES)].join('\n'),
  });
});
afterAll(async () => {
  await gateway.stop();
  await folder.remove();
});

const FIRST_LINE = BAD_HEAD.split('\n').length + 1;

describe('a client with generated types', { tags: ['openapi:client'] }, () => {
  test('compiles', () => {
    expect(faults.filter((fault) => !fault.startsWith('bad.ts'))).toEqual([]);
  });

  test.each(Object.keys(MISTAKES).map((mistake, at) => [mistake, at + FIRST_LINE] as const))(
    'does not compile with %s',
    (_mistake, line) => {
      expect(faults.filter((fault) => fault.startsWith(`bad.ts:${line}: `))).not.toEqual([]);
    },
  );

  test('gets rows, and errors that it can read', async () => {
    const { stdout, stderr, code } = await runProcess(process.execPath, [join(folder.path, 'good.js')], {
      env: { GATEWAY: gateway.url, KEY: gateway.apiKeys['client'] },
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line): unknown => JSON.parse(line)),
    ).toEqual([
      [1, 'Ο "Μεγάλος" 🐈', true, '2026-02-28', ['a', null, 'b c']],
      [1, false],
      [{ echo: '5 3 7' }],
      1,
      [502, 'AGENT_QUERY_FAILED', 'the query could not be completed'],
    ]);
  });
});
