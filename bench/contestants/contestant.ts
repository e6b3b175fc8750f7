import type { RunningProcess } from '@svc/testkit';
import type { Query } from './books.ts';

/**
 * Ours are the packaged executables: twice, with `transactions: own`, and those of the release before; and `svc serve`, gateway
 * and agent in one process.
 */
export const CONTESTANTS = [
  'svc',
  'svc-again',
  'svc-own',
  'svc-serve',
  'svc-before',
  'same-topology',
  'toolbox',
  'fastify',
  'node-http',
  'pgbench',
] as const;
export type ContestantName = (typeof CONTESTANTS)[number];

export interface Face {
  readonly kind: 'rest' | 'mcp';
  readonly title: string;
  path(query: Query): string;
  headers(query: Query): Readonly<Record<string, string>>;
  /** The request for this value of the query's parameter. */
  body(query: Query, value: number): string;
  /** The rows in an answer, as the contestant writes them; undefined when it answers the same to all. */
  readonly rows: ((answer: string) => readonly unknown[]) | undefined;
}

export interface Contestant {
  readonly name: ContestantName;
  /** With its version, if it is not ours. */
  readonly title: string;
  readonly settings: string;
  readonly url: string;
  /** By what each is for; their CPU time and memory, and those of what they start, are the contestant's. */
  readonly processes: Readonly<Record<string, RunningProcess>>;
  /** Whether a call without its headers for authorization must be refused. */
  readonly wantsKey: boolean;
  readonly faces: readonly Face[];
}

/** Connections to the database at most: the agent's own default, and every contestant's. */
export const DATABASE_CONNECTIONS = 10;
