import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSigningKey, mint, startTestIssuer, type TestIssuer } from '../model/issuer.testing.ts';
import { nowSeconds, openVerifier, RESOURCE, type TestVerifier } from './verifier.testing.ts';

const KEY = createSigningKey('ES256', { kid: 'k' });
const NEXT = createSigningKey('ES256', { kid: 'next' });
const OPENID = '/.well-known/openid-configuration';

let issuer: TestIssuer;
let verifier: TestVerifier | undefined;

beforeEach(async () => {
  issuer = await startTestIssuer();
  issuer.publish(KEY);
});
afterEach(async () => {
  verifier?.close();
  await issuer.close();
});

function open(fields: object = {}, options: Parameters<typeof openVerifier>[1] = {}): TestVerifier {
  verifier = openVerifier([{ name: 'own', issuer: issuer.url, ...fields }], options);
  return verifier;
}

function token(key = KEY): string {
  const times = { iat: nowSeconds(), exp: nowSeconds() + 3600 };
  const claims = { iss: issuer.url, aud: RESOURCE, sub: 'user-1', ...times };
  return mint(key, { alg: 'ES256', kid: key.jwk['kid'] }, claims);
}

describe('an issuer', () => {
  it('34: that is down makes its tokens wait for a moment, then unavailable, not refused', async () => {
    issuer.answers.set(OPENID, { status: 503 });
    issuer.answers.set('/.well-known/oauth-authorization-server', { status: 503 });
    const verifier = open();
    const outcome = await verifier.verify(token());
    expect(outcome).toEqual({
      kind: 'unavailable',
      issuer: expect.objectContaining({ name: 'own' }),
      retryAfterSeconds: 30,
    });
    expect(verifier.events).toEqual([
      {
        event: 'keys_fetch_failed',
        issuer: 'own',
        reason: `${issuer.url}/.well-known/oauth-authorization-server answered with status 503`,
        keys_serve: false,
      },
    ]);
    expect(verifier.counters.fetchFailures).toBe(1);

    // Nothing is remembered of it: the next token makes us ask again, without waiting, and is taken then.
    issuer.answers.set(OPENID, {
      body: JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` }),
    });
    expect(await verifier.verify(token())).toMatchObject({ kind: 'unavailable' });
    await expect.poll(async () => verifier.verify(token())).toMatchObject({ kind: 'verified' });
  });

  it('that signs with a new key is asked for it', async () => {
    const verifier = open();
    expect(await verifier.verify(token())).toMatchObject({ kind: 'verified' });
    issuer.publish(KEY, NEXT);
    expect(await verifier.verify(token(NEXT))).toMatchObject({ kind: 'verified' });
    expect(await verifier.verify(token())).toMatchObject({ kind: 'verified' });
    expect(issuer.asked('/jwks')).toBe(2);
  });

  it('is asked in the background for as long as the verifier is open', async () => {
    const verifier = open({}, { refreshMs: 20 });
    await expect.poll(() => issuer.asked('/jwks')).toBeGreaterThan(2);
    issuer.publish(NEXT);
    await expect.poll(() => verifier.events.length).toBe(2);
    expect(await verifier.verify(token(NEXT))).toMatchObject({ kind: 'verified' });
  });

  it.each([
    ['10 MB of keys', { body: JSON.stringify({ keys: [KEY.jwk] }).padEnd(10_000_000) }],
    ['a way to elsewhere', { status: 302, headers: { location: '/elsewhere' } }],
  ])('32: that answers with %s has no keys', async (_what, answer) => {
    issuer.answers.set('/elsewhere', { body: JSON.stringify({ keys: [KEY.jwk] }) });
    issuer.answers.set('/jwks', answer);
    expect(await open().verify(token())).toMatchObject({ kind: 'unavailable' });
  });

  it('33: whose discovery is another’s has no keys', async () => {
    const metadata = { issuer: 'https://other.example.com', jwks_uri: `${issuer.url}/jwks` };
    issuer.answers.set(OPENID, { body: JSON.stringify(metadata) });
    expect(await open().verify(token())).toMatchObject({ kind: 'unavailable' });
  });

  it('whose keys are in a file has it looked at every minute, until the verifier is closed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-tmp-jwks-'));
    const path = join(folder, 'jwks.json');
    const publish = async ({ jwk }: typeof KEY): Promise<void> =>
      writeFile(path, JSON.stringify({ keys: [jwk] }));
    await publish(KEY);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const verifier = open({ jwks_file: path });
      expect(await verifier.verify(token())).toMatchObject({ kind: 'verified' });
      await publish(NEXT);
      await vi.advanceTimersByTimeAsync(60_000);
      await vi.waitUntil(() => verifier.events.length === 2);
      expect(await verifier.verify(token(NEXT))).toMatchObject({ kind: 'verified' });
      expect(issuer.requests).toEqual([]);
      verifier.close();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
      await rm(folder, { recursive: true });
    }
  });
});
