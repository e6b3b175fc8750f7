import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { AUTHORITY, CERTIFICATE, CERTIFICATE_KEY } from './certificates.testing.ts';
import {
  BOTH_KEYS,
  CANARY,
  PRIVATE_KEY,
  PUBLIC_KEY,
  type FaultyConfiguration,
} from './faulty-configuration.testing.ts';

const HASH = `$2b$10$${CANARY}${'.'.repeat(53 - CANARY.length)}`;
const RECORD = { name: 'reporting', key_hash: HASH, capabilities: ['find_book'] };

interface Given {
  readonly asProcess?: boolean;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly args?: readonly string[];
  readonly nodeFlags?: readonly string[];
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  readonly prepare?: (folder: string) => Promise<void>;
}

/** A gateway with the required settings, and what is wrong with it. */
function gateway(title: string, given: Given, ...names: readonly string[]): FaultyConfiguration {
  const env = { GATEWAY_AGENT_PUBLIC_KEY: PUBLIC_KEY, GATEWAY_API_KEYS_JSON: JSON.stringify([RECORD]) };
  return { title, binary: 'svc-gateway', ...given, env: { ...env, ...given.env }, names };
}

/** The same with these key records. */
function keys(title: string, value: unknown, ...names: readonly string[]): FaultyConfiguration {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const lines = names.map((name) => `GATEWAY_API_KEYS_JSON: ${name}`);
  return gateway(title, { env: { GATEWAY_API_KEYS_JSON: text } }, ...lines);
}

function set(title: string, env: Readonly<Record<string, string>>, ...names: readonly string[]) {
  return gateway(title, { env }, ...(names.length > 0 ? names : Object.keys(env)));
}

function tls(title: string, files: Readonly<Record<string, string>>, ...names: readonly string[]) {
  const env = { GATEWAY_TLS_CERT_FILE: 'cert.pem', GATEWAY_TLS_KEY_FILE: 'key.pem' };
  return gateway(title, { env, files }, ...names);
}

function envFile(title: string, text: string | Uint8Array, ...names: readonly string[]) {
  return gateway(title, { args: ['--env-file', 'gateway.env'], files: { 'gateway.env': text } }, ...names);
}

export const FAULTY_GATEWAYS: readonly FaultyConfiguration[] = [
  gateway(
    'nothing is set',
    { asProcess: true, env: { GATEWAY_AGENT_PUBLIC_KEY: undefined, GATEWAY_API_KEYS_JSON: undefined } },
    'GATEWAY_AGENT_PUBLIC_KEY: is not set',
    'GATEWAY_API_KEYS_JSON: is not set',
  ),
  gateway(
    'a required setting is misspelt',
    {
      asProcess: true,
      env: { GATEWAY_AGENT_PUBLIC_KEY: undefined, GATEWAY_AGENT_PUBKEY: CANARY, GATEWAY_API_KEYS_JSON: '' },
    },
    'GATEWAY_AGENT_PUBLIC_KEY: is not set',
    'GATEWAY_API_KEYS_JSON: is not set',
    'warning: GATEWAY_AGENT_PUBKEY is not a setting',
  ),
  set('the public key is a placeholder', { GATEWAY_AGENT_PUBLIC_KEY: `<${CANARY}>` }),
  set('the public key is cut', { GATEWAY_AGENT_PUBLIC_KEY: PUBLIC_KEY.slice(2) }),
  set('the public key is the private one', { GATEWAY_AGENT_PUBLIC_KEY: PRIVATE_KEY }),
  set('the public key is the private one with its public one', {
    GATEWAY_AGENT_PUBLIC_KEY: BOTH_KEYS,
  }),
  set('one of two public keys is wrong', { GATEWAY_AGENT_PUBLIC_KEY: `${PUBLIC_KEY},${CANARY}` }),
  set('the list of public keys holds a comma and nothing else', { GATEWAY_AGENT_PUBLIC_KEY: ',' }),

  keys(
    'the key records lack a quote',
    `[{"name": "reporting", "key_hash": "${HASH}}]`,
    'is not JSON at character 36',
  ),
  keys(
    'the key records end too early',
    `[{"name": "reporting", "key_hash": "${HASH}"`,
    'is not JSON since it ends',
  ),
  keys('the key records are two lists', `${JSON.stringify([RECORD])} []`, 'is not JSON at character'),
  keys(
    'a reader has kept the quotes of the key records',
    `'${JSON.stringify([RECORD])}'`,
    'is not JSON at character 1 of',
  ),
  keys('the key records are an object', RECORD, 'is not a JSON array'),
  keys(
    'a field stands twice in a key record',
    `[{"name":"a","name":"${CANARY}"}]`,
    'is refused: a key appears twice',
  ),
  keys(
    'a shell has expanded the hash',
    [{ ...RECORD, key_hash: `b0${CANARY}` }],
    'record 1 ("reporting"): key_hash',
  ),
  keys(
    'the key stands where its hash belongs',
    [{ ...RECORD, key_hash: `svc_k1_${CANARY}` }],
    'record 1 ("reporting"): key_hash',
  ),
  keys(
    'costs of hashes are out of range',
    [
      { ...RECORD, name: 'cheap', key_hash: HASH.replace('$10$', '$03$') },
      { ...RECORD, name: 'dear', key_hash: HASH.replace('$10$', '$17$') },
    ],
    'record 1 ("cheap"): key_hash',
    'record 2 ("dear"): key_hash',
  ),
  keys(
    'two key records share name and id',
    [
      { ...RECORD, key_id: 'k1' },
      { ...RECORD, key_id: 'k1' },
    ],
    'record 2: name "reporting"',
    'record 2: key_id "k1"',
  ),
  keys(
    'key records with all kinds of faults',
    [
      { key_hash: HASH },
      { ...RECORD, capabilites: ['*'] },
      { name: 'text', key_hash: HASH, capabilities: '*' },
      { name: 'star', key_hash: HASH, capabilities: ['*', 'find_book'] },
      { name: 'dash', key_hash: HASH, capabilities: ['find-book'] },
      'reporting',
    ],
    'record 1: name is missing',
    'record 2 ("reporting"): unknown field "capabilites"',
    'record 3 ("text"): capabilities',
    'record 4 ("star"): capabilities',
    'record 5 ("dash"): capabilities',
    'record 6: is not an object',
  ),
  keys(
    'there are 101 key records',
    Array.from({ length: 101 }, (_, index) => ({ ...RECORD, name: `key ${index}` })),
    'has 101 records',
  ),

  set('an address without a colon', { GATEWAY_ADDR: '8080', GATEWAY_METRICS_ADDR: 'localhost' }),
  set('a port beyond 65535', { GATEWAY_ADDR: ':80800' }),
  set(
    'two listeners on one address',
    { GATEWAY_ADDR: ':9090', GATEWAY_METRICS_ADDR: ':9090' },
    'GATEWAY_METRICS_ADDR',
  ),
  set('URLs of the wrong kind', {
    GATEWAY_PUBLIC_URL: 'gateway.example.com',
    GATEWAY_AGENT_URLS: `https://user:${CANARY}@gateway.example.com/ws/agent`,
    GATEWAY_CORS_ALLOWED_ORIGINS: 'https://app.example.com/',
  }),
  set('a public URL with credentials', { GATEWAY_PUBLIC_URL: `https://user:${CANARY}@gateway.example.com` }),
  set('a star beside an origin', { GATEWAY_CORS_ALLOWED_ORIGINS: '*,https://app.example.com' }),
  set(
    'networks with host bits, no network at all, and a prefix too long',
    { GATEWAY_IP_ALLOW_LIST: '10.1.2.3/8,office', GATEWAY_TRUSTED_PROXY_CIDRS: '2001:db8::/129' },
    'GATEWAY_IP_ALLOW_LIST: entry 1: "10.1.2.3/8"',
    'GATEWAY_IP_ALLOW_LIST: entry 2: "office"',
    'GATEWAY_TRUSTED_PROXY_CIDRS: "2001:db8::/129"',
  ),
  set('a burst without a rate', { GATEWAY_RATE_LIMIT_BURST: '10' }),
  set('a rate of nothing and half a burst', {
    GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '0',
    GATEWAY_RATE_LIMIT_BURST: '2.5',
  }),
  set('a boolean in words', { GATEWAY_EMIT_OPENAPI_SNAPSHOT: 'yes' }),
  set('a size with a unit, a duration without one, and a level that is none', {
    GATEWAY_MAX_REQUEST_BODY_BYTES: '1MB',
    GATEWAY_BODY_READ_TIMEOUT: '10',
    GATEWAY_LOG_LEVEL: 'verbose',
  }),

  gateway(
    'a certificate without its key',
    { env: { GATEWAY_TLS_CERT_FILE: 'cert.pem' }, files: { 'cert.pem': CERTIFICATE } },
    'GATEWAY_TLS_KEY_FILE: is missing',
  ),
  tls('TLS files that are not there', {}, 'GATEWAY_TLS_CERT_FILE', 'GATEWAY_TLS_KEY_FILE'),
  tls(
    'certificate and key swapped',
    { 'cert.pem': CERTIFICATE_KEY, 'key.pem': CERTIFICATE },
    'GATEWAY_TLS_CERT_FILE',
    'GATEWAY_TLS_KEY_FILE',
  ),
  tls(
    'a key of another certificate',
    { 'cert.pem': AUTHORITY, 'key.pem': CERTIFICATE_KEY },
    'GATEWAY_TLS_KEY_FILE: does not belong',
  ),
  gateway(
    'TLS files that are a folder and a circle of links',
    {
      env: { GATEWAY_TLS_CERT_FILE: 'cert.pem', GATEWAY_TLS_KEY_FILE: 'key.pem' },
      prepare: async (folder) => {
        await mkdir(join(folder, 'cert.pem'));
        await symlink('key.pem', join(folder, 'key.pem'));
      },
    },
    'GATEWAY_TLS_CERT_FILE',
    'GATEWAY_TLS_KEY_FILE',
  ),

  gateway(
    'the environment file is missing',
    { args: ['--env-file', 'gone.env'], nodeFlags: ['--'] },
    '--env-file: cannot read gone.env',
  ),
  gateway(
    'the environment file is a folder',
    {
      args: ['--env-file', 'env'],
      nodeFlags: ['--'],
      prepare: (folder) => mkdir(join(folder, 'env')),
    },
    '--env-file: cannot read env',
  ),
  envFile(
    'the environment file is no text',
    new Uint8Array([0x47, 0x3d, 0xff, 0x0a]),
    '--env-file: cannot read',
  ),
  envFile(
    'the environment file has lines that are none',
    `GATEWAY_ADDR: :8080\n# fine\nGATEWAY_API_KEYS_JSON='[${CANARY}\nGATEWAY_LOG_LEVEL="info" ${CANARY}\n`,
    'gateway.env: line 1',
    'gateway.env: line 3: GATEWAY_API_KEYS_JSON',
    'gateway.env: line 4: GATEWAY_LOG_LEVEL',
  ),
  envFile(
    'faults of the environment and of its file together',
    `GATEWAY_ADDR=nowhere\nGATEWAY_AGENT_PUBLIC_KEY=${CANARY}\nGATEWAY_RATE_LIMIT=${CANARY}\n`,
    'GATEWAY_ADDR',
    'warning: GATEWAY_RATE_LIMIT is not a setting',
  ),
];
