import { createRawKeyPair } from '@svc/protocol';
import { describe, expect, it } from 'vitest';
import { loadConfig, loadServices } from '../load.ts';
import type { Environment } from '../read-settings.ts';

const HASH = `$2b$10$${'.'.repeat(53)}`;

const agentKey = (): string => createRawKeyPair().publicKey;
const [OWN, FIRST, SECOND] = [agentKey(), agentKey(), agentKey()];
const record = (name: string, more: object = {}): object => ({ name, key_hash: HASH, ...more });
const KEYS = JSON.stringify([record('reporting', { key_id: 'r1' })]);
const ENV = { GATEWAY_AGENT_PUBLIC_KEY: OWN, GATEWAY_API_KEYS_JSON: KEYS };

/** The services of an environment with this services file, and further files by their paths. */
function load(file: unknown, env: Environment = ENV, files: Readonly<Record<string, string>> = {}) {
  const all: Readonly<Record<string, string>> = {
    ...files,
    '/services.json': typeof file === 'string' ? file : JSON.stringify(file),
  };
  return loadServices({ GATEWAY_SERVICES_FILE: '/services.json', ...env }, (path) => {
    const text = all[path];
    if (text === undefined) throw Object.assign(new Error('missing'), { code: 'ENOENT' });
    return text;
  });
}
function servicesOf(...args: Parameters<typeof load>) {
  const loaded = load(...args);
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults));
  return loaded.services.map(({ id, agentPublicKeys, keys, tokens }) => ({
    id,
    agents: agentPublicKeys.map((key) => Buffer.from(key).toString('base64url')),
    keys: keys.map(({ name }) => name),
    issuers: tokens?.issuers.map(({ name, audiences }) => [name, audiences]),
  }));
}
function faultsOf(...args: Parameters<typeof load>): readonly string[] {
  const loaded = load(...args);
  return 'faults' in loaded ? loaded.faults.map(({ setting, message }) => `${setting}: ${message}`) : [];
}

describe('the file of API keys', () => {
  const read = (env: Environment, text: string) => loadServices(env, () => text);

  it('holds what GATEWAY_API_KEYS_JSON would', () => {
    const env = { GATEWAY_AGENT_PUBLIC_KEY: OWN, GATEWAY_API_KEYS_FILE: '/keys.json' };
    expect(read(env, `${KEYS}\n`)).toEqual(loadServices(ENV, () => ''));
  });

  it('stands in place of the setting, never beside it', () => {
    expect(read({ ...ENV, GATEWAY_API_KEYS_FILE: '/keys.json' }, KEYS)).toMatchObject({
      faults: [{ setting: 'GATEWAY_API_KEYS_FILE', message: expect.stringContaining('one of the two') }],
    });
  });

  it.each([
    ['', 'is not JSON since it ends too early, after character 0; accepted: a JSON array of records'],
    [KEYS.slice(0, -1), expect.stringMatching(/^is not JSON since it ends too early/)],
    ['{}', expect.stringMatching(/^is not a JSON array/)],
    [
      JSON.stringify([{ name: 'a', key_hash: 'mangled' }]),
      expect.stringMatching(/^record 1 \("a"\): key_hash is not a valid bcrypt hash; accepted: [^;]*$/),
    ],
  ])('is refused with %j, without a word about shells', (text, message) => {
    const env = { GATEWAY_AGENT_PUBLIC_KEY: OWN, GATEWAY_API_KEYS_FILE: '/keys.json' };
    expect(read(env, text)).toEqual({ faults: [{ setting: 'GATEWAY_API_KEYS_FILE', message }] });
  });
});

describe('the services file', () => {
  it('adds services, each with its own agents, keys and issuers', () => {
    const issuer = {
      name: 'idp',
      issuer: 'https://idp.example',
      grants: [{ capabilities: ['*'], scope: 'a' }],
    };
    const env = {
      ...ENV,
      GATEWAY_PUBLIC_URL: 'https://gateway.example/base',
      GATEWAY_ISSUERS_JSON: JSON.stringify([issuer]),
    };
    const file = {
      services: [
        {
          id: 'inventory',
          agent_public_keys: [FIRST, `${SECOND}=`],
          api_keys: [record('north')],
          issuers: [issuer],
        },
        { id: 'empty' },
      ],
    };
    const audiences = (path: string): readonly string[] => [
      `https://gateway.example/base${path}`,
      `https://gateway.example/base${path}/`,
    ];
    expect(servicesOf(file, env)).toEqual([
      { id: 'default', agents: [OWN], keys: ['reporting'], issuers: [['idp', audiences('/mcp')]] },
      {
        id: 'inventory',
        agents: [FIRST, SECOND],
        keys: ['north'],
        issuers: [['idp', audiences('/s/inventory/mcp')]],
      },
      { id: 'empty', agents: [], keys: [], issuers: undefined },
    ]);
  });

  it('may have the default service in place of its settings, or beside them', () => {
    const file = {
      services: [{ id: 'other' }, { id: 'default', agent_public_keys: [FIRST], api_keys: [record('north')] }],
    };
    expect(servicesOf(file, {})).toMatchObject([
      { id: 'default', agents: [FIRST], keys: ['north'] },
      { id: 'other' },
    ]);
    expect(servicesOf(file)).toMatchObject([
      { id: 'default', agents: [OWN, FIRST], keys: ['reporting', 'north'] },
      { id: 'other' },
    ]);
    expect(faultsOf({ services: [] }, {})).toEqual([
      expect.stringMatching(/^GATEWAY_AGENT_PUBLIC_KEY: is not set/),
      expect.stringMatching(/^GATEWAY_API_KEYS_JSON: is not set/),
    ]);
    expect(servicesOf({ services: [] })).toHaveLength(1);
  });

  it.each<[unknown, ...RegExp[]]>([
    ['', /is not JSON since it ends too early, after character 0/],
    ['{"services":[', /is not JSON since it ends too early/],
    ['{"services":[],"services":[]}', /is refused: .*each field once/],
    [[], /is not a JSON object; accepted: \{"services"/],
    [{}, /services is not a list/],
    [
      { services: {}, service: 1 },
      /unknown field "service"; did you mean services\?/,
      /services is not a list/,
    ],
    [
      { services: Array.from({ length: 101 }, (_, at) => ({ id: `s${at}` })) },
      /101 entries; accepted: at most 100/,
    ],
    [{ services: ['x'] }, /service 1: is not an object/],
    [{ services: [{}] }, /service 1: id is missing/],
    [{ services: [{ id: 'Upper' }] }, /service 1: id is not accepted; accepted: a lower-case letter/],
    [{ services: [{ id: 'a'.repeat(49) }] }, /service 1: id is not accepted/],
    [
      { services: [{ id: 'a', keys: [] }] },
      /service 1 \("a"\): unknown field "keys"; did you mean api_keys\?/,
    ],
    [{ services: [{ id: 'a' }, { id: 'a' }] }, /service 2 \("a"\): its id is already that of service 1/],
    [{ services: [{ id: 'a', agent_public_keys: 'x' }] }, /agent_public_keys is not a list/],
    [
      { services: [{ id: 'a', agent_public_keys: [FIRST, 'short', 1] }] },
      /agent_public_keys entry 2: holds \d+ bytes|agent_public_keys entry 2: is not base64url/,
      /agent_public_keys entry 3: is not a text/,
    ],
    [{ services: [{ id: 'a', api_keys: {} }] }, /api_keys is not a list/],
    [
      { services: [{ id: 'a', api_keys: [{ name: 'n' }], issuers: [{ name: 'i' }] }] },
      /\("a"\): api_keys record 1 \("n"\): key_hash is missing/,
      /\("a"\): issuers record 1 \("i"\): issuer/,
    ],
    [
      { services: [{ id: 'a', api_keys: Array.from({ length: 101 }, (_, at) => record(`n${at}`)) }] },
      /api_keys has 101 records; accepted: at most 100/,
    ],
    [{ services: [{ id: 'a', issuers: {} }] }, /issuers is not a list/],
  ])('is refused with %j', (file, ...expected) => {
    const faults = faultsOf(file, { ...ENV, GATEWAY_PUBLIC_URL: 'https://gateway.example' });
    expect(faults.every((fault) => fault.startsWith('GATEWAY_SERVICES_FILE: '))).toBe(true);
    for (const one of expected) expect(faults).toContainEqual(expect.stringMatching(one));
  });

  it('is refused when it cannot be read', () => {
    expect(
      loadServices({ ...ENV, GATEWAY_SERVICES_FILE: '/nowhere' }, () => {
        throw Object.assign(new Error('missing'), { code: 'ENOENT' });
      }),
    ).toMatchObject({ faults: [{ message: expect.stringContaining('there is no such file') }] });
  });

  it('has each name, key_id and agent key once, those of the settings among them', () => {
    const file = {
      services: [
        { id: 'a', agent_public_keys: [FIRST, OWN], api_keys: [record('north', { key_id: 'n1' })] },
        {
          id: 'b',
          agent_public_keys: [`${FIRST}=`, SECOND, SECOND],
          api_keys: [record('north', { key_id: 'r1' }), record('reporting', { key_id: 'n1' })],
        },
      ],
    };
    const [a, b] = ['GATEWAY_SERVICES_FILE: service 1 ("a")', 'GATEWAY_SERVICES_FILE: service 2 ("b")'];
    const once = (field: string): string => `accepted: each ${field} once, whatever the service`;
    const agentOnce = 'accepted: each agent key once, since it belongs to one service';
    expect(faultsOf(file)).toEqual([
      `${b}: record 1: name "north" is already that of service 1 ("a"), record 1; ${once('name')}`,
      `${b}: record 2: name "reporting" is already that of GATEWAY_API_KEYS_JSON, record 1; ${once('name')}`,
      `${b}: record 1: key_id "r1" is already that of GATEWAY_API_KEYS_JSON, record 1; ${once('key_id')}`,
      `${b}: record 2: key_id "n1" is already that of service 1 ("a"), record 1; ${once('key_id')}`,
      `${a}: agent key 2 is already GATEWAY_AGENT_PUBLIC_KEY, agent key 1; ${agentOnce}`,
      `${b}: agent key 1 is already service 1 ("a"), agent key 1; ${agentOnce}`,
      `${b}: agent key 3 is already service 2 ("b"), agent key 2; ${agentOnce}`,
    ]);
  });

  it('may share a principal with another service, whatever each may call, and within one service only alike', () => {
    const keys = (name: string, capabilities: readonly string[]): readonly object[] => [
      record(name, { principal: 'ann', capabilities }),
    ];
    expect(
      servicesOf({
        services: [
          { id: 'a', api_keys: keys('x', ['*']) },
          { id: 'b', api_keys: keys('y', []) },
        ],
      }),
    ).toHaveLength(3);
    const inDefault = {
      services: [{ id: 'default', api_keys: [record('y', { principal: 'reporting', capabilities: ['*'] })] }],
    };
    expect(faultsOf(inDefault)).toEqual([
      expect.stringMatching(
        /service "default": record 1 \("y"\): capabilities differ from those of GATEWAY_API_KEYS_JSON record 1/,
      ),
    ]);
  });

  it('has issuers only where the public URL is known, and those of the default service in one place', () => {
    const issuer = { name: 'idp', issuer: 'https://idp.example', grants: [] };
    const file = { services: [{ id: 'a', issuers: [issuer] }] };
    expect(faultsOf(file)).toEqual([
      expect.stringMatching(/^GATEWAY_PUBLIC_URL: is not set beside the issuers of GATEWAY_SERVICES_FILE/),
    ]);
    expect(faultsOf(file, { ...ENV, GATEWAY_PUBLIC_URL: 'http://gateway.example' })).toEqual([
      expect.stringMatching(/^GATEWAY_PUBLIC_URL: is not https/),
    ]);
    const env = {
      ...ENV,
      GATEWAY_PUBLIC_URL: 'https://gateway.example',
      GATEWAY_ISSUERS_JSON: JSON.stringify([issuer]),
    };
    expect(faultsOf({ services: [{ id: 'default', issuers: [issuer] }] }, env)).toEqual([
      expect.stringMatching(/service "default" has issuers beside GATEWAY_ISSUERS_JSON/),
    ]);
    expect(load(file, { ...ENV, GATEWAY_PUBLIC_URL: 'https://gateway.example' })).toMatchObject({
      warnings: [
        expect.stringMatching(/^GATEWAY_SERVICES_FILE: service "a": the issuer idp has no grants/),
        expect.stringMatching(/^the service "a" has no agent keys/),
      ],
    });
  });

  it('is read with everything else, whose faults come with its own', () => {
    const loaded = loadConfig(
      { ...ENV, GATEWAY_SERVICES_FILE: '/services.json', GATEWAY_LOG_LEVEL: 'x' },
      () => '{"services":[{"id":"?"}]}',
    );
    expect(loaded).toMatchObject({
      faults: [{ setting: 'GATEWAY_SERVICES_FILE' }, { setting: 'GATEWAY_LOG_LEVEL' }],
    });
  });

  it('is never shown in its faults', () => {
    const secret = 'the-secret-of-a-key';
    const file = {
      services: [{ id: 'a', agent_public_keys: [secret], api_keys: [{ name: 'n', key_hash: secret }] }],
    };
    expect(JSON.stringify(faultsOf(file))).not.toContain(secret);
  });
});
