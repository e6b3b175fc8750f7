import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ask,
  createAgentSecret,
  createKey,
  temporaryFolder,
  testDatabase,
  type Answer,
  type CreatedKey,
  type TemporaryFolder,
} from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPair, type Pair } from './pair.testing.ts';

let folder: TemporaryFolder;
let gateway: Pair;
let north: CreatedKey;
let file: string;
let database: object;
interface WrittenService {
  readonly id: string;
  readonly agent_public_keys: readonly string[];
  readonly api_keys?: readonly unknown[];
}

let services: readonly WrittenService[];
let secrets: { readonly inventory: string; readonly other: string };
beforeAll(async () => {
  folder = await temporaryFolder('services');
  file = join(folder.path, 'services.json');
  north = await createKey('north', '*');
  const [inventory, other] = [createAgentSecret(), createAgentSecret()];
  secrets = { inventory: inventory.agent_private_key, other: other.agent_private_key };
  services = [
    { id: 'inventory', agent_public_keys: [inventory.agent_public_key], api_keys: [north.record] },
    { id: 'other', agent_public_keys: [other.agent_public_key] },
  ];
  await writeFile(file, JSON.stringify({ services }));
  const { host, port, name, user, password } = await testDatabase({ sql: [] });
  database = { driver: 'postgres', host, port, name, user, password };
  gateway = await startPair({
    env: { GATEWAY_SERVICES_FILE: file, GATEWAY_WORKERS: '2', GATEWAY_EMIT_OPENAPI_SNAPSHOT: 'true' },
  });
});
afterAll(async () => {
  await gateway.stop();
  await folder.remove();
});

/** A capability file for the agent of a service. */
function fileOf(secret: string, id: string, answer: string): string {
  return JSON.stringify({
    service: { id },
    gateway: { url: gateway.agentUrl, agent_private_key: secret },
    database,
    capabilities: { who: { sql: `SELECT '${answer}' AS who`, result: { who: { type: 'string' } } } },
  });
}

const call = (service: string, { api_key: apiKey }: { readonly api_key: string }): Promise<Answer> =>
  ask(`${gateway.url}${service}/api/v1/capabilities/who`, { method: 'POST', body: '{}', apiKey });

test(
  'agents of services answer their own callers, whichever process takes the call',
  { tags: ['setting:GATEWAY_SERVICES_FILE', 'file:service.id'] },
  async () => {
    await gateway.startAgent('inventory', fileOf(secrets.inventory, 'inventory', 'inventory'));
    await gateway.startAgent('default', {
      database,
      capabilities: { who: { sql: "SELECT 'default' AS who", result: { who: { type: 'string' } } } },
    });
    const all = { api_key: gateway.apiKeys['all'] ?? '' };
    // An agent links itself to each worker, so that which agent a record is about does not follow from their number.
    await expect.poll(async () => (await call('', all)).status).toBe(200);
    for (let round = 0; round < 4; round++) {
      expect((await call('', all)).text).toBe('{"rows":[{"who":"default"}],"count":1}');
      expect((await call('/s/inventory', north)).text).toBe('{"rows":[{"who":"inventory"}],"count":1}');
      expect((await call('/s/inventory', all)).status).toBe(401);
      expect((await call('', north)).status).toBe(401);
      expect((await call('/s/nobody', north)).status).toBe(401);
    }
    const snapshot = JSON.parse(await readFile(join(gateway.folder, 'openapi.inventory.json'), 'utf8'));
    expect(snapshot.servers).toEqual([{ url: '/s/inventory' }]);
    await expect
      .poll(async () => (await ask(`${gateway.url}/s/inventory/readyz`, { apiKey: north.api_key })).status)
      .toBe(200);
  },
);

test(
  'an agent that names another service than that of its key does not come in',
  { tags: ['file:service.id'] },
  async () => {
    const wrong = gateway.startAgent('wrong', fileOf(secrets.other, 'inventory', 'wrong'));
    wrong.catch(() => {});
    const line = await gateway.process.waitForLine((text) => text.includes('agent_rejected'));
    expect(JSON.parse(line)).toMatchObject({
      reason: 'the key of the agent does not belong to the service inventory, which its file names',
    });
    // With its key in the service that it names, the same agent comes in.
    const keys = services.flatMap(({ agent_public_keys: own }) => own);
    await writeFile(file, JSON.stringify({ services: [{ ...services[0], agent_public_keys: keys }] }));
    await wrong;
    expect((await call('/s/other', north)).status).toBe(401);
  },
);

test(
  'agents whose key is taken away are gone from every process, with all that they offered',
  { tags: ['setting:GATEWAY_SERVICES_FILE', 'log:keys_reloaded'] },
  async () => {
    const described = async (): Promise<readonly number[]> => {
      const asks = Array.from({ length: 6 }, () =>
        ask(`${gateway.url}/s/inventory/openapi.json`, { apiKey: north.api_key }),
      );
      return (await Promise.all(asks)).map(({ status }) => status);
    };
    expect(new Set(await described())).toEqual(new Set([200]));
    await writeFile(file, JSON.stringify({ services: [{ ...services[0], agent_public_keys: [] }] }));
    await expect.poll(async () => new Set(await described())).toEqual(new Set([503]));
    await gateway.process.waitForLine((line) => line.includes('the key of the agent was removed'));
    const agent = gateway.agents.find(({ name }) => name === 'inventory');
    // What is to be done stands at the end.
    await agent?.process.waitForLine(
      (line, stream) => stream === 'stderr' && line.includes('(a key belongs to one service);'),
    );
  },
);
