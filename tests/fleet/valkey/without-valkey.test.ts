import {
  ask,
  createAgentSecret,
  createKey,
  freePort,
  gatewaySettings,
  runProcess,
  startGateway,
  SVC_GATEWAY,
} from '@svc/testkit';
import { expect, test } from 'vitest';

test(
  'a gateway whose Valkey is away starts, serves, keeps its limits alone, and says so',
  { tags: ['metrics:valkey', 'setting:GATEWAY_VALKEY_URL', 'log:shared_limits_lost'] },
  async () => {
    const { agent_public_key: publicKey } = createAgentSecret();
    const key = await createKey('a', '*');
    const gateway = await startGateway({
      ...gatewaySettings(publicKey, [key.record]),
      GATEWAY_VALKEY_URL: `redis://127.0.0.1:${await freePort()}`,
      GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '0.01',
      GATEWAY_RATE_LIMIT_BURST: '3',
      GATEWAY_METRICS_ADDR: '127.0.0.1:0',
    });
    try {
      const lost = await gateway.process.waitForLine((line) => line.includes('"shared_limits_lost"'));
      expect(JSON.parse(lost)).toMatchObject({
        level: 'warn',
        message: expect.stringMatching(/^Valkey: .*ECONNREFUSED/),
      });
      const url = `http://127.0.0.1:${gateway.port}`;
      const refused = await ask(`${url}/openapi.json`, { apiKey: key.api_key });
      expect(refused.status).toBe(503);
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(refused.json).toMatchObject({ error: { code: 'GATEWAY_ISSUER_UNAVAILABLE' } });
      const statuses = [];
      for (let time = 0; time < 4; time++) statuses.push((await ask(`${url}/healthz`)).status);
      expect(statuses).toEqual([200, 200, 429, 429]);
      const line = await gateway.process.waitForLine((text) => text.includes('"metrics_listening"'));
      const { port }: { port: number } = JSON.parse(line);
      const { text } = await ask(`http://127.0.0.1:${port}/metrics`);
      expect(text).toMatch(/^svc_gateway_valkey_up 0$/m);
      expect(text).toMatch(/^svc_gateway_leases_total\{result="unanswered"\} 0$/m);
    } finally {
      await gateway.process.stop();
    }
  },
);

test(
  'revoke-key says that Valkey is away, or what is wrong with its settings',
  { tags: ['command:revoke-key'] },
  async () => {
    const revoke = (env: Readonly<Record<string, string>>) =>
      runProcess(SVC_GATEWAY, ['revoke-key', '--key-id', 'a'], { env });
    const away = await revoke({ GATEWAY_VALKEY_URL: `redis://127.0.0.1:${await freePort()}` });
    expect(away).toMatchObject({ code: 1, stdout: '' });
    expect(away.stderr).toMatch(/^svc-gateway: the key is not revoked: Valkey: .*ECONNREFUSED.*try again$/m);
    const without = await revoke({});
    expect(without).toMatchObject({ code: 2, stdout: '' });
    expect(without.stderr).toMatch(
      /^svc-gateway: GATEWAY_VALKEY_URL: is not set, so gateways share no revocations/,
    );
    const wrong = await revoke({ GATEWAY_VALKEY_URL: 'redis://:hush@localhost' });
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toMatch(/^svc-gateway: GATEWAY_VALKEY_URL: must not carry the password/);
    expect(wrong.stderr).not.toContain('hush');
  },
);
