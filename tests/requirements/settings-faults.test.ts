import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runProcess, SVC_GATEWAY } from '@svc/testkit';
import { gatewaysOfThisFile } from './gateways-of-this-file.testing.ts';
import { CALL, JSON_TYPE, recordsOf, type Environment } from './lone-gateway.testing.ts';

const { agentKey, common, start, refusal, asKey } = gatewaysOfThisFile();
const PUBLIC_KEY = agentKey.publicKey.toString('base64url');

describe('--env-file', { tags: ['setting:env-file'] }, () => {
  test('takes single quotes literally, and the environment wins', async () => {
    const path = join(common().folder, 'gateway.env');
    const dollar = JSON.stringify([{ ...common().created.record, name: 'a $name ${HOME} \\n' }]);
    await writeFile(
      path,
      `# comment\nexport GATEWAY_ADDR="127.0.0.1:99999"\nGATEWAY_AGENT_PUBLIC_KEY=${PUBLIC_KEY} # of the agent\n\n` +
        `GATEWAY_API_KEYS_JSON='${dollar}'\nGATEWAY_MAX_REQUEST_BODY_BYTES = 50\n`,
    );
    const gateway = await start(
      {
        GATEWAY_MAX_REQUEST_BODY_BYTES: '20',
        // Variables that are absent.
        GATEWAY_AGENT_PUBLIC_KEY: undefined,
        GATEWAY_API_KEYS_JSON: undefined,
      },
      { args: ['--env-file', path] },
    );
    const send = (body: string): Promise<number> =>
      gateway.ask('POST', CALL, { headers: asKey(JSON_TYPE), body }).then(({ status }) => status);
    expect(await send(`{"t":"${'x'.repeat(12)}"}`)).toBe(503);
    expect(await send(`{"t":"${'x'.repeat(13)}"}`)).toBe(400);
    expect(await gateway.requests(1)).toMatchObject([{ api_key_name: 'a $name ${HOME} \\n' }, {}]);
  });

  test.each([
    ['is not there', undefined],
    ['is no dotenv file', 'GATEWAY_ADDR=:0\nsecret-text\n'],
  ])('a file that %s is refused', async (title, text) => {
    const path = join(common().folder, `${title.replaceAll(' ', '-')}.env`);
    if (text !== undefined) await writeFile(path, text);
    // Node 20 looks for a missing file itself, and ends, unless -- tells it that its own flags are over.
    const args = ['--', SVC_GATEWAY, '--env-file', path];
    const { code, stdout, stderr } = await runProcess(process.execPath, args, { env: common().env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(path);
    expect(stderr).not.toContain('secret-text');
  });
});

test(
  'an unknown variable is a warning that names the nearest known one',
  { tags: ['setting:unknown'] },
  async () => {
    const { process } = await start({
      GATEWAY_IP_ALOW_LIST: '10.0.0.0/8',
      GATEWAY_LOG_LEVL: 'error',
      OTHER: 'x',
    });
    const warnings = recordsOf(process)
      .filter((record) => record['level'] === 'warn')
      .map((record) => String(record['message']));
    expect(warnings).toContainEqual(
      expect.stringMatching(/^GATEWAY_IP_ALOW_LIST .*GATEWAY_IP_ALLOW_LIST\?$/),
    );
    expect(warnings).toContainEqual(expect.stringMatching(/^GATEWAY_LOG_LEVL .*GATEWAY_LOG_LEVEL\?$/));
    expect(warnings.join('\n')).not.toContain('OTHER');
  },
);

describe('faults', { tags: ['setting:faults'] }, () => {
  test(
    'all of them come at once, each with its setting and what is accepted, and no secret',
    {
      tags: [
        'setting:GATEWAY_AGENT_PUBLIC_KEY',
        'setting:GATEWAY_API_KEYS_JSON',
        'setting:GATEWAY_ADDR',
        'setting:GATEWAY_IP_ALLOW_LIST',
        'setting:booleans',
        'setting:GATEWAY_TRACE_URL',
        'command:no-stack',
        'command:exit-codes',
      ],
    },
    async () => {
      const secrets = {
        hash: `$2b$10$${'s3cret'.repeat(9)}`,
        key: 'private-s3cret-key',
        url: 's3cret-password',
      };
      const faulty: Environment = {
        GATEWAY_AGENT_PUBLIC_KEY: secrets.key,
        GATEWAY_API_KEYS_JSON: JSON.stringify([{ name: 'one', key_hash: secrets.hash, capabilities: [] }]),
        GATEWAY_ADDR: '8080',
        GATEWAY_PUBLIC_URL: `https://user:${secrets.url}@gw.example.com`,
        GATEWAY_AGENT_URLS: `https://user:${secrets.url}@gw.example.com`,
        GATEWAY_CORS_ALLOWED_ORIGINS: 'https://app.example.com/',
        GATEWAY_IP_ALLOW_LIST: '10.0.0.1/8',
        GATEWAY_TRUSTED_PROXY_CIDRS: '2001:db8::1/32',
        GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '0',
        GATEWAY_RATE_LIMIT_BURST: '1.5',
        GATEWAY_EMIT_OPENAPI_SNAPSHOT: 'yes',
        GATEWAY_MAX_REQUEST_BODY_BYTES: '-1',
        GATEWAY_BODY_READ_TIMEOUT: '10',
        GATEWAY_SHUTDOWN_DELAY: '10',
        GATEWAY_READY_AFTER: '15',
        GATEWAY_AGENT_WAIT: '61s',
        GATEWAY_TLS_CERT_FILE: join(common().folder, 'none.pem'),
        GATEWAY_TLS_KEY_FILE: join(common().folder, 'none.pem'),
        GATEWAY_COMPRESS: 'zstd',
        GATEWAY_MCP_OUTPUT_SCHEMA: 'no',
        GATEWAY_MCP_REVISIONS: 'all',
        GATEWAY_MCP_SESSIONS: 'no',
        GATEWAY_METRICS_ADDR: 'metrics',
        GATEWAY_CONSOLE_PUBLIC: 'no',
        GATEWAY_CONSOLE_ADDR: 'console',
        GATEWAY_CONSOLE_TOKEN_SHA256: 's3cret-token',
        GATEWAY_CONSOLE_BEHIND_TLS_PROXY: 'proxy',
        GATEWAY_TRACE_URL: 'https://user:s3cret@traces.example.com/{trace_id}',
        GATEWAY_LOG_LEVEL: 'verbose',
        GATEWAY_LOG_PROBES: 'never',
      };
      const lines = await refusal(faulty);
      for (const setting of Object.keys(faulty)) {
        const line = lines.find((candidate) => candidate.startsWith(`svc-gateway: ${setting}: `));
        expect([setting, line]).toEqual([setting, expect.stringMatching(/accepted: |did you mean /)]);
      }
      const text = lines.join('\n');
      expect(text).not.toContain('s3cret');
      expect(text).not.toMatch(/^\s+at /m);
    },
  );

  test.each<[string, Environment, string]>([
    ['no public key', { GATEWAY_AGENT_PUBLIC_KEY: '' }, 'GATEWAY_AGENT_PUBLIC_KEY: is not set'],
    ['no key records', { GATEWAY_API_KEYS_JSON: '' }, 'GATEWAY_API_KEYS_JSON: is not set'],
    ['key records that are no array', { GATEWAY_API_KEYS_JSON: '{}' }, 'GATEWAY_API_KEYS_JSON: '],
    [
      'a burst without a rate',
      { GATEWAY_RATE_LIMIT_BURST: '5' },
      'GATEWAY_RATE_LIMIT_BURST: is set without GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND',
    ],
    [
      'a console without a token',
      { GATEWAY_CONSOLE_ADDR: '127.0.0.1:0' },
      'GATEWAY_CONSOLE_TOKEN_SHA256: is missing beside GATEWAY_CONSOLE_ADDR',
    ],
    [
      'a token without a console',
      { GATEWAY_CONSOLE_TOKEN_SHA256: '0'.repeat(64) },
      'GATEWAY_CONSOLE_TOKEN_SHA256: is set without GATEWAY_CONSOLE_ADDR',
    ],
    [
      'a console for other machines without TLS',
      { GATEWAY_CONSOLE_ADDR: ':0', GATEWAY_CONSOLE_TOKEN_SHA256: '0'.repeat(64) },
      'GATEWAY_CONSOLE_ADDR: is reached from other machines without TLS',
    ],
    [
      'a negative rate',
      { GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '-1' },
      'GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: ',
    ],
    [
      'a burst of 0',
      { GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '1', GATEWAY_RATE_LIMIT_BURST: '0' },
      'GATEWAY_RATE_LIMIT_BURST: ',
    ],
    ['a body limit of 0', { GATEWAY_MAX_REQUEST_BODY_BYTES: '0' }, 'GATEWAY_MAX_REQUEST_BODY_BYTES: '],
    [
      'a short public key',
      { GATEWAY_AGENT_PUBLIC_KEY: `${PUBLIC_KEY},AAAA` },
      'GATEWAY_AGENT_PUBLIC_KEY: entry 2',
    ],
    [
      '* beside an origin',
      { GATEWAY_CORS_ALLOWED_ORIGINS: '*,https://a.example' },
      'GATEWAY_CORS_ALLOWED_ORIGINS: ',
    ],
  ])(
    '%s',
    {
      tags: [
        'setting:GATEWAY_AGENT_PUBLIC_KEY',
        'setting:GATEWAY_API_KEYS_JSON',
        'setting:GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND',
        'setting:GATEWAY_RATE_LIMIT_BURST',
        'setting:GATEWAY_MAX_REQUEST_BODY_BYTES',
      ],
    },
    async (_title, env, expected) => {
      expect(await refusal(env)).toEqual([expect.stringContaining(`svc-gateway: ${expected}`)]);
    },
  );
});
