import {
  ask,
  createAgentSecret,
  createKey,
  createReleasers,
  gatewaySettings,
  runProcess,
  startFaultProxy,
  startGateway,
  startValkey,
  SVC_GATEWAY,
  temporaryFolder,
  type CreatedKey,
  type FaultProxy,
  type StartedGateway,
  type TemporaryFolder,
  type Valkey,
} from '@svc/testkit';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasValkey } from '../../valkey/needs-valkey.testing.ts';

const PASSWORD = 'correct-horse';
/** What is promised, and what a busy machine may add. */
const PROMISED_MS = 3000;
const BOUND_MS = 5 * PROMISED_MS;

describe.skipIf(!hasValkey)('keys that are revoked', () => {
  const releasers = createReleasers();
  let valkey: Valkey;
  let proxy: FaultProxy;
  let folder: TemporaryFolder;
  let keys: CreatedKey[];
  let settings: Readonly<Record<string, string>>;
  let gateways: StartedGateway[];

  beforeAll(async () => {
    folder = await temporaryFolder('revocation');
    await releasers.add(() => folder.remove());
    valkey = await startValkey({ password: PASSWORD });
    await releasers.add(() => valkey.stop());
    proxy = await startFaultProxy({ target: valkey });
    await releasers.add(() => proxy.close());
    keys = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => createKey(name, '*')));
    const { agent_public_key: publicKey } = createAgentSecret();
    const passwordFile = join(folder.path, 'password');
    await writeFile(passwordFile, `${PASSWORD}\n`);
    settings = {
      ...gatewaySettings(
        publicKey,
        keys.map(({ record }) => record),
      ),
      GATEWAY_VALKEY_URL: `redis://127.0.0.1:${proxy.port}`,
      GATEWAY_VALKEY_PASSWORD_FILE: passwordFile,
      GATEWAY_VALKEY_PREFIX: 'cell-1:',
    };
    gateways = await Promise.all([start({}), start({ GATEWAY_WORKERS: '2' })]);
  });
  afterAll(() => releasers.closeAll());

  async function start(env: Readonly<Record<string, string>>): Promise<StartedGateway> {
    const gateway = await startGateway({ ...settings, ...env });
    await releasers.add(() => gateway.process.stop());
    return gateway;
  }

  const keyAt = (index: number): string => keys[index]?.api_key ?? '';
  const idOf = (index: number): string => String(keys[index]?.record['key_id']);

  /** What a key comes to; `taken` where the gateway looks for an agent to ask. On a connection of its own, so that any worker may answer. */
  async function outcomeOf({ port }: StartedGateway, apiKey: string): Promise<string> {
    const { status, text } = await ask(`http://127.0.0.1:${port}/openapi.json`, {
      apiKey,
      headers: { connection: 'close' },
    });
    return text.includes('GATEWAY_AGENT_OFFLINE') ? 'taken' : String(status);
  }

  /** Of several in turn, so that each worker was asked. */
  async function becomes(gateway: StartedGateway, apiKey: string, outcome: string): Promise<void> {
    await expect
      .poll(
        async () => {
          const outcomes = new Set<string>();
          for (let time = 0; time < 4; time++) outcomes.add(await outcomeOf(gateway, apiKey));
          return outcomes;
        },
        { timeout: BOUND_MS, interval: 20 },
      )
      .toEqual(new Set([outcome]));
  }

  const revoke = (args: readonly string[], env: Readonly<Record<string, string>> = settings) =>
    runProcess(SVC_GATEWAY, ['revoke-key', ...args], { env });

  test('are refused everywhere within three seconds, known or not', async () => {
    await Promise.all(gateways.map((gateway) => becomes(gateway, keyAt(1), 'taken')));
    const { code, stdout } = await revoke(['--key-id', idOf(1)]);
    expect(code).toBe(0);
    expect(stdout).toContain(idOf(1));
    expect(stdout).toContain('remove its record');
    const startedAt = performance.now();
    await Promise.all(gateways.map((gateway) => becomes(gateway, keyAt(1), '401')));
    expect(performance.now() - startedAt).toBeLessThan(BOUND_MS);
    const told = `"event":"keys_revoked","key_ids":["${idOf(1)}"]`;
    await Promise.all(gateways.map(({ process }) => process.waitForLine((line) => line.includes(told))));
    await Promise.all(gateways.map((gateway) => becomes(gateway, keyAt(0), 'taken')));
    expect(await valkey.command('HKEYS', 'cell-1:revoked')).toBe(idOf(1));
    expect(await valkey.command('TTL', 'cell-1:revoked')).toBe('-1');
  });

  test('are refused without the message too, from the list alone', async () => {
    const added = await valkey.command('HSET', 'cell-1:revoked', idOf(2), '2026-01-01T00:00:00Z');
    expect(added).toBe('1');
    await Promise.all(gateways.map((gateway) => becomes(gateway, keyAt(2), '401')));
  });

  test('stay refused when Valkey is away, and when its list is lost', { timeout: 60_000 }, async () => {
    proxy.stall('both');
    const { code, stdout, stderr } = await revoke(['--key-id', idOf(3)]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^svc-gateway: the key is not revoked: Valkey: .*; check that Valkey runs/);
    expect(stderr).not.toContain(PASSWORD);
    await Promise.all(gateways.map((gateway) => becomes(gateway, keyAt(1), '401')));
    await Promise.all(gateways.map((gateway) => becomes(gateway, keyAt(3), 'taken')));
    proxy.cut();
    proxy.resume();
    await valkey.command('FLUSHALL');
    expect((await revoke(['--key-id', idOf(3), '--json'])).stdout).toBe(
      `${JSON.stringify({ key_id: idOf(3), revoked_before: false, record_found: true })}\n`,
    );
    await Promise.all(gateways.map((gateway) => becomes(gateway, keyAt(3), '401')));
    await Promise.all(gateways.map((gateway) => becomes(gateway, keyAt(1), '401')));
  });

  test('make a gateway wait that starts without the list', async () => {
    proxy.stall('both');
    const late = await Promise.all([start({}), start({ GATEWAY_WORKERS: '2' })]);
    for (const gateway of late) {
      const answer = await ask(`http://127.0.0.1:${gateway.port}/openapi.json`, { apiKey: keyAt(0) });
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(answer.json).toMatchObject({ error: { code: 'GATEWAY_ISSUER_UNAVAILABLE' } });
      expect((await ask(`http://127.0.0.1:${gateway.port}/healthz`)).status).toBe(200);
    }
    proxy.cut();
    proxy.resume();
    await Promise.all(late.map((gateway) => becomes(gateway, keyAt(0), 'taken')));
    await Promise.all(late.map((gateway) => becomes(gateway, keyAt(3), '401')));
  });

  test('by an id that no record has are taken, with a note', async () => {
    const { code, stdout } = await revoke(['--key-id', 'nobody']);
    expect(code).toBe(0);
    expect(stdout).toContain('No record in the settings read here has this key_id');
    expect((await revoke(['--key-id', 'nobody', '--json'])).stdout).toBe(
      '{"key_id":"nobody","revoked_before":true,"record_found":false}\n',
    );
  });

  test('need nothing but the settings of Valkey, which may stand in a file', async () => {
    const file = join(folder.path, 'valkey.env');
    const lines = Object.entries(settings).filter(([name]) => name.startsWith('GATEWAY_VALKEY'));
    await writeFile(file, lines.map(([name, value]) => `${name}=${value}\n`).join(''));
    const args = ['--key-id', idOf(4), '--json', '--env-file', file];
    const { code, stdout } = await runProcess(process.execPath, ['--', SVC_GATEWAY, 'revoke-key', ...args]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ key_id: idOf(4), revoked_before: false, record_found: null });
    await Promise.all(gateways.map((gateway) => becomes(gateway, keyAt(4), '401')));
  });

  test('are refused with a password that Valkey does not take, and it is not shown', async () => {
    const file = join(folder.path, 'wrong');
    await writeFile(file, 'battery staple');
    const { code, stderr } = await revoke(['--key-id', 'a'], {
      ...settings,
      GATEWAY_VALKEY_PASSWORD_FILE: file,
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/WRONGPASS .*see GATEWAY_VALKEY_PASSWORD_FILE/);
    expect(stderr).not.toContain('battery');
  });
});
