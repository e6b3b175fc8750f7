import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { createKeyPair } from '@svc/testkit';
import { loadConfig } from '../../packages/gateway/src/config/load.ts';
import { SETTINGS } from '../../packages/gateway/src/config/settings.ts';
import { CERTIFICATE, CERTIFICATE_KEY } from '../documentation/certificate.ts';
import { ROOT } from '../documentation/documents.ts';
import { readManifests, VALUE_SETS, type Manifest } from './charts.testing.ts';

test('every setting that is given to a gateway is one', () => {
  const folder = join(ROOT, 'deploy');
  const files = [
    ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    join(ROOT, 'docs/guides/several-gateways.md'),
  ].filter((path) => !path.includes('secrets') && statSync(path).isFile());
  const named = files.flatMap(
    (path) => readFileSync(path, 'utf8').match(/(?<![A-Z_])GATEWAY_[A-Z_]*[A-Z]/g) ?? [],
  );
  const known: readonly string[] = Object.keys(SETTINGS);
  // What Kubernetes would set for a Service named gateway; a comment says so.
  const unknown = named.filter((name) => !known.includes(name) && name !== 'GATEWAY_PORT');
  expect(named.length).toBeGreaterThan(50);
  expect([...new Set(unknown)]).toEqual([]);
});

const agentKey = (): string => createKeyPair().publicKey.export({ format: 'jwk' }).x ?? '';
const recordOf = (name: string): object => ({
  name,
  key_hash: '$2b$10$LCsAtkVUgcTm.KmpcIk1IeQ0jKfRj5YIXDUSqbVM9Gc1uUguQogwe',
  capabilities: ['*'],
});
const OF_FILES: Readonly<Record<string, string>> = {
  'api-keys.json': JSON.stringify([recordOf('reports')]),
  'tls.crt': CERTIFICATE,
  'tls.key': CERTIFICATE_KEY,
  'valkey-password': 'secret',
};

describe('the gateway takes the environment', () => {
  const gateways = VALUE_SETS.filter(({ chart }) => chart === 'svc-gateway').map((set) => {
    const manifests = readManifests(set);
    const workload = manifests.find(({ kind }) => ['Deployment', 'StatefulSet'].includes(kind));
    const env = workload.spec.template.spec.containers[0].env.map(({ name, value }: Manifest) => [
      name,
      // Else it comes from the Secret.
      value ?? agentKey(),
    ]);
    return { of: `of the chart with the ${set.values} values`, env: Object.fromEntries(env) };
  });
  const compose = parse(readFileSync(join(ROOT, 'deploy/compose/compose.yaml'), 'utf8'), { merge: true });
  const { environment } = compose.services.gateway1;

  test.each([
    ...gateways,
    { of: 'of the Compose file', env: { ...environment, GATEWAY_AGENT_PUBLIC_KEY: agentKey() } },
  ])('$of', ({ env }) => {
    const isAlone = env.GATEWAY_AGENT_PUBLIC_KEY === undefined;
    const services = JSON.stringify({
      services: [
        {
          id: isAlone ? 'default' : 'inventory',
          agent_public_keys: [agentKey()],
          api_keys: [recordOf('stocktaking')],
        },
      ],
    });
    const { MALLOC_ARENA_MAX: _, NODE_EXTRA_CA_CERTS: __, ...settings } = env;
    const loaded = loadConfig(settings, (path) => {
      const name = path.split('/').at(-1) ?? '';
      return name === 'services.json' ? services : (OF_FILES[name] ?? '');
    });
    expect(loaded).toMatchObject({ config: {} });
    // Without a URL for callers agents may dial any, and the network of the Compose file is its own.
    const expected = /GATEWAY_AGENT_URLS|GATEWAY_VALKEY_URL is not rediss/;
    expect(loaded.warnings.filter((warning) => !expected.test(warning))).toEqual([]);
  });
});
