import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createReleasers,
  freePort,
  nextRecord,
  runProcess,
  SVC_GATEWAY,
  temporaryFolder,
} from '@svc/testkit';
import {
  becomeAgent,
  answer as resultFrame,
  createAgentKey,
  describing,
  introduce,
  sayFrames,
  type PeerByHand,
} from '../../packages/gateway/src/agents/unauthenticated-peer.testing.ts';
import { AUTHORITY, CERTIFICATE, CERTIFICATE_KEY } from './certificates.testing.ts';
import { gatewaysOfThisFile } from './gateways-of-this-file.testing.ts';
import { askOnce, recordsOf, type Environment, type LoneGateway } from './lone-gateway.testing.ts';

const { agentKey, common, start, refusal, asKey } = gatewaysOfThisFile();
const PUBLIC_KEY = agentKey.publicKey.toString('base64url');
const otherKey = createAgentKey();
const releasers = createReleasers();
afterAll(() => releasers.closeAll());

describe('where it listens', { tags: ['setting:GATEWAY_ADDR'] }, () => {
  test('port 0 picks a port, which the record names', { tags: ['log:listening'] }, async () => {
    const { port, listening } = await start({ GATEWAY_ADDR: '127.0.0.1:0' });
    expect(port).toBeGreaterThan(0);
    expect(listening).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      level: 'info',
      event: 'listening',
      url: `http://127.0.0.1:${port}`,
      address: '127.0.0.1',
      port,
    });
    expect((await askOnce(port, 'GET', '/healthz')).status).toBe(200);
  });

  test('a port alone listens on every address', async () => {
    const wanted = await freePort();
    const { port, listening } = await start({ GATEWAY_ADDR: `:${wanted}` });
    expect(port).toBe(wanted);
    expect(['::', '0.0.0.0']).toContain(listening['address']);
    expect((await askOnce(port, 'GET', '/healthz')).status).toBe(200);
  });

  test('a host and a port listen there only', async () => {
    const { port } = await start({ GATEWAY_ADDR: '127.0.0.2:0' });
    const elsewhere = connect({ host: '127.0.0.1', port });
    await expect(once(elsewhere, 'connect')).rejects.toThrow('ECONNREFUSED');
  });

  test('the default is port 8080 of every address', async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => {
      // Somebody else's listener serves as well.
      blocker.once('error', () => resolve()).listen({ port: 8080 }, resolve);
    });
    const env = Object.fromEntries(Object.entries(common().env).filter(([name]) => name !== 'GATEWAY_ADDR'));
    const { code, stderr } = await runProcess(SVC_GATEWAY, [], { env });
    blocker.close();
    expect(code).toBe(1);
    expect(stderr).toContain('another process listens on this address');
  });
});

describe('agents', () => {
  /** Whether the gateway welcomes an agent that addressed it by this URL. */
  async function welcomed(port: number, audience: string, key = agentKey): Promise<boolean> {
    const stranger = await introduce(port, key, { audience });
    const first = await Promise.race([
      stranger.next().then((message) => message.toString().includes('"welcome"')),
      stranger.closed.then(() => false),
    ]);
    stranger.socket.terminate();
    return first;
  }

  test(
    'one public key',
    { tags: ['setting:GATEWAY_AGENT_PUBLIC_KEY', 'state:rejected', 'log:agent_rejected'] },
    async () => {
      const { port, process } = await start();
      expect(await welcomed(port, 'ws://localhost/ws/agent')).toBe(true);
      expect(await welcomed(port, 'ws://localhost/ws/agent', otherKey)).toBe(false);
      await process.waitForLine((line) => line.includes('unknown key or bad signature'));
      expect(recordsOf(process)).toContainEqual({
        time: expect.any(String),
        level: 'warn',
        event: 'agent_rejected',
        source: '127.0.0.1',
        reason: 'unknown key or bad signature',
      });
    },
  );

  test('several public keys', { tags: ['setting:GATEWAY_AGENT_PUBLIC_KEY'] }, async () => {
    const both = `${otherKey.publicKey.toString('base64url')}, ${PUBLIC_KEY}`;
    const { port } = await start({ GATEWAY_AGENT_PUBLIC_KEY: both });
    expect(await welcomed(port, 'ws://localhost/ws/agent')).toBe(true);
    expect(await welcomed(port, 'ws://localhost/ws/agent', otherKey)).toBe(true);
    expect(await welcomed(port, 'ws://localhost/ws/agent', createAgentKey())).toBe(false);
  });

  test.each<[string, Environment, readonly string[], readonly string[]]>([
    ['no setting', {}, ['wss://anything.example/ws/agent'], []],
    [
      'GATEWAY_PUBLIC_URL',
      { GATEWAY_PUBLIC_URL: 'https://gw.example.com/base/' },
      ['wss://gw.example.com/base/ws/agent'],
      [
        'wss://gw.example.com/ws/agent',
        'ws://gw.example.com/base/ws/agent',
        'wss://evil.example/base/ws/agent',
      ],
    ],
    [
      'GATEWAY_AGENT_URLS',
      {
        GATEWAY_PUBLIC_URL: 'https://gw.example.com',
        GATEWAY_AGENT_URLS: 'wss://one.internal/ws/agent,wss://two.internal:8443/ws/agent',
      },
      ['wss://one.internal/ws/agent', 'wss://two.internal:8443/ws/agent'],
      ['wss://gw.example.com/ws/agent', 'wss://two.internal/ws/agent'],
    ],
  ])(
    '%s decides how agents may address the gateway',
    { tags: ['setting:GATEWAY_AGENT_URLS'] },
    async (_title, env, good, bad) => {
      const { port } = await start(env);
      for (const audience of good)
        expect([audience, await welcomed(port, audience)]).toEqual([audience, true]);
      for (const audience of bad)
        expect([audience, await welcomed(port, audience)]).toEqual([audience, false]);
    },
  );
});

describe('with a description', () => {
  async function connectAgent(
    { port, process }: LoneGateway,
    description = describing('get'),
  ): Promise<PeerByHand> {
    const connected = nextRecord(process, 'agent_connected');
    const { agent, asked } = await becomeAgent(port, agentKey, { description });
    if (asked?.type !== 'request') throw new Error('the gateway asks for no description');
    sayFrames(agent, resultFrame(asked.id, description));
    await connected;
    await releasers.add(async () => agent.socket.terminate());
    return agent;
  }
  const openapi = async ({ port }: LoneGateway): Promise<string> => {
    const { status, body } = await askOnce(port, 'GET', '/openapi.json', { headers: asKey() });
    expect(status).toBe(200);
    return body;
  };

  test.each<[Environment, string]>([
    [{}, '/'],
    [{ GATEWAY_PUBLIC_URL: 'http://localhost:1234' }, 'http://localhost:1234'],
    [{ GATEWAY_PUBLIC_URL: 'https://gw.example.com/base/' }, 'https://gw.example.com/base'],
  ])('%j: the server is %s', { tags: ['setting:GATEWAY_PUBLIC_URL'] }, async (env, url) => {
    const gateway = await start(env);
    await connectAgent(gateway);
    expect(JSON.parse(await openapi(gateway))).toMatchObject({ servers: [{ url }] });
  });

  test.each([
    ['true', true],
    ['1', true],
    ['false', false],
    ['0', false],
    ['', false],
  ])(
    'snapshot %j: %s',
    { tags: ['setting:GATEWAY_EMIT_OPENAPI_SNAPSHOT', 'setting:booleans'] },
    async (value, written) => {
      const place = await temporaryFolder('snapshot');
      const cwd = place.path;
      const gateway = await start({ GATEWAY_EMIT_OPENAPI_SNAPSHOT: value }, { cwd });
      const agents = [await connectAgent(gateway)];
      let served = await openapi(gateway);
      const snapshot = (): Promise<string | undefined> =>
        readFile(join(cwd, 'openapi.json'), 'utf8').catch(() => undefined);
      if (written) await expect.poll(snapshot).toBe(served);
      const newer = describing('get').toString().replace('"version":"1"', '"version":"2"');
      agents.push(await connectAgent(gateway, Buffer.from(newer)));
      expect(await openapi(gateway)).not.toBe(served);
      served = await openapi(gateway);
      if (written) await expect.poll(snapshot).toBe(served);
      // The older leaves first: were it connected alone for a moment, its description would be the one served.
      for (const { socket } of agents) {
        const left = nextRecord(gateway.process, 'agent_disconnected');
        socket.terminate();
        await left;
      }
      await gateway.process.stop();
      expect(await snapshot()).toBe(written ? served : undefined);
      await place.remove();
    },
  );
});

describe('TLS', { tags: ['setting:GATEWAY_TLS_CERT_FILE', 'setting:GATEWAY_TLS_KEY_FILE'] }, () => {
  let files: Environment;
  beforeAll(async () => {
    files = {
      GATEWAY_TLS_CERT_FILE: join(common().folder, 'cert.pem'),
      GATEWAY_TLS_KEY_FILE: join(common().folder, 'key.pem'),
    };
    await writeFile(join(common().folder, 'cert.pem'), CERTIFICATE);
    await writeFile(join(common().folder, 'key.pem'), CERTIFICATE_KEY);
  });

  test('HTTPS and WSS are served, HTTP is not', async () => {
    const { port, listening } = await start(files);
    expect(listening['url']).toBe(`https://127.0.0.1:${port}`);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sent = httpsRequest(
        { host: '127.0.0.1', port, path: '/healthz', servername: 'localhost', ca: AUTHORITY, agent: false },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      );
      sent.on('error', reject).end();
    });
    expect(status).toBe(200);

    const socket = connectTls({ host: '127.0.0.1', port, servername: 'localhost', ca: AUTHORITY });
    await once(socket, 'secureConnect');
    socket.write(
      'GET /ws/agent HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16, 7).toString('base64')}\r\n` +
        'Sec-WebSocket-Protocol: svc-agent.v1\r\n\r\n',
    );
    const [first]: Buffer[] = await once(socket, 'data');
    expect(first?.toString()).toMatch(/^HTTP\/1\.1 101 /);
    socket.destroy();

    await expect(askOnce(port, 'GET', '/healthz')).rejects.toThrow('socket hang up');
  });

  test('a certificate without its key, a key without its certificate', async () => {
    for (const [given, missing] of [
      ['GATEWAY_TLS_CERT_FILE', 'GATEWAY_TLS_KEY_FILE'],
      ['GATEWAY_TLS_KEY_FILE', 'GATEWAY_TLS_CERT_FILE'],
    ] as const) {
      const lines = await refusal({ [given]: files[given] ?? '' });
      expect(lines).toContainEqual(expect.stringMatching(`^svc-gateway: ${missing}: .*both or neither`));
    }
  });

  test('files that hold something else', async () => {
    const swapped = await refusal({
      GATEWAY_TLS_CERT_FILE: files['GATEWAY_TLS_KEY_FILE'] ?? '',
      GATEWAY_TLS_KEY_FILE: join(common().folder, 'missing.pem'),
    });
    expect(swapped).toContainEqual(expect.stringContaining('GATEWAY_TLS_CERT_FILE: '));
    expect(swapped).toContainEqual(expect.stringContaining('GATEWAY_TLS_KEY_FILE: '));
  });
});
