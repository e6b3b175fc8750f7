import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CLOSE, decodeMessage } from '@svc/protocol';
import { createTokenIssuer, temporaryFolder, type TemporaryFolder } from '@svc/testkit';
import { compareSync } from 'bcryptjs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  answer,
  authBytes,
  becomeAgent,
  createAgentKey,
  describing,
  dialAgentEndpoint,
  helloBytes,
  introduce,
  sayFrames,
  sayText,
  type AgentKey,
  type PeerByHand,
} from '../agents/unauthenticated-peer.testing.ts';
import { createKey } from '../auth/api-keys/create-key.ts';
import { loadConfig, loadServices } from '../config/load.ts';
import type { Environment } from '../config/read-settings.ts';
import { startGateway, type RunningGateway } from '../gateway.ts';
import { ask, type Answer } from '../http/server-by-hand.testing.ts';
import type { GatewayEvent } from '../telemetry/events.ts';
import { createOnlyProcess } from '../cluster/replica.ts';

const ISSUER = 'https://idp.example';
const PUBLIC = 'https://gateway.example/base';
const key = (name: string) => createKey({ name, capabilities: ['*'], randomBytes });
const [reports, north, south] = [key('reports'), key('north'), key('south')];
const [ownAgent, inventoryAgent, otherAgent] = [createAgentKey(), createAgentKey(), createAgentKey()];
const text = ({ publicKey }: AgentKey): string => publicKey.toString('base64url');
const CALL = '/api/v1/capabilities/get';

let folder: TemporaryFolder;
let file: string;
let gateway: RunningGateway;
let events: GatewayEvent[];
let peers: PeerByHand[];
beforeEach(async () => {
  folder = await temporaryFolder('services');
  file = join(folder.path, 'services.json');
  [events, peers] = [[], []];
});
afterEach(async () => {
  for (const peer of peers) peer.socket.terminate();
  await gateway.shutDown('test');
  await folder.remove();
});

const inventory = (changes: object = {}): object => ({
  id: 'inventory',
  agent_public_keys: [text(inventoryAgent)],
  api_keys: [north.record],
  ...changes,
});
const services = (...entries: readonly object[]): string => JSON.stringify({ services: entries });

async function start(content: string, changes: Environment = {}): Promise<void> {
  await writeFile(file, content);
  const env = {
    GATEWAY_AGENT_PUBLIC_KEY: text(ownAgent),
    GATEWAY_API_KEYS_JSON: JSON.stringify([reports.record]),
    GATEWAY_SERVICES_FILE: file,
    GATEWAY_ADDR: '127.0.0.1:0',
    ...changes,
  };
  const loaded = loadConfig(env, (path) => readFileSync(path, 'utf8'));
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults));
  gateway = await startGateway(loaded.config, {
    log: { observe: (event) => void events.push(event), recordsLost: 0 },
    verifier: { verify: async (plaintext, hash) => compareSync(plaintext, hash), close: async () => {} },
    replica: createOnlyProcess(randomUUID(), randomBytes(32)),
    loadServices: (readFile) => loadServices(env, readFile),
    executable: { version: '0', consoleAssets: '' },
  });
}

/** Replaces the file in one step. */
async function write(content: string): Promise<void> {
  await writeFile(`${file}.new`, content);
  await rename(`${file}.new`, file);
  gateway.reload();
}

async function happened(event: GatewayEvent['event'], count = 1): Promise<readonly GatewayEvent[]> {
  const named = (): readonly GatewayEvent[] => events.filter((one) => one.event === event);
  await expect.poll(() => named().length, { interval: 2 }).toBeGreaterThanOrEqual(count);
  return named();
}

/** An agent that answers each call with what it is told of it. */
async function connect(agentKey: AgentKey, instanceId: string, service?: string): Promise<PeerByHand> {
  const description = describing('get');
  const options = { description, instanceId, versions: [2], ...(service === undefined ? {} : { service }) };
  const peer = await introduce(gateway.port, agentKey, options);
  peers.push(peer);
  await peer.next();
  const connected = events.filter(({ event }) => event === 'agent_connected').length;
  void (async () => {
    for (;;) {
      for (const frame of decodeMessage(await peer.next())) {
        if (frame.type !== 'request') continue;
        const rows = Buffer.from(JSON.stringify([frame.metadata]));
        sayFrames(peer, answer(frame.id, frame.capability === '$describe' ? description : rows, 1));
      }
    }
  })();
  await happened('agent_connected', connected + 1);
  return peer;
}

function request(
  path: string,
  apiKey: string | undefined,
  method = 'POST',
  body: object = {},
): Promise<Answer> {
  return ask(gateway.port, path, {
    method,
    headers: {
      ...(method === 'POST' ? { 'Content-Type': 'application/json' } : {}),
      ...(apiKey === undefined ? {} : { 'X-API-Key': apiKey }),
    },
    ...(method === 'POST' ? { body: JSON.stringify(body) } : {}),
  });
}
const call = (service: string, apiKey?: string): Promise<Answer> =>
  request(service === '' ? CALL : `/s/${service}${CALL}`, apiKey);
const statusOf = async (service: string, apiKey?: string): Promise<number> =>
  (await call(service, apiKey)).status;
const rowOf = async (service: string, apiKey: string): Promise<unknown> =>
  JSON.parse((await call(service, apiKey)).text).rows[0];

describe('several services', () => {
  test('each has its own agents, callers, tools and description', async () => {
    await start(services(inventory()));
    await connect(ownAgent, 'a');
    await connect(inventoryAgent, 'b', 'inventory');
    expect(await rowOf('', reports.apiKey)).toMatchObject({
      principal: 'key:reports',
      api_key_name: 'reports',
    });
    expect(await rowOf('default', reports.apiKey)).not.toHaveProperty('service');
    expect(await rowOf('inventory', north.apiKey)).toMatchObject({
      principal: 'inventory/key:north',
      service: 'inventory',
    });
    const openapi = JSON.parse((await request('/s/inventory/openapi.json', north.apiKey, 'GET')).text);
    expect(openapi.servers).toEqual([{ url: '/s/inventory' }]);
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect(JSON.parse((await request('/s/inventory/mcp', north.apiKey, 'POST', list)).text)).toMatchObject({
      result: { tools: [] },
    });
    const tool = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get', arguments: {} } };
    expect((await request('/s/inventory/mcp/', north.apiKey, 'POST', tool)).text).toContain(
      'inventory/key:north',
    );
    const routes = events.flatMap((event) =>
      event.event === 'request' && event.service !== '' ? [[event.service, event.route]] : [],
    );
    expect(routes).toEqual([
      ['default', CALL.replace('get', '{name}')],
      ['default', `/s/{service}${CALL.replace('get', '{name}')}`],
      ['inventory', `/s/{service}${CALL.replace('get', '{name}')}`],
      ['inventory', '/s/{service}/openapi.json'],
      ['inventory', '/s/{service}/mcp'],
      ['inventory', '/s/{service}/mcp'],
    ]);
    expect(events.filter(({ event }) => event === 'agent_connected')).toMatchObject([
      { service: 'default' },
      { service: 'inventory' },
    ]);
  });

  test('one that there is not answers as one whose key is another’s, byte for byte', async () => {
    await start(services(inventory(), { id: 'other', api_keys: [south.record] }));
    for (const [path, method] of [
      [CALL, 'POST'],
      ['/mcp', 'POST'],
      ['/openapi.json', 'GET'],
      ['/readyz', 'GET'],
    ] as const) {
      const answers: unknown[] = [];
      for (const [service, apiKey] of [
        ['/s/other', north.apiKey],
        ['/s/nobody', north.apiKey],
        ['/s/NOT-A-NAME', north.apiKey],
        ['/s/nobody', undefined],
        ['/s/other', undefined],
        ['/s/inventory', south.apiKey],
        ['/s/inventory', reports.apiKey],
        ['/s/inventory', 'wrong'],
        ...(path === '/readyz' ? [] : ([['', north.apiKey]] as const)),
      ] as const) {
        const { status, headers, text: body } = await request(`${service}${path}`, apiKey, method);
        const { 'x-request-id': id, date: _, ...others } = headers;
        answers.push({ status, others, body: body.replaceAll(String(id), '') });
      }
      expect(answers[0]).toMatchObject({ status: 401 });
      expect(answers).toEqual(answers.map(() => answers[0]));
    }
    for (const path of [
      '/s/inventory',
      '/s/',
      '/s//mcp',
      '/s/inventory/healthz',
      '/s/nobody/ws/agent',
      '/s/a/b/mcp',
    ]) {
      expect((await request(path, north.apiKey, 'GET')).status).toBe(404);
    }
    const named = new Set(events.map((event) => (event.event === 'request' ? event.service : '')));
    expect(named).toEqual(new Set(['', 'default', 'inventory', 'other']));
  });

  test('readiness is of any for the gateway, and of each for who may call it', async () => {
    await start(services(inventory()));
    expect((await request('/readyz', undefined, 'GET')).status).toBe(503);
    expect((await request('/s/inventory/readyz', north.apiKey, 'GET')).status).toBe(503);
    await connect(inventoryAgent, 'b');
    expect((await request('/readyz', undefined, 'GET')).status).toBe(200);
    expect((await request('/s/inventory/readyz', north.apiKey, 'GET')).status).toBe(200);
    expect((await request('/s/default/readyz', reports.apiKey, 'GET')).status).toBe(503);
    expect(JSON.parse((await request('/healthz', undefined, 'GET')).text)).toEqual({
      ok: true,
      agent_connected: true,
    });
    expect(await statusOf('', reports.apiKey)).toBe(503);
  });

  test('an agent that names another service than its key’s is turned away', async () => {
    await start(services(inventory()));
    for (const service of ['default', 'other']) {
      const peer = await introduce(gateway.port, inventoryAgent, { service });
      expect((await peer.closed).code).toBe(CLOSE.unauthorized);
    }
  });

  test('tokens are for one service, which says where to get them', async () => {
    const paths = ['/s/inventory/mcp', '/s/bare/mcp', '/mcp'];
    const signing = createTokenIssuer(ISSUER, PUBLIC);
    const tokenOf = (path: string): string =>
      signing.token({ aud: `${PUBLIC}${path}`, sub: 'ann', client_id: 'app', scope: 'read' });
    const jwks = join(folder.path, 'jwks.json');
    await writeFile(jwks, signing.jwks);
    const issuer = {
      name: 'idp',
      issuer: ISSUER,
      jwks_file: jwks,
      grants: [{ capabilities: ['*'], scope: 'read' }],
    };
    await start(services(inventory({ issuers: [issuer] }), { id: 'bare', api_keys: [south.record] }), {
      GATEWAY_PUBLIC_URL: PUBLIC,
      GATEWAY_ISSUERS_JSON: JSON.stringify([issuer]),
    });
    await connect(inventoryAgent, 'b');
    const send = (path: string, token: string): Promise<Answer> =>
      ask(gateway.port, path, {
        method: 'POST',
        headers: {
          Host: 'gateway.example',
          'Content-Type': 'application/json',
          Authorization: `Bearer ${token}`,
        },
        body: '{}',
      });
    const statuses = paths.map(async (path) => (await send(`/s/inventory${CALL}`, tokenOf(path))).status);
    expect(await Promise.all(statuses)).toEqual([200, 401, 401]);
    const { text: rows } = await send(`/s/inventory${CALL}`, tokenOf(paths[0] ?? ''));
    expect(rows).toContain('"inventory/token:idp:ann"');
    const metadata = 'https://gateway.example/.well-known/oauth-protected-resource/base/s/inventory/mcp';
    const refused = await send('/s/inventory/mcp/', tokenOf('/mcp'));
    expect(refused.headers['www-authenticate']).toContain(`resource_metadata="${metadata}/"`);
    for (const path of ['/base/s/inventory/mcp', '/s/inventory/mcp', '/s/inventory/mcp/']) {
      const { text: body } = await request(`/.well-known/oauth-protected-resource${path}`, undefined, 'GET');
      expect(JSON.parse(body)).toMatchObject({
        resource: `${PUBLIC}/s/inventory/mcp${path.endsWith('/') ? '/' : ''}`,
        authorization_servers: [ISSUER],
      });
    }
    expect((await request('/.well-known/oauth-protected-resource/s/bare/mcp', undefined, 'GET')).status).toBe(
      404,
    );
    // The issuers of a service leave with it, and no other's.
    await write(services(inventory()));
    await happened('keys_reloaded');
    expect((await send(`/s/inventory${CALL}`, tokenOf('/s/inventory/mcp'))).status).toBe(401);
    expect((await send(CALL, tokenOf('/mcp'))).status).toBe(503);
  });
});

test('without the file there are no paths of services, and records name none', async () => {
  await start(services(), { GATEWAY_SERVICES_FILE: '' });
  expect(await statusOf('default', reports.apiKey)).toBe(404);
  expect(JSON.stringify(events.find(({ event }) => event === 'request'))).not.toContain('"service"');
});

describe('what changes while the gateway runs', () => {
  test('a service, a key and an agent key come', async () => {
    await start(services());
    expect(await statusOf('inventory', north.apiKey)).toBe(401);
    await write(services(inventory()));
    expect(await happened('keys_reloaded')).toEqual([
      {
        event: 'keys_reloaded',
        services: 2,
        keys: 2,
        keys_added: 'inventory/north',
        agent_keys_added: `inventory/${inventoryAgent.keyId}`,
        services_added: 'inventory',
      },
    ]);
    await connect(inventoryAgent, 'b');
    expect(await statusOf('inventory', north.apiKey)).toBe(200);
    await write(services(inventory({ api_keys: [north.record, south.record] })));
    await happened('keys_reloaded', 2);
    expect(await statusOf('inventory', south.apiKey)).toBe(200);
  });

  test('a key goes at once, known or not, and its call under way ends well', async () => {
    await start(services(inventory({ api_keys: [north.record, south.record] })));
    await connect(inventoryAgent, 'b');
    expect(await statusOf('inventory', north.apiKey)).toBe(200);
    await write(services(inventory({ api_keys: [south.record] })));
    expect(await happened('keys_reloaded')).toMatchObject([{ keys_removed: 'inventory/north' }]);
    expect(await statusOf('inventory', north.apiKey)).toBe(401);
    const changed = { ...south.record, capabilities: [] };
    await write(services(inventory({ api_keys: [changed] })));
    expect(await happened('keys_reloaded', 2)).toMatchObject([{}, { keys_changed: 'inventory/south' }]);
    expect(await statusOf('inventory', south.apiKey)).toBe(403);
  });

  test('an agent key that goes takes its links and what its agents offered along', async () => {
    await start(services(inventory({ agent_public_keys: [text(inventoryAgent), text(otherAgent)] })));
    const removed = await connect(inventoryAgent, 'b');
    const stays = await connect(otherAgent, 'c');
    await write(services(inventory({ agent_public_keys: [text(otherAgent)] })));
    expect(await removed.closed).toMatchObject({ code: CLOSE.unauthorized });
    expect(await statusOf('inventory', north.apiKey)).toBe(200);
    expect(stays.socket.readyState).toBe(stays.socket.OPEN);
    const again = await introduce(gateway.port, inventoryAgent, {});
    expect((await again.closed).code).toBe(CLOSE.unauthorized);
    await write(services(inventory({ agent_public_keys: [] })));
    await stays.closed;
    const openapi = await request('/s/inventory/openapi.json', north.apiKey, 'GET');
    expect(openapi.status).toBe(503);
  });

  test('an agent key that moves to another service ends its link here, and serves there', async () => {
    await start(services(inventory()));
    const before = await connect(inventoryAgent, 'b');
    await write(
      services({ id: 'other', agent_public_keys: [text(inventoryAgent)], api_keys: [south.record] }),
    );
    await before.closed;
    expect(await statusOf('inventory', north.apiKey)).toBe(401);
    await connect(inventoryAgent, 'b');
    expect(await statusOf('other', south.apiKey)).toBe(200);
  });

  test('a service that goes takes its agents along, however far they have come', async () => {
    await start(services(inventory()));
    const [silent, challenged] = [
      await dialAgentEndpoint(gateway.port),
      await dialAgentEndpoint(gateway.port),
    ];
    const hello = helloBytes({ keyId: inventoryAgent.keyId, instanceId: 'b' });
    sayText(challenged, hello);
    const challenge = await challenged.next();
    const { agent: asked, asked: question } = await becomeAgent(gateway.port, inventoryAgent, {
      instanceId: 'c',
    });
    peers.push(silent, challenged, asked);
    const listed = await connect(inventoryAgent, 'd', 'inventory');
    await write(services());
    await happened('keys_reloaded');
    sayText(silent, hello);
    sayText(silent, authBytes(inventoryAgent, { hello, challenge: await silent.next() }));
    sayText(challenged, authBytes(inventoryAgent, { hello, challenge }));
    sayFrames(asked, answer(question?.type === 'request' ? question.id : 0, describing('get')));
    for (const peer of [silent, challenged, asked, listed]) {
      expect((await peer.closed).code).toBe(CLOSE.unauthorized);
    }
    expect(await happened('agent_connected')).toHaveLength(1);
    expect(await statusOf('', reports.apiKey)).toBe(503);
  });

  test('a file with faults changes nothing, is reported once with all its faults, and is taken after it was corrected', async () => {
    await start(services(inventory()));
    await connect(inventoryAgent, 'b');
    await write(services(inventory({ api_keys: [], keys: [] }), { id: '?' }));
    expect(await happened('keys_reload_failed')).toMatchObject([
      {
        faults: 2,
        message: expect.stringMatching(/unknown field "keys".*\n.*service 2: id is not accepted/),
      },
    ]);
    gateway.reload();
    gateway.reload();
    await write(services(inventory({ api_keys: [north.record] })).slice(0, -1));
    await happened('keys_reload_failed', 2);
    await rm(file);
    gateway.reload();
    expect(await happened('keys_reload_failed', 3)).toHaveLength(3);
    expect(await statusOf('inventory', north.apiKey)).toBe(200);
    await write(services(inventory()));
    expect(await happened('keys_reloaded')).toEqual([{ event: 'keys_reloaded', services: 2, keys: 2 }]);
    expect(JSON.stringify(events)).not.toContain('$2b$');
  });

  test('a pipe in the place of a file is a file that cannot be taken, and keeps nothing waiting', async () => {
    await start(services());
    await rm(file);
    await promisify(execFile)('mkfifo', [file]);
    gateway.reload();
    expect(await happened('keys_reload_failed')).toHaveLength(1);
    await rm(file);
    await writeFile(file, services(inventory()));
    gateway.reload();
    await happened('keys_reloaded');
  });

  test('a file behind links is seen when the links change, as Kubernetes mounts it, without being asked for', async () => {
    const at = (name: string): string => join(folder.path, name);
    await mkdir(at('v1'));
    await mkdir(at('v2'));
    await writeFile(join(at('v1'), 'services.json'), services());
    await writeFile(join(at('v2'), 'services.json'), services(inventory()));
    await symlink('v1', at('..data'));
    await symlink('..data/services.json', at('mounted.json'));
    await start(services(), { GATEWAY_SERVICES_FILE: at('mounted.json') });
    await symlink('v2', at('..data_tmp'));
    await rename(at('..data_tmp'), at('..data'));
    await happened('keys_reloaded');
    expect(await statusOf('inventory', north.apiKey)).toBe(503);
  });
});
