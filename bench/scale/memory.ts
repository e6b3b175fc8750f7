import { setTimeout as pause } from 'node:timers/promises';
import { sizeOf, type Service } from '@svc/testkit';
import { load } from '../load/wrk.ts';
import { pointCalls, pointQueries, startLibrary } from './library.ts';
import { atMost, grouped, type Figure, type Measurement, type Row, type Scale } from './row.ts';

const CONNECTIONS = 64;
const REST_MS = 5000;
const GOAL_MB = 180;

export const memory: Row = { name: 'memory', title: 'Memory after load', measure };

interface Size {
  readonly gateway: number;
  readonly agent: number;
}

async function measure(scale: Scale): Promise<Measurement> {
  const service = await startLibrary(scale, pointQueries(10));
  const before = await sizes(service);
  const seconds = scale.rounds * scale.seconds;
  scale.say(`calling for ${seconds} s`);
  const { calls } = await load(pointCalls(service, CONNECTIONS), seconds);
  const at = await sizes(service);
  await pause(REST_MS);
  const after = await sizes(service);
  const figures = (size: string, { gateway, agent }: Size, goal?: Figure['goal']): readonly Figure[] => [
    { what: 'memory of the gateway', size, value: gateway, unit: 'MB' },
    { what: 'memory of the agent', size, value: agent, unit: 'MB' },
    { what: 'memory of both', size, value: gateway + agent, unit: 'MB', goal },
  ];
  return {
    figures: [
      ...figures('after the start', before),
      ...figures(`after ${grouped(calls)} calls`, at),
      ...figures(`${REST_MS / 1000} s later`, after, atMost('value', GOAL_MB)),
    ],
    notes: [`Resident memory, one run; point queries at ${CONNECTIONS} connections for ${seconds} s.`],
  };
}

async function sizes({ gateway, agents }: Service): Promise<Size> {
  const [first, ...others] = await Promise.all([gateway, ...agents].map(sizeOf));
  const agent = others.reduce((sum, { megabytes }) => sum + megabytes, 0);
  return { gateway: first?.megabytes ?? Number.NaN, agent };
}
