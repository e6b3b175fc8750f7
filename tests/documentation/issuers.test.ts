import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTokenVerifier, parseIssuers, TOKEN_FAILURES, type TokenOutcome } from '@svc/identity';
import { temporaryFolder, type TemporaryFolder } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readDocument } from './documents.ts';
import { blocksOfKind, createLookAlikeKey, readLookAlikes, type LookAlike } from './look-alikes.testing.ts';

/** The records of the guides, and tokens that look like those of the identity providers that they are for. */
const RESOURCE = 'https://gateway.example.com/mcp';
const KID = 'made-up-key-1';
const lookAlikes = readLookAlikes();
const key = createLookAlikeKey(KID);
const strangersKey = createLookAlikeKey(KID);

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder('issuers');
  await writeFile(join(folder.path, 'jwks.json'), key.keySet);
});
afterAll(() => folder.remove());

test.each(blocksOfKind('json issuers').map(({ at, text }) => [at, text] as const))(
  'the records at %s are taken as they stand',
  (_, text) => {
    expect(parseIssuers(JSON.parse(text), { resource: RESOURCE })).toMatchObject({ ok: true, warnings: [] });
  },
);

/** What becomes of a token by the record of a guide, with keys of ours, a minute after it was made. */
async function verify(
  { record, header, payload }: LookAlike,
  changed: Readonly<Record<string, unknown>> = {},
  signer = key,
): Promise<TokenOutcome> {
  const { jwks_uri: _, ...rest } = record;
  const parsed = parseIssuers([{ ...rest, jwks_file: join(folder.path, 'jwks.json') }], {
    resource: RESOURCE,
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const verifier = createTokenVerifier({
    issuers: parsed.issuers,
    clockSkewMs: 30_000,
    refreshMs: 600_000,
    maxStaleMs: 600_000,
    onKeys: () => {},
    wallClock: () => (Number(payload['iat']) + 60) * 1000,
  });
  try {
    return await verifier.verify(signer.sign(header, { ...payload, ...changed }));
  } finally {
    verifier.close();
  }
}

describe.each(lookAlikes.map((lookAlike) => [lookAlike.at, lookAlike] as const))(
  'the token at %s',
  { tags: ['token:providers'] },
  (_, lookAlike) => {
    const { payload } = lookAlike;

    test('is taken, and a grant fits', async () => {
      const outcome = await verify(lookAlike);
      expect(outcome).toMatchObject({
        kind: 'verified',
        subject: payload['sub'],
        issuedAt: payload['iat'],
        expiresAt: payload['exp'],
      });
      expect(outcome).toMatchObject({ grants: expect.arrayContaining([expect.any(Number)]) });
    });

    test('is refused with another key, audience or issuer', async () => {
      const failures = [
        await verify(lookAlike, {}, strangersKey),
        await verify(lookAlike, { aud: 'https://other.example.com/mcp' }),
        await verify(lookAlike, { iss: `${String(payload['iss'])}/` }),
      ];
      expect(failures).toMatchObject([
        { failure: 'signature' },
        { failure: 'audience' },
        { failure: 'unknown_issuer' },
      ]);
    });
  },
);

test.each(
  lookAlikes.flatMap((lookAlike) =>
    Object.keys(lookAlike.record['required_claims'] ?? {}).map(
      (name) => [lookAlike.at, name, lookAlike] as const,
    ),
  ),
)('the token at %s is refused without %s, and with another value of it', async (_, name, lookAlike) => {
  expect([
    await verify(lookAlike, { [name]: undefined }),
    await verify(lookAlike, { [name]: 'made-up' }),
  ]).toMatchObject([{ failure: 'required_claim' }, { failure: 'required_claim' }]);
});

test('there is a token of each provider, and of each form that it gives them', () => {
  const guides = lookAlikes.map(({ at }) => /issuers\/([\w-]+)\.md/.exec(at)?.[1] ?? '');
  const counted = Object.fromEntries(
    guides.map((name) => [name, guides.filter((one) => one === name).length]),
  );
  expect(counted).toEqual({
    auth0: 2,
    entra: 3,
    'github-actions': 2,
    google: 2,
    keycloak: 1,
    kubernetes: 1,
    okta: 1,
  });
});

const at = (guide: string): readonly LookAlike[] => lookAlikes.filter((one) => one.at.includes(guide));

test('what a record maps has the value that the token has there', async () => {
  const claims = await Promise.all(
    lookAlikes.map(async (lookAlike) => {
      const outcome = await verify(lookAlike);
      return outcome.kind === 'verified' ? { ...outcome.claims, client: outcome.clientId } : {};
    }),
  );
  const orgId = '8f6f1c1e-2a86-4c5e-9f3b-0c0d5a7e1b11';
  expect(claims).toContainEqual({ org_id: orgId, client: 'Made1Up2Client3' });
  expect(claims).toContainEqual({
    org_id: orgId,
    user_id: '00u1made2up3user456',
    client: '0oa1made2up3client4',
  });
  expect(claims).toContainEqual({ org_id: orgId, client: 'ai-client' });
  expect(claims).toContainEqual({ namespace: 'library', client: '' });
  const actions = { repository: 'octo-org/octo-repo', ref: 'refs/heads/main', client: '' };
  expect(claims.filter((one) => 'repository' in one)).toEqual([actions, actions]);
  expect(claims).toContainEqual({
    user_id: 'aaaaaaaa-0000-4111-8222-bbbbbbbbbbbb',
    client: '22223333-cccc-4444-8ddd-5555eeee6666',
  });
});

test("an ID token of Entra for the gateway's registration may call nothing, or is refused", async () => {
  const [people, programs] = at('entra.md');
  const asIdToken = { scp: undefined, azp: undefined, azpacr: undefined, roles: ['Library.Read'] };
  if (people === undefined || programs === undefined) throw new Error('the guide has no tokens');
  expect(await verify(people, asIdToken)).toMatchObject({ kind: 'verified', grants: [] });
  expect(await verify(people, { ...asIdToken, nonce: 'x' })).toMatchObject({ failure: 'id_token' });
  expect(await verify(programs, asIdToken)).toMatchObject({ failure: 'required_claim' });
});

test('the workflow and the pod ask for a token for the resource', () => {
  const [workflow, pod] = [...blocksOfKind('yaml workflow'), ...blocksOfKind('yaml manifest')];
  const { permissions, jobs } = parse(workflow?.text ?? '');
  expect(permissions).toEqual({ 'id-token': 'write' });
  expect(jobs.report.steps[0].run).toContain(`&audience=${RESOURCE}"`);
  const [source] = parse(pod?.text ?? '').spec.volumes[0].projected.sources;
  expect(source.serviceAccountToken).toMatchObject({ audience: RESOURCE, path: 'token' });
});

test('the guide explains every reason for which a token is refused', () => {
  const { text } = readDocument('docs/guides/token-checks.md');
  const explained = text.split('## Find out why')[1]?.split('\n## ')[0] ?? '';
  expect(TOKEN_FAILURES.filter((failure) => !explained.includes(`\`${failure}\``))).toEqual([]);
});
