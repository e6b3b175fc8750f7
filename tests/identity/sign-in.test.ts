import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createReleasers,
  freePort,
  startService,
  temporaryFolder,
  testDatabase,
  type Releasers,
  type Service,
} from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { AUTHORITY } from '../requirements/certificates.testing.ts';
import { startIdentityProvider, type IdentityProvider } from './identity-provider.testing.ts';
import { browser, connectFirst, connectSecond, REDIRECT_URI, type Registration } from './sign-in.testing.ts';

/** A certified provider on loopback TLS, and the official clients that sign in with it. */
const SCOPE = 'library.read';
const DOCUMENT = 'https://client.example/svc-tests.json';
const BY_HAND = 'registered-by-hand';
/** Long enough for all that the other tests do with one token. */
const TOKEN_SECONDS = 5;

const SQL = `
  create table loan (tenant text not null, title text not null);
  insert into loan values ('north', 'Read in the north'), ('south', 'Read in the south');
  grant select on loan to public;
`;

const capabilityFile = (issuer: string, resource: string): string => `
identity:
  trust: token
  max_age: 1h
  issuers:
    - name: provider
      issuer: ${issuer}
      audiences: [${resource}]
      claims: { org_id: org_id }
      grants: [{ scope: ${SCOPE}, capabilities: ['*'] }]
capabilities:
  list_loans:
    description: The loans of the caller's organisation.
    sql: select title from loan where tenant = :tenant
    params:
      tenant: { type: string, from: principal.claims.org_id }
    result:
      title: { type: string }
  whoami:
    description: What the database knows of the caller.
    sql: >-
      select current_setting('svc.subject') as subject, current_setting('svc.issuer') as issuer,
      current_setting('svc.claims')::json ->> 'org_id' as org
    result:
      subject: { type: string }
      issuer: { type: string }
      org: { type: string }
`;

let releasers: Releasers;
let provider: IdentityProvider;
let service: Service;
let resource: string;

beforeAll(async () => {
  releasers = createReleasers();
  const folder = await temporaryFolder('sign-in');
  await releasers.add(() => folder.remove());
  const authority = join(folder.path, 'authority.pem');
  await writeFile(authority, AUTHORITY);
  // The provider has to know the address of the gateway before that runs.
  const port = await freePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  resource = `${publicUrl}/mcp`;
  provider = await startIdentityProvider({
    resource,
    scopes: [SCOPE],
    claims: { org_id: 'north' },
    tokenSeconds: TOKEN_SECONDS,
    clientDocument: {
      client_id: DOCUMENT,
      client_name: 'svc-tests',
      redirect_uris: [REDIRECT_URI],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
    publicClient: { id: BY_HAND, redirectUri: REDIRECT_URI },
  });
  await releasers.add(() => provider.stop());
  const { issuer } = provider;
  service = await startService({
    database: await testDatabase({ sql: [SQL] }),
    capabilities: capabilityFile(issuer, resource),
    gatewayEnv: {
      NODE_EXTRA_CA_CERTS: authority,
      GATEWAY_ADDR: `127.0.0.1:${port}`,
      GATEWAY_PUBLIC_URL: publicUrl,
      GATEWAY_TOKEN_CLOCK_SKEW: '0s',
      GATEWAY_ISSUERS_JSON: JSON.stringify([
        {
          name: 'provider',
          issuer,
          claims: { org_id: 'org_id' },
          grants: [{ scope: SCOPE, capabilities: ['*'] }],
        },
      ]),
    },
    agentEnv: { NODE_EXTRA_CA_CERTS: authority },
  });
  await releasers.add(() => service.stop());
});

afterAll(() => releasers.closeAll());

const REGISTRATIONS: readonly (readonly [string, Registration])[] = [
  ['by the document at its URL', { kind: 'document', url: DOCUMENT }],
  ['by registering itself', { kind: 'dynamic' }],
  ['registered by hand', { kind: 'manual', clientId: BY_HAND }],
];
const CLIENTS = [
  ['client 2', connectSecond],
  ['client 1', connectFirst],
] as const;

describe.each(CLIENTS)('%s', (_name, connect) => {
  test.each(REGISTRATIONS)(
    'signs in and gets rows, known %s',
    { tags: ['token:sign-in'] },
    async (_how, registration) => {
      const client = await connect(resource, {
        registration,
        signIn: browser(provider.fetch),
        fetch: provider.fetch,
      });
      try {
        expect(await client.toolNames()).toEqual(['list_loans', 'whoami']);
        expect(await client.call('list_loans', {})).toEqual({
          rows: [{ title: 'Read in the north' }],
          count: 1,
        });
        expect(await client.call('whoami', {})).toMatchObject({
          rows: [{ subject: 'user-7', issuer: provider.issuer, org: 'north' }],
        });
        expect([client.signIns, client.tokenGrants]).toEqual([1, 1]);
      } finally {
        await client.close();
      }
    },
  );
});

test('a machine gets rows by its own credentials, over REST', async () => {
  const token = await provider.clientCredentials(SCOPE);
  const answer = await service.call(
    'list_loans',
    {},
    { key: null, headers: { authorization: `Bearer ${token}` } },
  );
  expect([answer.status, answer.json]).toEqual([200, { rows: [{ title: 'Read in the north' }], count: 1 }]);
});

test(
  'a new key of the provider is fetched once, and tokens of the old one go on while it is in the set',
  { tags: ['token:rotation'] },
  async () => {
    const call = (token: string): Promise<{ readonly status: number }> =>
      service.call('list_loans', {}, { key: null, headers: { authorization: `Bearer ${token}` } });
    const before = await provider.clientCredentials(SCOPE);
    expect((await call(before)).status).toBe(200);
    const fetched = provider.keySetRequests;
    await provider.rotateKeys({ keepsOld: true });
    const after = await provider.clientCredentials(SCOPE);
    const answers = await Promise.all(Array.from({ length: 20 }, () => call(after)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await call(before)).status).toBe(200);
    // One by the gateway, one by the agent.
    expect(provider.keySetRequests - fetched).toBe(2);
  },
);

test(
  'a client whose token has ended refreshes it and goes on, without its user',
  { tags: ['token:refresh'] },
  async () => {
    const client = await connectSecond(resource, {
      registration: { kind: 'manual', clientId: BY_HAND },
      signIn: browser(provider.fetch),
      fetch: provider.fetch,
    });
    try {
      await client.call('list_loans', {});
      // A token of the provider lives that long; both programs allow for no skew here.
      await vi.waitFor(
        async () => {
          await client.call('list_loans', {});
          expect(client.tokenGrants).toBe(2);
        },
        { timeout: (TOKEN_SECONDS + 10) * 1000, interval: 500 },
      );
      expect(client.signIns).toBe(1);
    } finally {
      await client.close();
    }
  },
);
