import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { issuerOf } from '../config/issuer-record.testing.ts';
import {
  AUTHORITY,
  createSigningKey,
  portOf,
  startTestIssuer,
  type TestIssuer,
} from '../model/issuer.testing.ts';
import { fetchKeys, keyFileProblem } from './fetch-keys.ts';
import { createHttpsFetch } from './https-fetch.ts';
import type { ImportedKeys } from './import-keys.ts';

const KEY = createSigningKey('ES256', { kid: 'k' });
const KEYS = JSON.stringify({ keys: [KEY.jwk] });
const OPENID = '/.well-known/openid-configuration';

let server: TestIssuer;

beforeAll(async () => {
  server = await startTestIssuer();
});
afterEach(() => {
  server.answers.clear();
  server.requests.length = 0;
});
afterAll(async () => server.close());

async function fetched(
  fields: object,
  signal = AbortSignal.timeout(5000),
  ca = AUTHORITY,
): Promise<ImportedKeys> {
  const issuer = issuerOf({ name: 'own', issuer: server.url, ...fields }, 'https://a/mcp');
  return fetchKeys(
    issuer,
    createHttpsFetch(() => undefined, { ca }),
    signal,
  );
}
const discovers = (path: string, metadata: object): unknown =>
  server.answers.set(path, { body: JSON.stringify(metadata) });

describe('keys that are discovered', () => {
  it('are found as OpenID Connect says', async () => {
    discovers(OPENID, { issuer: server.url, jwks_uri: `${server.url}/jwks` });
    server.answers.set('/jwks', { body: KEYS });
    expect(await fetched({})).toMatchObject({ keys: [{ kid: 'k' }], used: 1 });
    expect(server.requests.map(({ path }) => path)).toEqual([OPENID, '/jwks']);
  });

  it.each([
    ['/realms/a', `/realms/a${OPENID}`],
    ['/realms/a/', `/realms/a${OPENID}`],
    ['/', OPENID],
    ['/realms/a', '/.well-known/oauth-authorization-server/realms/a'],
    ['', '/.well-known/oauth-authorization-server'],
  ])('are found for an issuer with the path "%s" at %s', async (path, place) => {
    const issuer = `${server.url}${path}`;
    discovers(place, { issuer, jwks_uri: `${server.url}/jwks` });
    server.answers.set('/jwks', { body: KEYS });
    expect(await fetched({ issuer })).toMatchObject({ used: 1 });
  });

  it('33: are not used where discovery is of another issuer', async () => {
    server.answers.set('/jwks', { body: KEYS });
    for (const issuer of [`${server.url}/`, 'https://other.example.com', undefined]) {
      discovers(OPENID, { issuer, jwks_uri: `${server.url}/jwks` });
      await expect(fetched({})).rejects.toThrow('discovery names another issuer');
    }
    expect(server.asked('/jwks')).toBe(0);
  });

  it.each<[string, string, string]>([
    ['names no keys', '{"issuer":"URL"}', 'discovery names no jwks_uri'],
    ['names keys by no URL', '{"issuer":"URL","jwks_uri":"/jwks"}', 'discovery names no jwks_uri'],
    [
      'names an issuer twice',
      '{"issuer":"URL","issuer":"URL","jwks_uri":"URL/jwks"}',
      'something else than a JSON object',
    ],
    ['is a list', '[]', 'something else than a JSON object'],
    ['is no JSON', '<html>', 'something else than a JSON object'],
  ])('are none where discovery %s', async (_what, body, problem) => {
    server.answers.set(OPENID, { body: body.replaceAll('URL', server.url) });
    server.answers.set('/jwks', { body: KEYS });
    await expect(fetched({})).rejects.toThrow(problem);
  });

  it('32: are not fetched by http, on loopback too', async () => {
    let requests = 0;
    const plain = createServer((_request, response) => {
      requests++;
      response.end(KEYS);
    });
    plain.listen(0, 'localhost');
    await once(plain, 'listening');
    discovers(OPENID, { issuer: server.url, jwks_uri: `http://localhost:${portOf(plain)}/jwks` });
    await expect(fetched({})).rejects.toThrow(/cannot be fetched: .*"http:" not supported/);
    expect(requests).toBe(0);
    plain.close();
  });

  it('are none where nobody answers, which is not tried twice', async () => {
    const issuer = 'https://localhost:1';
    await expect(fetched({ issuer })).rejects.toThrow(`${issuer}${OPENID} cannot be fetched: `);
    await expect(fetched({ issuer: `${server.url}/a` })).rejects.toThrow('answered with status 404');
  });
});

describe('keys of jwks_uri', () => {
  const uri = (): object => ({ jwks_uri: `${server.url}/jwks` });

  it('are fetched from there, without compression', async () => {
    server.answers.set('/jwks', { body: KEYS, headers: { 'content-type': 'text/plain' } });
    expect(await fetched(uri())).toMatchObject({ used: 1 });
    expect(server.requests).toMatchObject([{ headers: { 'accept-encoding': 'identity' } }]);
  });

  it('are fetched by a proxy where there is one', async () => {
    server.answers.set('/jwks', { body: KEYS });
    const tunnels: (string | undefined)[] = [];
    const proxy = createServer().on('connect', ({ url }, client) => {
      tunnels.push(url);
      const upstream = connect(Number(new URL(server.url).port), 'localhost', () =>
        client.write('HTTP/1.1 200 ok\r\n\r\n'),
      );
      upstream.pipe(client).pipe(upstream);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const way = { url: new URL(`http://127.0.0.1:${portOf(proxy)}`) };
    const issuer = issuerOf({ name: 'own', issuer: server.url, ...uri() }, 'https://a/mcp');
    const fetchBytes = createHttpsFetch(() => way, { ca: AUTHORITY });
    expect(await fetchKeys(issuer, fetchBytes, AbortSignal.timeout(5000))).toMatchObject({ used: 1 });
    expect(tunnels).toEqual([new URL(server.url).host]);
    proxy.close();
    proxy.closeAllConnections();
  });

  it('32: are not used where the answer is long', async () => {
    server.answers.set('/jwks', { body: KEYS.padEnd(256 * 1024) });
    expect(await fetched(uri())).toMatchObject({ used: 1 });
    server.answers.set('/jwks', { body: KEYS.padEnd(256 * 1024 + 1) });
    await expect(fetched(uri())).rejects.toThrow('/jwks answered with more than 262144 bytes');
    server.answers.set('/jwks', { body: KEYS.padEnd(10_000_000) });
    await expect(fetched(uri())).rejects.toThrow('/jwks answered with more than 262144 bytes');
  });

  it('32: are not used where the answer leads elsewhere', async () => {
    server.answers.set('/elsewhere', { body: KEYS });
    server.answers.set('/jwks', { status: 302, headers: { location: '/elsewhere' }, body: KEYS });
    await expect(fetched(uri())).rejects.toThrow('/jwks answered with status 302');
    expect(server.asked('/elsewhere')).toBe(0);
  });

  it('are not used where the answer is compressed', async () => {
    server.answers.set('/jwks', { headers: { 'content-encoding': 'gzip' }, body: gzipSync(KEYS) });
    await expect(fetched(uri())).rejects.toThrow('/jwks answered with a compressed body');
  });

  it('are not used where the answer ends too early', async () => {
    server.answers.set('/jwks', { headers: { 'content-length': '5' }, body: '{"ke' });
    await expect(fetched(uri())).rejects.toThrow('/jwks cannot be fetched: aborted');
  });

  it('are not waited for longer than the caller likes', async () => {
    server.answers.set('/jwks', 'silence');
    await expect(fetched(uri(), AbortSignal.timeout(200))).rejects.toThrow('no answer in time');
  });

  it('are not fetched from a server that Node does not trust', async () => {
    server.answers.set('/jwks', { body: KEYS });
    const issuer = issuerOf({ name: 'own', issuer: server.url, ...uri() }, 'https://a/mcp');
    const parsed = fetchKeys(
      issuer,
      createHttpsFetch(() => undefined),
      AbortSignal.timeout(5000),
    );
    await expect(parsed).rejects.toThrow(/cannot be fetched: .*certificate/);
    expect(server.requests).toEqual([]);
  });
});

describe('keys of jwks_file', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-tmp-jwks-'));
  });
  afterAll(async () => rm(folder, { recursive: true }));

  it('are read from it', async () => {
    const path = join(folder, 'jwks.json');
    await writeFile(path, KEYS);
    expect(await fetched({ jwks_file: path })).toMatchObject({ used: 1 });
    await writeFile(path, KEYS.padEnd(256 * 1024 + 1));
    await expect(fetched({ jwks_file: path })).rejects.toThrow('jwks_file has more than 262144 bytes');
  });

  it('are none where it cannot be read', async () => {
    await expect(fetched({ jwks_file: join(folder, 'none') })).rejects.toThrow(
      'cannot be read: there is no such file',
    );
    await expect(fetched({ jwks_file: folder })).rejects.toThrow('jwks_file is no file');
  });

  it('can be checked before anything starts', async () => {
    const path = join(folder, 'checked.json');
    const issuer = issuerOf({ name: 'own', issuer: 'kubernetes', audiences: ['a'], jwks_file: path });
    expect(await keyFileProblem(issuer)).toBe('jwks_file cannot be read: there is no such file');
    await writeFile(path, '{"keys":[]}');
    expect(await keyFileProblem(issuer)).toBe('jwks_file has no key that can be used with `algorithms`');
    await writeFile(path, '{}');
    expect(await keyFileProblem(issuer)).toBe('the key set has no list of keys');
    await writeFile(path, KEYS);
    expect(await keyFileProblem(issuer)).toBe(undefined);
    expect(await keyFileProblem(issuerOf({ name: 'own', issuer: server.url, audiences: ['a'] }))).toBe(
      undefined,
    );
    expect(server.requests).toEqual([]);
  });
});
