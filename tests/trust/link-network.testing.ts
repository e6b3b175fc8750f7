import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { nextRecord, sizeOf } from '@svc/testkit';
import { startLoad } from '../requirements/steady-load.testing.ts';
import { fault, inLanes, pause, tally, until, type LinkFault } from './link-fault.testing.ts';
import { newestAgent } from './link-scene.testing.ts';
import { gatewayMetric } from './link-sizes.testing.ts';

// What a network, a caller or a busy machine may do to a link that is there.

/** PROTOCOL.md, "Life and death of the link"; and what a slow machine takes to tell of it. */
const NOTICED_WITHIN_MS = 28_000 + 1000;
/** The capability's 3 s, the 2 s that the gateway allows on top, and 0.5 s. */
const CALL_ENDS_WITHIN_MS = 5500;
const BUDGET_MEGABYTES = 64;

/** How many lines of the agent so far tell that it has no connection. */
const lossesIn = (output: string): number => output.split(': not connected to ').length - 1;

const blackHoles = fault('black-hole', { long: {} }, async (scene) => {
  const { network, caller } = scene;
  const figures: string[] = [];
  for (const direction of ['both', 'to_target', 'to_client'] as const) {
    const agent = newestAgent(scene);
    const from = performance.now();
    const since = (): number => performance.now() - from;
    network.stall(direction);
    let latestCallMs = 0;
    const calls = Array.from({ length: 20 }, async (_, id) => {
      const started = performance.now();
      const { status } = await caller.call('get_item', { id });
      latestCallMs = Math.max(latestCallMs, performance.now() - started);
      return status;
    });
    const ended = await gatewayMetric(scene, 'svc_gateway_agent_disconnects_total');
    const gatewayMs = until('the gateway notices', NOTICED_WITHIN_MS + 2000, async () => {
      return (await gatewayMetric(scene, 'svc_gateway_agent_disconnects_total')) > ended;
    }).then(since);
    const losses = lossesIn(agent.output());
    const agentMs = until('the agent notices', NOTICED_WITHIN_MS + 2000, () => {
      return lossesIn(agent.output()) > losses;
    }).then(since);
    const statuses = await Promise.all(calls);
    const [gateway, agentSide] = await Promise.all([gatewayMs, agentMs]);
    network.resume();
    assert.ok(gateway < NOTICED_WITHIN_MS, `the gateway took ${gateway} ms`);
    assert.ok(agentSide < NOTICED_WITHIN_MS, `the agent took ${agentSide} ms`);
    assert.ok(latestCallMs < CALL_ENDS_WITHIN_MS, `a call took ${latestCallMs} ms`);
    await until('calls are answered again', 35_000, async () => {
      return (await caller.call('get_item', { id: 1 })).status === 200;
    });
    figures.push(
      `${direction}: gateway ${(gateway / 1000).toFixed(1)} s, agent ${(agentSide / 1000).toFixed(1)} s, ` +
        `calls ${tally(statuses)} within ${(latestCallMs / 1000).toFixed(1)} s`,
    );
  }
  return figures.join('; ');
});

/** Takes the head and a first piece, and then nothing. */
async function takeNothing(response: IncomingMessage): Promise<void> {
  await new Promise<void>((resolve) => response.once('readable', () => resolve()));
}

const stoppedReader = fault(
  'stopped-reader',
  { short: { rounds: 1 }, long: { rounds: 50 } },
  async (scene, { rounds }) => {
    const { caller } = scene;
    const reader = await scene.open('large', { pieces: 256 });
    const response = await reader.response;
    assert.equal(response.statusCode, 200);
    await takeNothing(response);
    let slowestMs = 0;
    let calls = 0;
    for (let round = 0; round < rounds; round++) {
      await inLanes(200, 50, async (index) => {
        const started = performance.now();
        const { status } = await caller.call('get_item', { id: index + 1 });
        assert.equal(status, 200);
        slowestMs = Math.max(slowestMs, performance.now() - started);
        calls++;
      });
    }
    reader.destroy();
    assert.ok(slowestMs < 1000, `a call took ${slowestMs} ms`);
    return `${calls} calls beside it, the slowest ${Math.round(slowestMs)} ms`;
  },
);

const silentReaders = fault(
  'readers-that-never-read',
  { short: { readers: 60, stay: false }, long: { readers: 1000, stay: true } },
  async (scene, { readers, stay }) => {
    const { service, caller } = scene;
    const { megabytes } = await sizeOf(service.gateway);
    const statuses: number[] = [];
    let most = 0;
    let reserved = 0;
    let watching = true;
    const watch = (async () => {
      while (watching) {
        most = Math.max(most, (await sizeOf(service.gateway)).megabytes);
        reserved = Math.max(reserved, await gatewayMetric(scene, 'svc_gateway_result_reserved_bytes'));
        await pause(50);
      }
    })();
    watch.catch(() => {});
    const calls = await Promise.all(
      Array.from({ length: readers }, () => scene.open('large_soon', { pieces: 64 })),
    );
    const answers = calls.map(async ({ response }) => {
      const head = await response.catch(() => undefined);
      statuses.push(head?.statusCode ?? 0);
    });
    // A caller that reads nothing does not see that it was cut off.
    const over = async (): Promise<boolean> =>
      statuses.length === readers && (await gatewayMetric(scene, 'svc_gateway_requests_in_flight')) === 0;
    if (stay) await until('all have been cut off', 90_000, over);
    else {
      await until('some have an answer', 10_000, () => statuses.length > 10);
      await pause(1000);
    }
    const started = performance.now();
    const small = await caller.call('get_item', { id: 1 });
    const smallMs = performance.now() - started;
    for (const call of calls) call.destroy();
    await Promise.all(answers);
    watching = false;
    await watch;
    assert.equal(small.status, 200);
    assert.ok(smallMs < 2000, `a small call took ${smallMs} ms`);
    assert.ok(reserved <= BUDGET_MEGABYTES * 2 ** 20, `${reserved} bytes were reserved`);
    const grown = most - megabytes;
    assert.ok(grown < 4 * BUDGET_MEGABYTES, `the gateway grew by ${grown} MB`);
    return `${tally(statuses)}; gateway grew by ${Math.round(grown)} MB at most`;
  },
);

/** 2 Mbit/s. */
const SLOW_BYTES_PER_SECOND = 250_000;

const slowLink = fault(
  'slow-link',
  { short: { pieces: 8 }, long: { pieces: 256 } },
  async (scene, { pieces }) => {
    const { network, caller } = scene;
    const losses = await gatewayMetric(scene, 'svc_gateway_agent_disconnects_total');
    network.limit(SLOW_BYTES_PER_SECOND);
    const started = performance.now();
    let slowestMs = 0;
    const statuses: number[] = [];
    let arriving = true;
    const beside = (async () => {
      while (arriving) {
        const from = performance.now();
        statuses.push((await caller.call('get_item', { id: 1 })).status);
        slowestMs = Math.max(slowestMs, performance.now() - from);
        await pause(250);
      }
    })();
    const { status, text } = await caller.call('large', { pieces });
    const tookMs = performance.now() - started;
    arriving = false;
    await beside;
    network.limit(Infinity);
    assert.equal(status, 200);
    assert.deepEqual(new Set(statuses), new Set([200]));
    const row = `{"text":"${'x'.repeat(65_536)}"}`;
    assert.ok(text === `{"rows":[${Array(pieces).fill(row).join(',')}],"count":${pieces}}`);
    assert.ok(tookMs > (1000 * pieces * 65_536) / SLOW_BYTES_PER_SECOND - 500);
    assert.ok(slowestMs < 3000, `a small call took ${slowestMs} ms`);
    assert.equal(await gatewayMetric(scene, 'svc_gateway_agent_disconnects_total'), losses);
    return `${(text.length / 2 ** 20).toFixed(1)} MiB in ${(tookMs / 1000).toFixed(1)} s; ${statuses.length} calls beside it, the slowest ${Math.round(slowestMs)} ms`;
  },
);

/** After so much silence a ping is under way, or about to be. */
const BLOCKED_AFTER_MS = [0, 13_000, 17_000];

const blocked = fault(
  'blocked-event-loop',
  { short: { blockedMs: 1500, after: [0] }, long: { blockedMs: 8000, after: BLOCKED_AFTER_MS } },
  async (scene, { blockedMs, after }) => {
    const { service, caller } = scene;
    const losses = await gatewayMetric(scene, 'svc_gateway_agent_disconnects_total');
    for (const process of [service.gateway, newestAgent(scene)]) {
      for (const silenceMs of after) {
        await pause(silenceMs);
        process.signal('SIGSTOP');
        await pause(blockedMs);
        process.signal('SIGCONT');
        // Whoever is going to blame the other does it now.
        await pause(blockedMs < 8000 ? 200 : 3000);
        assert.equal((await caller.call('get_item', { id: 1 })).status, 200);
      }
    }
    assert.equal(await gatewayMetric(scene, 'svc_gateway_agent_disconnects_total'), losses);
    return `both ends, ${after.length} times ${blockedMs / 1000} s each: no disconnect`;
  },
);

const brokenLink = fault('resets-under-load', { long: { cuts: 6 } }, async (scene, { cuts }) => {
  const { network, service, caller } = scene;
  const load = startLoad(caller, 15);
  await load.settled();
  for (let cut = 0; cut < cuts; cut++) {
    const back = nextRecord(service.gateway, 'agent_connected');
    network.cut();
    await back;
    await load.settled();
  }
  await load.stop();
  const faults = load.faults();
  assert.deepEqual(
    faults.filter((seen) => seen !== '503 GATEWAY_AGENT_OFFLINE'),
    [],
  );
  return `${cuts} resets, ${load.right} calls right`;
});

export const NETWORK_FAULTS: readonly LinkFault[] = [
  stoppedReader,
  silentReaders,
  slowLink,
  blocked,
  brokenLink,
  blackHoles,
];
