import { createTokenVerifier, parseIssuers, type KeysEvent } from '@svc/identity';
import { createTokenIssuer } from '@svc/testkit';
import { expect, it } from 'vitest';
import { createPrimaryChannel } from '../primary/primary-channel.ts';
import { createWorkerChannel } from '../worker/worker-channel.ts';
import { inProcessWire } from '../in-process-wire.testing.ts';
import { startOrder } from '../start-order.testing.ts';
import { fetchIssuerKeys, followIssuerKeys } from './shared-issuers.ts';

const ISSUER = 'https://idp.example';
const RESOURCE = 'https://gateway.example/mcp';
const SETTINGS = { clockSkewMs: 30_000, refreshMs: 600_000, maxStaleMs: 86_400_000 };

it('fetches the keys of an issuer once for all workers, and once more for a key that none knows', async () => {
  const record = {
    name: 'idp',
    issuer: ISSUER,
    jwks_uri: `${ISSUER}/keys`,
    grants: [{ capabilities: ['*'], scope: 's' }],
  };
  const parsed = parseIssuers([record], { resource: RESOURCE });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const { issuers } = parsed;
  const [old, next, forged] = ['k1', 'k2', 'k3'].map((kid) => createTokenIssuer(ISSUER, RESOURCE, kid));
  if (old === undefined || next === undefined || forged === undefined) throw new Error('no issuers');
  let jwks = old.jwks;
  let fetched = 0;
  const events: KeysEvent[] = [];

  const primary = createPrimaryChannel();
  primary.answer('start', () => startOrder());
  const keys = fetchIssuerKeys(
    primary,
    (event) => events.push(event),
    async () => {
      fetched++;
      await Promise.resolve();
      return Buffer.from(jwks);
    },
  );
  const tokens = { issuers, publicUrl: 'https://gateway.example', ...SETTINGS };
  const services = [{ id: 'default', agentPublicKeys: [], keys: [], tokens }];
  keys.setServices(services);
  const verifiers = await Promise.all(
    [0, 1].map(async (worker) => {
      const wire = inProcessWire();
      primary.attach(worker, wire.primary);
      const channel = createWorkerChannel(wire.worker);
      const { config } = await channel.ask('start', { version: '' });
      expect(config.workers).toBe(1);
      return createTokenVerifier({
        issuers: structuredClone(issuers),
        ...SETTINGS,
        onKeys: () => {},
        openKeySet: followIssuerKeys(channel)('default'),
      });
    }),
  );
  const outcomes = async (issuer: typeof old, jti: string): Promise<readonly unknown[]> => {
    const token = issuer.token({ sub: 'x', scope: 's', client_id: 'c', jti });
    const settled = await Promise.all(verifiers.map(async (verifier) => verifier.verify(token)));
    return settled.map((outcome) => (outcome.kind === 'refused' ? outcome.failure : outcome.kind));
  };

  // The first of each waits for the first fetch.
  expect(await outcomes(old, '1')).toEqual(['verified', 'verified']);
  expect(fetched).toBe(1);
  jwks = next.jwks;
  expect(await outcomes(next, '2')).toEqual(['verified', 'verified']);
  expect(fetched).toBe(2);
  // What the key that is gone has signed counts no more, remembered or not.
  expect(await outcomes(old, '1')).toEqual(['unknown_key', 'unknown_key']);
  // The issuer was asked a moment ago.
  expect(await outcomes(forged, '3')).toEqual(['unknown_key', 'unknown_key']);
  expect(fetched).toBe(2);
  // Nothing changes where the same services come again.
  keys.setServices(structuredClone(services));
  expect(await outcomes(next, '4')).toEqual(['verified', 'verified']);
  expect(fetched).toBe(2);
  expect(events.map(({ event }) => event)).toEqual(['keys_fetched', 'keys_fetched']);
  keys.close();
});
