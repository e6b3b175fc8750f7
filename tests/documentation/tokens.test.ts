import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ask,
  runProcess,
  startService,
  temporaryFolder,
  testDatabase,
  type Answer,
  type Service,
  type TemporaryFolder,
} from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readEnvFile } from '../../packages/gateway/src/config/env-file.ts';
import { readDocument } from './documents.ts';
import { createLookAlikeKey } from './look-alikes.testing.ts';

/** Goes the way of "A complete example", and meets each refusal that the guide shows. */
const blocks = ['tokens', 'token-checks'].flatMap((name) => readDocument(`docs/guides/${name}.md`).blocks);
const blockOf = (language: string, part: string): string =>
  blocks.find((block) => block.language === language && block.text.includes(part))?.text ?? '';

const RESOURCE = 'http://127.0.0.1:8080/mcp';
const SCOPE = 'library.read';
const METADATA = 'http://127.0.0.1:8080/.well-known/oauth-protected-resource/mcp';
const key = createLookAlikeKey('ours');

let folder: TemporaryFolder;
let service: Service;
let token: string;
beforeAll(async () => {
  folder = await temporaryFolder('tokens');
  await writeFile(join(folder.path, 'make-token.mjs'), blockOf('js', 'generateKeyPairSync'));
  await runProcess('/bin/sh', ['-c', blockOf('sh', 'make-token.mjs')], { cwd: folder.path });
  token = (await readFile(join(folder.path, 'token'), 'utf8')).trim();
  // A key of ours beside that of the script signs what the script does not.
  const jwks = join(folder.path, 'jwks.json');
  const keys = [await readFile(jwks, 'utf8'), key.keySet].flatMap((text) => JSON.parse(text).keys);
  await writeFile(jwks, JSON.stringify({ keys }));
  const settings = readEnvFile(blockOf('ini', 'jwks_file').replace('/path/to', folder.path));
  service = await startService({
    database: await testDatabase(),
    capabilities: 'capabilities: { find_book: { sql: select 1 as n, result: { n: { type: integer } } } }',
    gatewayEnv: 'values' in settings ? settings.values : {},
  });
});
afterAll(async () => {
  await service?.stop();
  await folder.remove();
});

const call = (credential: string): Promise<Answer> =>
  service.call('find_book', {}, { key: null, headers: { authorization: `Bearer ${credential}` } });

/** Like the script's, but for what is changed. */
function tokenWith(changed: Readonly<Record<string, unknown>>): string {
  const now = Math.floor(Date.now() / 1000);
  const payload = {
    iss: 'https://login.example.com',
    aud: RESOURCE,
    sub: 'ada',
    scope: SCOPE,
    iat: now,
    exp: now + 60,
  };
  return key.sign({ alg: 'RS256', kid: 'ours' }, { ...payload, ...changed });
}

test('the token of the script is taken, over REST and MCP', async () => {
  expect(await call(token)).toMatchObject({ status: 200, json: { rows: [{ n: 1 }] } });
  const listed = await ask(`${service.url}/mcp`, {
    method: 'POST',
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    headers: { authorization: `Bearer ${token}` },
  });
  expect(listed).toMatchObject({ status: 200, json: { result: { tools: [{ name: 'find_book' }] } } });
});

test('each refusal looks as the table says', async () => {
  const told = `resource_metadata="${METADATA}", scope="${SCOPE}"`;
  const refusal = async (answer: Promise<Answer>): Promise<readonly unknown[]> => {
    const { status, headers } = await answer;
    return [status, headers.get('www-authenticate')];
  };
  const invalid = (why: string): string =>
    `Bearer error="invalid_token", error_description="${why}", ${told}`;
  expect(await refusal(service.call('find_book', {}, { key: null }))).toEqual([401, `Bearer ${told}`]);
  expect(await refusal(call(tokenWith({ aud: 'https://other.example.com' })))).toEqual([
    401,
    invalid('the access token is not valid for this resource'),
  ]);
  expect(await refusal(call(tokenWith({ iat: 1, exp: 61 })))).toEqual([
    401,
    invalid('the access token has expired'),
  ]);
  expect(await refusal(call('svc_wrong_key'))).toEqual([401, 'Bearer']);
  expect(await refusal(call(tokenWith({ scope: 'library' })))).toEqual([
    403,
    `Bearer error="insufficient_scope", scope="${SCOPE}", resource_metadata="${METADATA}"`,
  ]);
});

test('the log says why', async () => {
  const record = service.gateway.waitForLine((line) => line.includes('"auth_failure":"lifetime"'));
  await call(tokenWith({ exp: undefined, jti: 'made-up' }));
  expect(JSON.parse(await record)).toMatchObject({ http_status: 401, issuer: 'try' });
});

test('the metadata is as the guide shows it', async () => {
  const { json } = await service.get('/.well-known/oauth-protected-resource/mcp', { key: null });
  const shown = blockOf('json', 'authorization_servers').replace('https://gateway.example.com/mcp', RESOURCE);
  expect(json).toEqual(JSON.parse(shown));
});

test('the script that reads a token shows its header and payload', async () => {
  const script = blockOf('sh', 'base64url');
  const { code, stdout } = await runProcess('/bin/sh', ['-c', script], { env: { TOKEN: token } });
  const [header = '', payload = ''] = stdout.trim().split('\n');
  expect({ code, header: JSON.parse(header) }).toMatchObject({
    code: 0,
    header: { alg: 'ES256', kid: 'try' },
  });
  expect(JSON.parse(payload)).toMatchObject({ aud: RESOURCE, sub: 'ada' });
});
