import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSigningKey, encode, mint, startTestIssuer, type TestIssuer } from '../model/issuer.testing.ts';
import { nowSeconds, openVerifier, RESOURCE, SKEW_SECONDS, type TestVerifier } from './verifier.testing.ts';

const MINUTE = 60_000;
const KEY = createSigningKey('ES256', { kid: 'k' });
const NEXT = createSigningKey('ES256', { kid: 'next' });
/** Another key under the name of the first. */
const REPLACED = createSigningKey('ES256', { kid: 'k' });

let issuer: TestIssuer;
let verifier: TestVerifier;

beforeEach(async () => {
  issuer = await startTestIssuer();
  issuer.publish(KEY);
  verifier = openVerifier([{ name: 'own', issuer: issuer.url }]);
});
afterEach(async () => {
  verifier.close();
  await issuer.close();
});

function token(key = KEY, fields: object = {}): string {
  const times = { iat: nowSeconds(), exp: nowSeconds() + 3600 };
  const claims = { iss: issuer.url, aud: RESOURCE, sub: 'user-1', ...times, ...fields };
  return mint(key, { alg: 'ES256', kid: key.jwk['kid'] }, claims);
}

/** Has the issuer asked for its keys again, as a token of an unknown key does. */
async function refetch(): Promise<void> {
  verifier.clock.ms += 30_000;
  await verifier.verify(token(KEY).replace(/^[^.]+/, encode({ alg: 'ES256', kid: 'unknown' })));
}

describe('a verified token', () => {
  it('is remembered, as the same object', async () => {
    const presented = token();
    const outcome = await verifier.verify(presented);
    expect(outcome).toMatchObject({ kind: 'verified' });
    expect(verifier.verify(presented)).toBe(outcome);
    expect(verifier.counters).toEqual({ cacheHits: 1, cacheMisses: 1, fetchFailures: 0 });
  });

  it('is verified once for all who present it at the same time', async () => {
    const presented = token();
    const first = verifier.verify(presented);
    expect(first).toBeInstanceOf(Promise);
    expect(verifier.verify(presented)).toBe(first);
    expect(await verifier.verify(presented)).toBe(await first);
    expect(verifier.verify(presented)).toBe(await first);
  });

  it('29: is not remembered past its end', async () => {
    const presented = token(KEY, { exp: nowSeconds() + 120 });
    await verifier.verify(presented);
    verifier.clock.aheadMs = (120 + SKEW_SECONDS - 15) * 1000;
    expect(verifier.verify(presented)).toMatchObject({ kind: 'verified' });
    verifier.clock.aheadMs = (120 + SKEW_SECONDS + 5) * 1000;
    expect(await verifier.verify(presented)).toMatchObject({ kind: 'refused', failure: 'expired' });
  });

  it('is verified again after five minutes', async () => {
    const presented = token();
    await verifier.verify(presented);
    verifier.clock.ms += 5 * MINUTE - 1;
    expect(verifier.verify(presented)).toMatchObject({ kind: 'verified' });
    verifier.clock.ms += 1;
    expect(verifier.verify(presented)).toBeInstanceOf(Promise);
  });

  it('28: is refused once its key has left the set', async () => {
    const presented = token();
    await verifier.verify(presented);
    issuer.publish(NEXT);
    await refetch();
    expect(await verifier.verify(presented)).toMatchObject({ kind: 'refused', failure: 'unknown_key' });
  });

  it('28: is refused once the set is empty', async () => {
    const presented = token();
    await verifier.verify(presented);
    issuer.publish();
    await refetch();
    expect(await verifier.verify(presented)).toMatchObject({ kind: 'refused', failure: 'unknown_key' });
  });

  it('28: is refused once another key has the name of its key', async () => {
    const presented = token();
    await verifier.verify(presented);
    issuer.publish(REPLACED);
    await refetch();
    expect(await verifier.verify(presented)).toMatchObject({ kind: 'refused', failure: 'signature' });
  });

  it('stays remembered when keys are fetched and its key is still there', async () => {
    const presented = token();
    const outcome = await verifier.verify(presented);
    issuer.publish(NEXT, KEY);
    await refetch();
    expect(verifier.verify(presented)).toBe(outcome);
    expect(await verifier.verify(token(NEXT))).toMatchObject({ kind: 'verified' });
  });

  it('30: gives its signature to no other payload', async () => {
    const presented = token();
    await verifier.verify(presented);
    const [header, , signature] = presented.split('.');
    const [, payload] = token(KEY, { sub: 'admin' }).split('.');
    expect(await verifier.verify(`${header}.${payload}.${signature}`)).toMatchObject({
      kind: 'refused',
      failure: 'signature',
    });
  });
});

describe('a refused token', () => {
  it('is remembered for ten seconds', async () => {
    const forged = token(REPLACED);
    const outcome = await verifier.verify(forged);
    expect(outcome).toMatchObject({ kind: 'refused', failure: 'signature' });
    verifier.clock.ms += 9_999;
    expect(verifier.verify(forged)).toBe(outcome);
    verifier.clock.ms += 1;
    expect(verifier.verify(forged)).toBeInstanceOf(Promise);
  });

  it('is not remembered for a lack of keys', async () => {
    const early = token(NEXT);
    expect(await verifier.verify(early)).toMatchObject({ kind: 'refused', failure: 'unknown_key' });
    issuer.publish(KEY, NEXT);
    verifier.clock.ms += 30_000;
    await refetch();
    expect(await verifier.verify(early)).toMatchObject({ kind: 'verified' });
    expect(verifier.counters.cacheHits).toBe(0);
  });

  it('is looked at again once other keys are known', async () => {
    const presented = token(REPLACED);
    expect(await verifier.verify(presented)).toMatchObject({ kind: 'refused', failure: 'signature' });
    issuer.publish(REPLACED);
    verifier.clock.ms = -60_000;
    await refetch();
    verifier.clock.ms = 0;
    expect(await verifier.verify(presented)).toMatchObject({ kind: 'verified' });
  });

  it('makes no verified one be forgotten, however many there are, but the oldest refused one', async () => {
    const presented = token();
    const outcome = await verifier.verify(presented);
    const [header, payload] = presented.split('.');
    const forged = Array.from({ length: 10_001 }, (_, index) => {
      const signature = Buffer.alloc(64);
      signature.writeUInt32BE(index, 60);
      return `${header}.${payload}.${signature.toString('base64url')}`;
    });
    for (const each of forged) await verifier.verify(each);
    expect(verifier.verify(presented)).toBe(outcome);
    expect(verifier.verify(forged[1] ?? '')).toMatchObject({ kind: 'refused', failure: 'signature' });
    expect(verifier.verify(forged[0] ?? '')).toBeInstanceOf(Promise);
  });
});
