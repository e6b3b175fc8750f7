import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { gatewaySettings, nextRecord, startGateway } from '@svc/testkit';
import { createMessageSource } from '../../packages/protocol/src/frames/mutate.testing.ts';
import {
  answer,
  authBytes,
  becomeAgent,
  describing,
  dialAgentEndpoint,
  helloBytes,
  sayFrames,
  sayText,
  type PeerByHand,
} from '../../packages/gateway/src/agents/unauthenticated-peer.testing.ts';
import { assertRuns, fault, inLanes, pause, tally, until, type LinkFault } from './link-fault.testing.ts';
import { AUDIENCE, type LinkScene } from './link-scene.testing.ts';
import { gatewayMetric } from './link-sizes.testing.ts';

// Whoever comes to the agents' door of a real gateway without being an agent, or not a sound one.

const YEARS = 10;
const REFUSALS = new Set(['4400', '4401', '4403', '4426']);

/** Waits while the gateway turns away whoever comes: it takes 100 upgrades a second of a source with an agent. */
async function patiently<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!String(error).includes('429')) throw error;
      await pause(50);
    }
  }
}

const dialPort = (port: number): Promise<PeerByHand> => patiently(() => dialAgentEndpoint(port));

/** The close code, or that something was answered instead. */
async function verdict(stranger: PeerByHand): Promise<string> {
  const outcome = await Promise.race([
    stranger.next().then((message) => `answered ${message.toString()}`),
    stranger.closed.then(({ code }) => String(code)),
  ]);
  stranger.socket.terminate();
  await stranger.closed;
  return outcome;
}

async function expectServed({ caller }: LinkScene): Promise<number> {
  const started = performance.now();
  const { status, text } = await caller.call('get_item', { id: 7 });
  assert.deepEqual([status, text], [200, '{"rows":[{"id":7,"label":"item 7"}],"count":1}']);
  return performance.now() - started;
}

const replay = fault('replay', { short: { times: 3 }, long: { times: 300 } }, async (scene, { times }) => {
  const { service, agentKey: key } = scene;
  const hello = helloBytes({ keyId: key.keyId });
  const recorded = await dialPort(service.port);
  sayText(recorded, hello);
  const auth = authBytes(key, { hello, challenge: await recorded.next() });
  sayText(recorded, auth);
  assert.match((await recorded.next()).toString(), /"welcome"/);
  const outcomes: string[] = [];
  await inLanes(times, 5, async () => {
    const stranger = await dialPort(service.port);
    sayText(stranger, hello);
    await stranger.next();
    sayText(stranger, auth);
    outcomes.push(await verdict(stranger));
  });
  recorded.socket.terminate();
  assert.deepEqual(new Set(outcomes), new Set(['4401']));
  return tally(outcomes);
});

const ELSEWHERE = 'wss://elsewhere.example/ws/agent';

const relay = fault('relay', { short: { times: 1 }, long: { times: 50 } }, async (scene, { times }) => {
  const { service, agentKey: key } = scene;
  const second = await startGateway({
    ...gatewaySettings(key.publicKey.toString('base64url'), []),
    GATEWAY_AGENT_URLS: AUDIENCE,
  });
  /** Somebody between agent and gateway, who shows the gateway the hello `shown` instead of the one signed. */
  const relayed = async (signedAudience: string, shownAudience: string): Promise<string> => {
    const hello = helloBytes({ keyId: key.keyId, audience: signedAudience });
    const shown = Buffer.from(hello.toString().replace(signedAudience, shownAudience));
    const stranger = await dialPort(service.port);
    sayText(stranger, shown);
    sayText(stranger, authBytes(key, { hello, challenge: await stranger.next(), audience: signedAudience }));
    return await verdict(stranger);
  };
  try {
    for (let turn = 0; turn < times; turn++) {
      assert.equal(await relayed(ELSEWHERE, ELSEWHERE), '4403');
      assert.equal(await relayed(ELSEWHERE, AUDIENCE), '4401');
      // The same URL, another process behind it.
      const [here, there] = [await dialPort(service.port), await dialPort(second.port)];
      const hello = helloBytes({ keyId: key.keyId, audience: AUDIENCE });
      for (const each of [here, there]) sayText(each, hello);
      const [, challenge] = await Promise.all([here.next(), there.next()]);
      const auth = authBytes(key, { hello, challenge, audience: AUDIENCE });
      for (const each of [here, there]) sayText(each, auth);
      assert.equal(await verdict(here), '4401');
      assert.match(await verdict(there), /"welcome"/);
    }
  } finally {
    await second.process.stop();
  }
  return `${times * 3} refused`;
});

/** Where a byte is flipped: the middle of every value, or everywhere. */
function positions(message: Buffer, everywhere: boolean): readonly number[] {
  if (everywhere) return [...message.keys()];
  const text = message.toString();
  const fields: object = JSON.parse(text);
  return Object.entries(fields).map(([name, value]: [string, unknown]) => {
    const written = JSON.stringify(value);
    return text.indexOf(`"${name}":${written}`) + name.length + 3 + Math.floor(written.length / 2);
  });
}

function flipped(message: Buffer, at: number): Buffer {
  const copy = Buffer.from(message);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

const flips = fault(
  'flipped-bytes',
  { short: { everywhere: false }, long: { everywhere: true } },
  async ({ service, agentKey: key }, { everywhere }) => {
    const outcomes: string[] = [];
    const attempt = async (which: 'hello' | 'challenge' | 'auth', at: number): Promise<void> => {
      const stranger = await dialPort(service.port);
      const hello = helloBytes({ keyId: key.keyId });
      sayText(stranger, which === 'hello' ? flipped(hello, at) : hello);
      const challenge = await Promise.race([stranger.next(), stranger.closed]);
      if (Buffer.isBuffer(challenge)) {
        const seen = which === 'challenge' ? flipped(challenge, at) : challenge;
        const auth = authBytes(key, { hello, challenge: seen });
        sayText(stranger, which === 'auth' ? flipped(auth, at) : auth);
      }
      const outcome = await verdict(stranger);
      outcomes.push(REFUSALS.has(outcome) ? outcome : `byte ${at} of ${which}: ${outcome}`);
    };
    const hello = helloBytes({ keyId: key.keyId });
    const stranger = await dialPort(service.port);
    sayText(stranger, hello);
    const challenge = await stranger.next();
    const auth = authBytes(key, { hello, challenge });
    stranger.socket.terminate();
    const attempts = [
      ...positions(hello, everywhere).map((at) => ['hello', at] as const),
      ...positions(challenge, everywhere).map((at) => ['challenge', at] as const),
      ...positions(auth, everywhere).map((at) => ['auth', at] as const),
    ];
    await inLanes(attempts.length, 10, async (index) => {
      const [which, at] = attempts[index] ?? ['hello', 0];
      await attempt(which, at);
    });
    assert.deepEqual(
      outcomes.filter((outcome) => !REFUSALS.has(outcome)),
      [],
    );
    return `${attempts.length} bytes; ${tally(outcomes)}`;
  },
);

function clockOption(years: number): string {
  const ms = years * 365.25 * 86_400_000;
  const program = `
const Real = Date;
globalThis.Date = class Date extends Real {
  constructor(...given) { if (given.length === 0) super(Real.now() + ${ms}); else super(...given); }
  static now() { return Real.now() + ${ms}; }
};
`;
  return `--import=data:text/javascript,${encodeURIComponent(program)}`;
}

const clocks = fault('clocks-ten-years-off', { short: {}, long: {} }, async (scene) => {
  for (const years of [-YEARS, YEARS]) {
    const agents = await gatewayMetric(scene, 'svc_gateway_agent_connections');
    const agent = await scene.startVariant((file) => file, clockOption(years));
    await until('an agent with a wrong clock connects', 10_000, async () => {
      return (await gatewayMetric(scene, 'svc_gateway_agent_connections')) === agents + 1;
    });
    await Promise.all(Array.from({ length: 40 }, () => expectServed(scene)));
    assert.deepEqual(await agent.stop(), { code: 0, signal: null });
  }
  return `${YEARS} years behind and ahead: connected and served`;
});

const UPGRADE = [
  'GET /ws/agent HTTP/1.1',
  'Host: localhost',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  'Sec-WebSocket-Protocol: svc-agent.v1',
  '\r\n',
].join('\r\n');
const SOCKETS_PER_ADDRESS = 100;

const crowd = fault(
  'unauthenticated-sockets',
  { short: { sockets: 600, stay: false }, long: { sockets: 10_000, stay: true } },
  async (scene, { sockets, stay }) => {
    const { port } = scene.service;
    const answers: string[] = [];
    const open: Socket[] = [];
    let closed = 0;
    let crowded = true;
    const slowest = (async () => {
      let most = 0;
      while (crowded) {
        most = Math.max(most, await expectServed(scene));
        await pause(20);
      }
      return most;
    })();
    slowest.catch(() => {});
    await inLanes(sockets, 50, async (index) => {
      const source = Math.floor(index / SOCKETS_PER_ADDRESS);
      const localAddress = `127.0.${1 + Math.floor(source / 200)}.${1 + (source % 200)}`;
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      socket.on('error', () => {});
      socket.on('close', () => closed++);
      open.push(socket);
      await once(socket, 'connect');
      socket.write(UPGRADE);
      const [answer] = await Promise.race([once(socket, 'data'), once(socket, 'close')]);
      answers.push(String(answer).slice(9, 12));
    });
    const welcome = answers.filter((status) => status === '101').length;
    if (stay) await until('strangers are sent away', 10_000, () => closed === sockets);
    crowded = false;
    const slowestMs = await slowest;
    for (const socket of open) socket.destroy();
    await until('the sockets are gone', 5000, () => closed === sockets);
    assert.deepEqual(new Set(answers), new Set(['101', '429']));
    // Some may have been sent away after 5 s before the last of them came.
    if (!stay) assert.ok(welcome <= 200, `${welcome} were let in`);
    assert.ok(slowestMs < 2000, `a call took ${slowestMs} ms`);
    return `${tally(answers)}; slowest call beside them ${Math.round(slowestMs)} ms`;
  },
);

const FLOOD_PER_SECOND = 400;
const FLOOD_TICK_MS = 10;
const OTHER_DIALS = 20;

/** One host that opens and closes the endpoint as fast as it likes, beside which agents must find their way in. */
const flood = fault(
  'flood-of-upgrades',
  { short: { agents: 1 }, long: { agents: 10 } },
  async (scene, { agents }) => {
    const { port } = scene.service;
    const open = async (localAddress: string): Promise<string> => {
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      socket.on('error', () => {});
      socket.write(UPGRADE);
      const [answer] = await Promise.race([once(socket, 'data'), once(socket, 'close')]);
      socket.destroy();
      return String(answer).slice(9, 12);
    };
    const answers: string[] = [];
    let flooding = true;
    const flooded = (async () => {
      const started = performance.now();
      const dials: Promise<unknown>[] = [];
      while (flooding) {
        const due = (FLOOD_PER_SECOND * (performance.now() - started)) / 1000;
        while (dials.length < due) dials.push(open('127.0.0.2').then((status) => answers.push(status)));
        await pause(FLOOD_TICK_MS);
      }
      await Promise.all(dials);
    })();
    const connected: number[] = [];
    try {
      await until('the flood is refused', 5000, () => answers.includes('429'));
      const others: string[] = [];
      for (let count = 0; count < OTHER_DIALS; count++) {
        others.push(await open('127.0.0.3'));
        await pause(FLOOD_TICK_MS);
      }
      assert.equal(tally(others), `101: ${OTHER_DIALS}`);
      for (let count = 0; count < agents; count++) {
        const listed = nextRecord(scene.service.gateway, 'agent_connected');
        const agent = await scene.startVariant((file) => file);
        await agent.waitForLine((line) => line.includes('starting with'));
        const started = performance.now();
        await listed;
        connected.push(Math.round(performance.now() - started));
        assert.deepEqual(await agent.stop(), { code: 0, signal: null });
      }
    } finally {
      flooding = false;
      await flooded;
    }
    assert.ok(Math.max(...connected) < 8000, `connected after ${connected.join(', ')} ms`);
    return `${tally(answers)}; agents connected after ${connected.join(', ')} ms`;
  },
);

const noise = fault(
  'random-frames',
  { short: { agents: 30 }, long: { agents: 300 } },
  async (scene, { agents }) => {
    const { service, agentKey: key, caller } = scene;
    const seed = Math.floor(Math.random() * 2 ** 31);
    const nextMessage = createMessageSource(seed);
    const description = describing('strange');
    let messages = 0;
    const endings: string[] = [];
    const statuses: number[] = [];
    const { gateway } = service;
    for (let count = 0; count < agents; count++) {
      const { agent, asked } = await patiently(() => becomeAgent(service.port, key, { description }));
      assert.ok(asked?.type === 'request');
      sayFrames(agent, answer(asked.id, description));
      await until('it is listed', 5000, async () => {
        return (await gatewayMetric(scene, 'svc_gateway_agent_connections')) === 2;
      });
      const from = performance.now();
      const call = caller.call('strange', {});
      await agent.next();
      while (agent.socket.readyState === agent.socket.OPEN && performance.now() - from < 200) {
        messages++;
        agent.socket.send(nextMessage(), { binary: true });
        if (messages % 20 === 0) await pause(1);
      }
      agent.socket.terminate();
      endings.push(String((await agent.closed).code));
      statuses.push((await call).status);
      assert.ok(performance.now() - from < 3500, `seed ${seed}: a call outlived its time`);
      if (count % 10 === 0) await expectServed(scene);
    }
    await expectServed(scene);
    await assertRuns(gateway, `seed ${seed}`);
    return `seed ${seed}; ${messages} messages; closed with ${tally(endings)}; calls ${tally(statuses)}`;
  },
);

/** The flood comes first: the others use up what all sources together may open. */
export const STRANGER_FAULTS: readonly LinkFault[] = [flood, replay, relay, flips, clocks, crowd, noise];
