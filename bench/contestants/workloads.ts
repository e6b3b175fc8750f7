import type { Query } from './books.ts';
import type { ContestantName, Face } from './contestant.ts';

export interface Workload {
  readonly name: string;
  readonly title: string;
  readonly query: Query;
  readonly kind: Face['kind'];
  readonly connections: number;
  /** Those that support it and are worth the time. */
  readonly contestants: readonly ContestantName[];
}

/** All of ours have the same workloads: what code has seen decides how it is compiled. */
const OURS = ['svc', 'svc-again', 'svc-own', 'svc-serve', 'svc-before'] as const;
const MCP = [...OURS, 'same-topology', 'toolbox'] as const;
const REST = [...MCP, 'fastify'] as const;

function point(connections: number, further: readonly ContestantName[] = []): Workload {
  return {
    name: `point-${connections}`,
    title: `One row, REST, ${connections} ${connections === 1 ? 'connection' : 'connections'}`,
    query: 'point',
    kind: 'rest',
    connections,
    contestants: [...REST, ...further],
  };
}

export const WORKLOADS: readonly Workload[] = [
  point(1),
  point(32, ['node-http', 'pgbench']),
  point(128),
  {
    name: 'point-mcp',
    title: 'One row, MCP tools/call, 32 connections',
    query: 'point',
    kind: 'mcp',
    connections: 32,
    contestants: MCP,
  },
  {
    name: 'list',
    title: '100 rows, REST, 32 connections',
    query: 'list',
    kind: 'rest',
    connections: 32,
    contestants: REST,
  },
];
