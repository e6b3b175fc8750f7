import { setTimeout as pause } from 'node:timers/promises';
import { rawPublicKey } from '@svc/protocol';
import {
  createKey,
  createKeyPair,
  gatewaySettings,
  sizeOf,
  startGateway,
  type RunningProcess,
} from '@svc/testkit';
import { treeMicroseconds } from '../load/process-tree.ts';
import { BEHIND_ONE_ADDRESS } from '../simulation/scenarios.ts';
import { simulate } from '../simulation/simulate.ts';
import { startChild } from './child.ts';
import type { AgentsOrder, AgentsState } from './agent-holder.ts';
import { atMost, figure, grouped, type Figure, type Measurement, type Row, type Scale } from './row.ts';

const AGENTS = 2000;
const IDLE_MS = 20_000;
const LINKED_WITHIN_MS = 120_000;
const LOOK_MS = 500;
/** Half of the agents are a thousand; what a link may take is what docs/scale.md reckons with. */
const GOAL = { thousandMs: 30_000, linkKilobytes: 52, idleShare: 0.1 };

export const agents: Row = { name: 'agents', title: 'Many agents', measure };

async function measure(scale: Scale): Promise<Measurement> {
  const { privateKey } = createKeyPair();
  const publicKey = Buffer.from(rawPublicKey(privateKey)).toString('base64url');
  const { record } = await createKey('all', '*');
  const gateway = await startGateway(gatewaySettings(publicKey, [record]));
  await scale.releasers.add(() => gateway.process.stop());
  const holder = await startChild<AgentsOrder, AgentsState>('agent-holder.ts');
  await scale.releasers.add(() => holder.stop());
  const order: AgentsOrder = {
    count: 0,
    url: `ws://127.0.0.1:${gateway.port}/ws/agent`,
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    description: describe(),
  };
  const before = await stateOf(gateway.process);
  await holder.ask({ ...order, count: AGENTS });
  let state = await holder.ask(order);
  for (let waited = 0; state.linkedMs.length < AGENTS && waited < LINKED_WITHIN_MS; waited += LOOK_MS) {
    await pause(LOOK_MS);
    state = await holder.ask(order);
    scale.say(`${grouped(state.linkedMs.length)} of ${grouped(AGENTS)} links`);
  }
  const linked = await stateOf(gateway.process);
  await pause(IDLE_MS);
  const idle = await stateOf(gateway.process);
  const simulated = simulate(
    { ...BEHIND_ONE_ADDRESS, replicas: 1, agentsPerSource: AGENTS },
    'addresses',
    AGENTS,
    1,
  );
  const size = `${grouped(AGENTS)} agents, one source`;
  const one = (what: string, value: number, unit: string, goal?: Figure['goal']): Figure =>
    figure(what, size, unit, [value], { goal });
  const at = (share: number): number =>
    (state.linkedMs[Math.ceil((AGENTS * share) / 100) - 1] ?? Number.NaN) / 1000;
  const half = atMost('value', GOAL.thousandMs / 1000);
  const perLink = ((idle.megabytes - before.megabytes) * 1024) / AGENTS;
  const idleShare = (idle.microseconds - linked.microseconds) / IDLE_MS / 1000;
  return {
    figures: [
      ...([50, 90, 100] as const).flatMap((share) => [
        one(`${share} % of the links`, at(share), 's', share === 50 ? half : undefined),
        one('as simulated', (simulated.linkedMs[share] ?? Number.NaN) / 1000, 's'),
      ]),
      one('dials of an agent', state.dials / AGENTS, ''),
      one('as simulated', simulated.dials, ''),
      one('dials answered 429', state.throttled, ''),
      one('as simulated', simulated.refused, ''),
      one('CPU of a dial', (linked.microseconds - before.microseconds) / state.dials / 1000, 'ms'),
      one('memory of a link', perLink, 'KB', atMost('value', GOAL.linkKilobytes)),
      one('share of a core, links idle', idleShare, '', atMost('value', GOAL.idleShare)),
    ],
    notes: [
      `Real links to one gateway of one process, all agents started within a second from one address.`,
      `Descriptions of ${grouped(order.description.length)} bytes.`,
    ],
    isComplete: state.linkedMs.length === AGENTS,
  };
}

async function stateOf(
  gateway: RunningProcess,
): Promise<{ readonly microseconds: number; readonly megabytes: number }> {
  const [{ megabytes }, microseconds] = await Promise.all([sizeOf(gateway), treeMicroseconds(gateway)]);
  return { megabytes, microseconds };
}

/** Some 20 KB, as of thirty capabilities. */
function describe(): string {
  const names = Array.from({ length: 30 }, (_, at) => `get_book_${at}`);
  const operation = { description: 'x'.repeat(600), responses: {} };
  return JSON.stringify({
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Books', version: '1' },
      paths: Object.fromEntries(
        names.map((name) => [`/api/v1/capabilities/${name}`, { post: { operationId: name, ...operation } }]),
      ),
    },
    manifest: names.map((name) => ({ name, exposed: true, timeout_ms: 1000 })),
  });
}
