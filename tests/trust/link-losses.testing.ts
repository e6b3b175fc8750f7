import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { decodeMessage, DESCRIBE_CAPABILITY, encodeFrame, type Frame } from '@svc/protocol';
import { nextRecord, startFaultProxy, type RunningProcess } from '@svc/testkit';
import {
  startGateway,
  type AgentSide,
} from '../../packages/agent/src/gateway-link/gateway-by-hand.testing.ts';
import { openGatewayLinks, type GatewayLinks } from '../../packages/agent/src/gateway-link/gateway-links.ts';
import type { CallOutcome } from '../../packages/agent/src/calls/handle-call.ts';
import { createMessageSource } from '../../packages/protocol/src/frames/mutate.testing.ts';
import { describing } from '../../packages/gateway/src/agents/unauthenticated-peer.testing.ts';
import { startLoad } from '../requirements/steady-load.testing.ts';
import { assertRuns, fault, pause, tally, until, type LinkFault } from './link-fault.testing.ts';
import { newestAgent, type LinkScene } from './link-scene.testing.ts';
import { gatewayMetric } from './link-sizes.testing.ts';

// Processes that end, calls that end, and what stands between agent and gateway on purpose.

const DISCONNECTS = 'svc_gateway_agent_disconnects_total';
const CONNECTIONS = 'svc_gateway_agent_connections';
const IN_FLIGHT = 'svc_gateway_agent_calls_in_flight';
const REQUESTS = 'svc_gateway_requests_in_flight';

const killedAgent = fault(
  'killed-agent',
  { short: { rounds: 1, calls: 500 }, long: { rounds: 10, calls: 500 } },
  async (scene, { rounds, calls }) => {
    const { service, caller } = scene;
    const endings: number[] = [];
    let slowestMs = 0;
    for (let round = 0; round < rounds; round++) {
      let ended = 0;
      const running = Array.from({ length: calls }, async () => {
        const { status } = await caller.call('sleep', { seconds: 60 });
        ended++;
        endings.push(status);
      });
      await until('all are in flight', 10_000, async () => (await gatewayMetric(scene, IN_FLIGHT)) === calls);
      assert.equal(ended, 0);
      const from = performance.now();
      newestAgent(scene).signal('SIGKILL');
      await Promise.all(running);
      slowestMs = Math.max(slowestMs, performance.now() - from);
      assert.equal(ended, calls);
      await until('none is in flight', 2000, async () => (await gatewayMetric(scene, REQUESTS)) === 0);
      await service.startAgent();
    }
    assert.deepEqual(new Set(endings), new Set([503]));
    assert.ok(slowestMs < 3000, `the last ended after ${slowestMs} ms`);
    return `${tally(endings)}, the last ${Math.round(slowestMs)} ms after the kill`;
  },
);

function bodyFrame(id: number, capability: string, params: object): Frame {
  const bytes = Buffer.from(JSON.stringify(params));
  return {
    type: 'request',
    id,
    capability,
    timeoutMs: 10_000,
    metadata: {},
    paramsLength: bytes.length,
    params: bytes,
    fin: true,
  };
}

/** A real agent whose gateway is this process. */
async function withAgentByHand(
  scene: LinkScene,
  use: (next: () => Promise<AgentSide>, agent: RunningProcess) => Promise<string>,
): Promise<string> {
  const gateway = await startGateway();
  try {
    const agent = await scene.startVariant((file) =>
      file
        .replace(/url: ws:\S+/, `url: ${gateway.url}`)
        .replace(/agent_private_key: \S+/, `agent_private_key: ${gateway.agentPrivateKey}`),
    );
    let figures;
    let exit;
    try {
      figures = await use(gateway.next, agent);
    } finally {
      // Left running it would fail what is tried next.
      exit = await agent.stop();
    }
    assert.deepEqual(exit, { code: 0, signal: null });
    return figures;
  } finally {
    await gateway.close();
  }
}

const CANCELS_PER_SECOND = 10_000;
const BYSTANDERS_PER_SECOND = 200;
const TICK_MS = 10;
/** Fewer than an agent takes, as a gateway keeps to it: after a pause of this process far more would be due at once. */
const MOST_UNDER_WAY = 800;
const SLEEP_SECONDS = 5;
/** Most are cancelled before the database has heard of them; of so many one is given the time to run there. */
const ONE_RUNS_OF = 2000;
const RUNS_MS = 400;
/** A row for each query that sleeps now, by what tells it from the others before and after it. */
const SLEEPING = `select pid || ' ' || query_start as query,
  extract(epoch from clock_timestamp() - query_start)::float8 as seconds from pg_stat_activity
  where datname = current_database() and wait_event = 'PgSleep' and query like '%slept%'`;

interface Sleeping {
  readonly query: string;
  readonly seconds: number;
}

const cancels = fault(
  'cancels',
  {
    short: { seconds: 1.5, leastRate: 5000, leastStopped: 1 },
    long: { seconds: 60, leastRate: 9000, leastStopped: 300 },
  },
  async (scene, { seconds, leastRate, leastStopped }) =>
    await withAgentByHand(scene, async (next) => {
      const { socket } = await next();
      const innocent = new Map<number, string>();
      const wrong: string[] = [];
      let right = 0;
      socket.on('message', (message: Buffer) => {
        for (const frame of decodeMessage(message)) {
          if (!('id' in frame) || !innocent.has(frame.id)) continue;
          const expected = innocent.get(frame.id);
          innocent.delete(frame.id);
          if (frame.type === 'result' && frame.rows.toString() === expected) right++;
          else wrong.push(JSON.stringify(frame));
        }
      });
      let id = 0;
      let cancelled = 0;
      let due: { readonly id: number; readonly at: number }[] = [];
      const begun = new Set<string>();
      let longest = 0;
      let sending = true;
      const watching = (async () => {
        while (sending) {
          for (const { query, seconds } of await scene.query<Sleeping>(SLEEPING)) {
            begun.add(query);
            longest = Math.max(longest, seconds);
          }
          await pause(TICK_MS);
        }
      })();
      watching.catch(() => {});
      const started = performance.now();
      for (let now = 0; now < 1000 * seconds; now = performance.now() - started) {
        const frames: Frame[] = [];
        for (const { id, at } of due) if (at <= now) frames.push({ type: 'cancel', id });
        cancelled += frames.length;
        due = due.filter(({ at }) => at > now);
        const idDue = ((CANCELS_PER_SECOND + BYSTANDERS_PER_SECOND) * now) / 1000;
        while (id < idDue && due.length + innocent.size < MOST_UNDER_WAY) {
          id++;
          if (id % (1 + CANCELS_PER_SECOND / BYSTANDERS_PER_SECOND) === 0) {
            const item = 1 + (id % 1000);
            innocent.set(id, `[{"id":${item},"label":"item ${item}"}]`);
            frames.push(bodyFrame(id, 'get_item', { id: item }));
          } else {
            frames.push(bodyFrame(id, 'sleep', { seconds: SLEEP_SECONDS }));
            due.push({ id, at: now + (id % ONE_RUNS_OF === 1 ? RUNS_MS : 40 * Math.random()) });
          }
        }
        for (let at = 0; at < frames.length; at += 200)
          socket.send(Buffer.concat(frames.slice(at, at + 200).map((frame) => encodeFrame(frame))));
        await pause(TICK_MS);
      }
      const tookSeconds = (performance.now() - started) / 1000;
      sending = false;
      await watching;
      if (due.length > 0)
        socket.send(Buffer.concat(due.slice(0, 1000).map(({ id }) => encodeFrame({ type: 'cancel', id }))));
      await until('the innocent are answered', 10_000, () => innocent.size === 0);
      const rate = Math.round(cancelled / tookSeconds);
      assert.deepEqual(wrong, []);
      assert.ok(right > 50);
      assert.ok(rate >= leastRate, `${rate} cancels a second`);
      assert.ok(begun.size >= leastStopped, `${begun.size} queries were seen at the database`);
      assert.ok(longest < SLEEP_SECONDS - 1, `a query ran for ${longest} s`);
      await until('no query runs', 2000, async () => (await scene.query(SLEEPING)).length === 0);
      return `${rate} cancels a second, ${begun.size} queries or more stopped, after ${longest.toFixed(1)} s at most; ${right} other calls, all right`;
    }),
);

const noiseAtAgent = fault(
  'random-frames-at-agent',
  { short: { connections: 3 }, long: { connections: 8 } },
  async (scene, { connections }) =>
    await withAgentByHand(scene, async (next, agent) => {
      const seed = Math.floor(Math.random() * 2 ** 31);
      const nextMessage = createMessageSource(seed);
      const endings: number[] = [];
      let messages = 0;
      for (let count = 0; count < connections; count++) {
        const { socket, closed } = await next();
        const from = performance.now();
        while (socket.readyState === socket.OPEN && performance.now() - from < 1000) {
          socket.send(nextMessage(), { binary: true });
          if (++messages % 20 === 0) await pause(1);
        }
        socket.terminate();
        endings.push(await closed);
      }
      const { socket } = await next();
      const answer = new Promise<Frame | undefined>((resolve) => {
        socket.once('message', (message: Buffer) => resolve([...decodeMessage(message)][0]));
      });
      socket.send(encodeFrame(bodyFrame(1, 'get_item', { id: 5 })));
      const frame = await answer;
      assert.ok(frame?.type === 'result', `seed ${seed}: ${JSON.stringify(frame)}`);
      assert.equal(frame.rows.toString(), '[{"id":5,"label":"item 5"}]');
      await assertRuns(agent, `seed ${seed}`);
      return `seed ${seed}; ${messages} messages; closed with ${tally(endings)}`;
    }),
);

/** What a caller may see of a single gateway that is not there: nothing of it was ever begun. */
const NOT_BEGUN = new Set([
  '503 GATEWAY_AGENT_OFFLINE',
  'no answer: ECONNREFUSED',
  'no answer: Error: connect ECONNREFUSED',
]);

/** Calls that run at the database when the gateway is asked to end; fewer than an agent has connections. */
const ACCEPTED = 6;

const rollingRestart = fault('rolling-restart', { long: { rounds: 15 } }, async (scene, { rounds }) => {
  const { service, caller } = scene;
  const load = startLoad(caller, 15);
  await load.settled();
  const seen: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const leaving = newestAgent(scene);
    await service.startAgent();
    await load.settled();
    assert.deepEqual(await leaving.stop(30_000), { code: 0, signal: null });
    await load.settled();
    assert.deepEqual(load.faults(), [], 'while agents were replaced');
    const accepted = Promise.all(
      Array.from({ length: ACCEPTED }, () => caller.call('sleep', { seconds: 2 })),
    );
    accepted.catch(() => {});
    await until('the calls run', 5000, async () => (await scene.query(SLEEPING)).length === ACCEPTED);
    assert.deepEqual(await service.gateway.stop(30_000), { code: 0, signal: null });
    for (const { status, text } of await accepted)
      assert.deepEqual(
        [status, text],
        [200, '{"rows":[{"slept":2}],"count":1}'],
        'of a call that was accepted',
      );
    const gateway = await service.restartGateway();
    await gateway.waitForLine((line) => line.includes('"event":"agent_connected"'), 20_000);
    await load.settled();
    seen.push(...load.faults());
  }
  await load.stop();
  const broken = seen.filter((each) => !NOT_BEGUN.has(each) && !each.includes('ECONNREFUSED'));
  assert.deepEqual(broken, [], 'while the gateway was replaced');
  return `${rounds} rounds, ${load.right} calls right; while no gateway was there: ${tally(seen)}`;
});

const storm = fault(
  'reconnect-storm',
  { short: { agents: 60, withinMs: 15_000 }, long: { agents: 1000, withinMs: 90_000 } },
  async (scene, { agents, withinMs }) => {
    const { service, agentKey: key, caller } = scene;
    const description = describing('strange');
    const answer = (capability: string): CallOutcome =>
      capability === DESCRIBE_CAPABILITY
        ? { kind: 'result', rows: description, count: 0, truncated: false, release: () => {} }
        : { kind: 'error', code: 'AGENT_QUERY_FAILED', message: 'no', notStarted: false };
    const url = `ws://127.0.0.1:${service.port}/ws/agent`;
    const all = async (): Promise<boolean> => (await gatewayMetric(scene, CONNECTIONS)) === agents + 1;
    const links: GatewayLinks[] = [];
    try {
      for (let count = 0; count < agents; count++) {
        links.push(
          openGatewayLinks({
            url,
            ca: undefined,
            identity: {
              instanceId: randomUUID(),
              keyId: key.keyId,
              privateKey: key.privateKey,
              maxInflight: 64,
              manifestSha256: createHash('sha256').update(description).digest('hex'),
              hasPages: false,
              trust: undefined,
            },
            handle: async ({ capability }) => answer(capability),
            databases: () => [],
            maxLinks: 64,
            resolveIntervalMs: 10_000,
            loads: new Set(),
            onConnected: () => {},
            onLost: () => {},
            onDialled: () => {},
            onShort: () => {},
            random: Math.random,
          }),
        );
      }
      const first = await until('all agents have connected', withinMs, all);
      service.gateway.signal('SIGKILL');
      await service.gateway.exited;
      await service.restartGateway();
      const again = await until('all agents are back', withinMs, all);
      assert.equal((await caller.call('get_item', { id: 1 })).status, 200);
      return `${agents} agents: connected in ${first / 1000} s, after a kill back in ${again / 1000} s`;
    } finally {
      await Promise.all(links.map((link) => link.stop()));
    }
  },
);

const strippedUpgrade = fault('stripped-upgrade', { short: {}, long: {} }, async (scene) => {
  const proxy = createServer((incoming, outgoing) => {
    const { upgrade: _upgrade, connection: _connection, ...headers } = incoming.headers;
    const { port } = scene.service;
    const onward = httpRequest({ host: '127.0.0.1', port, path: incoming.url, headers, agent: false });
    onward.on('response', (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    onward.end();
  });
  proxy.listen({ host: '127.0.0.1', port: 0 });
  await once(proxy, 'listening');
  const address = proxy.address();
  assert.ok(typeof address === 'object' && address !== null);
  try {
    const agent = await scene.startVariant((file) =>
      file.replace(/url: ws:\S+/, `url: ws://127.0.0.1:${address.port}/ws/agent`),
    );
    const line = await agent.waitForLine((text) => text.includes('remove the Upgrade header'));
    assert.match(line, /answered HTTP 4\d\d instead of opening a WebSocket/);
    assert.deepEqual(await agent.stop(), { code: 0, signal: null });
    return line;
  } finally {
    proxy.closeAllConnections();
    proxy.close();
  }
});

const closingProxy = fault(
  'closing-proxy',
  { short: { times: 2, everyMs: 200 }, long: { times: 8, everyMs: 30_000 } },
  async (scene, { times, everyMs }) => {
    const { network, service, caller } = scene;
    const second = await startFaultProxy({ target: { host: '127.0.0.1', port: service.port } });
    try {
      const listed = nextRecord(service.gateway, 'agent_connected');
      const other = await scene.startVariant((file) =>
        file.replace(`127.0.0.1:${network.port}`, `127.0.0.1:${second.port}`),
      );
      await listed;
      const before = await gatewayMetric(scene, DISCONNECTS);
      const load = startLoad(caller, 15);
      await load.settled();
      for (let time = 0; time < times; time++) {
        const back = nextRecord(service.gateway, 'agent_connected');
        (time % 2 === 0 ? network : second).cut();
        await back;
        await load.settled();
        await pause(everyMs / 2);
      }
      await load.stop();
      assert.deepEqual(load.faults(), []);
      assert.equal((await gatewayMetric(scene, DISCONNECTS)) - before, times);
      assert.deepEqual(await other.stop(), { code: 0, signal: null });
      return `${times} ends of a connection, each of two agents in turn; ${load.right} calls, none failed`;
    } finally {
      await second.close();
    }
  },
);

export const LOSS_FAULTS: readonly LinkFault[] = [
  killedAgent,
  cancels,
  noiseAtAgent,
  rollingRestart,
  storm,
  strippedUpgrade,
  closingProxy,
];
