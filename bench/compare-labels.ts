import type { MeasuredCase } from './compare-measure.ts';
import type { ContestantName } from './contestants/contestant.ts';

const LABELS: Readonly<Record<ContestantName, string>> = {
  svc: 'svc',
  'svc-other-node': 'svc',
  'same-topology': 'same topology',
  toolbox: 'MCP Toolbox',
  fastify: 'Fastify + pg',
  'node-http': 'node:http',
  pgbench: 'pgbench',
};

export function labelOf(name: ContestantName): string {
  return LABELS[name];
}

/** How it is called is named where the workload leaves a choice. */
export function labelOfCase({ name, contestant, face }: MeasuredCase): string {
  const label = name === 'svc-other-node' ? contestant : LABELS[name];
  return face.startsWith('MCP ') ? `${label}, ${face}` : label;
}
