import { randomBytes } from 'node:crypto';
import { compareSync } from 'bcryptjs';
import { describe, expect, it } from 'vitest';
import { parseKeyRecords } from '../../config/services/key-records.ts';
import { createSharePermissions } from '../permission-sets.ts';
import { createAuthenticator } from './authenticator.ts';
import { createKey } from './create-key.ts';

describe('createKey', () => {
  const options = { name: 'reporting', capabilities: ['find_book'], randomBytes };

  it('makes a key whose record the gateway reads, and which opens it', async () => {
    const { apiKey, record } = createKey(options);
    const parsed = parseKeyRecords(JSON.stringify([record]), 'setting');
    if (!parsed.ok) throw new Error(parsed.problems.join());
    const authenticator = createAuthenticator({
      services: [{ id: 'default', keys: parsed.value }],
      now: () => 0,
      wallClock: () => 0,
      sharePermissions: createSharePermissions(),
      verify: async (plaintext, hash) => compareSync(plaintext, hash),
    });
    expect(await authenticator.authenticate(apiKey, 'source', 'default')).toMatchObject({
      id: 'key:reporting',
      name: 'reporting',
      permissions: new Set(['find_book']),
    });
    expect(await authenticator.authenticate(`${apiKey.slice(0, -1)}!`, 'source', 'default')).toBe('invalid');
  });

  it('writes whose key it is, what is claimed of them, and until when', () => {
    const further = { principal: 'ann', claims: { org: 'north' }, expiresAt: '2027-01-31T00:00:00Z' };
    const { record } = createKey({ ...options, ...further });
    expect(parseKeyRecords(JSON.stringify([record]), 'setting')).toMatchObject({
      ok: true,
      value: [{ principal: 'ann', claims: { org: 'north' }, expiresAtMs: Date.UTC(2027, 0, 31) }],
    });
    expect(Object.keys(createKey(options).record)).toEqual(['name', 'key_id', 'key_hash', 'capabilities']);
  });

  it('keeps within 72 bytes and has at least 160 bits of secret', () => {
    const { apiKey, record } = createKey(options);
    const [prefix, keyId, secret] = apiKey.split('_');
    expect(prefix).toBe('svc');
    expect(keyId).toBe(record.key_id);
    expect(secret).toMatch(/^[0-9a-f]{40,}$/);
    expect(Buffer.byteLength(apiKey)).toBeLessThanOrEqual(72);
    expect(record.key_hash).toMatch(/^\$2[aby]\$10\$/);
    expect(JSON.stringify(record)).not.toContain(secret);
  });

  it('never makes the same key twice', () => {
    const [one, two] = [createKey(options), createKey(options)];
    expect(one.apiKey).not.toBe(two.apiKey);
    expect(one.record.key_id).not.toBe(two.record.key_id);
  });
});
