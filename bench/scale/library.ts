import { startService, type Service, type ServiceOptions } from '@svc/testkit';
import type { Load } from '../load/wrk.ts';
import type { Scale } from './row.ts';

export const DATABASE = 'scale';
const BOOKS = 30_000;

/** A hundred bytes a row as JSON. */
export const SQL: string = `
  create table book (id int primary key, title text not null, price numeric(8,2) not null, added_on date not null);
  insert into book
    select i, 'The book with number ' || i || ' of a library', i / 4.0, date '2020-01-01' + i % 1000
    from generate_series(1, ${BOOKS}) i;
  analyze book;
`;

const RESULT =
  'result: { id: { type: integer }, title: { type: string }, price: { type: number }, added_on: { type: date } }';

export function pointNames(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `get_book_${at}`);
}

export function pointQueries(count: number): string {
  const one = (name: string): string => `
  ${name}:
    description: One book
    sql: select id, title, price, added_on from book where id = :id
    params: { id: { type: integer, required: true, minimum: 1, description: Its number } }
    ${RESULT}`;
  return pointNames(count).map(one).join('');
}

/** The query that gives so many books, from a random place on. */
export function listName(rows: number): string {
  return `list_${rows}`;
}

export function listQueries(sizes: readonly number[]): string {
  const one = (rows: number): string => `
  ${listName(rows)}:
    description: Some books
    sql: select id, title, price, added_on from book where id > :after order by id limit ${rows}
    params: { after: { type: integer, required: true, minimum: 0 } }
    policy: { max_rows: ${rows}, max_bytes: 4MB }
    ${RESULT}`;
  return sizes.map(one).join('');
}

const BODIES = 2000;

export function pointBodies(): readonly string[] {
  return Array.from({ length: BODIES }, () => JSON.stringify({ id: random(1, BOOKS) }));
}

function listBodies(rows: number): readonly string[] {
  return Array.from({ length: BODIES }, () => JSON.stringify({ after: random(0, BOOKS - rows) }));
}

function random(least: number, most: number): number {
  return least + Math.floor(Math.random() * (most - least + 1));
}

type Options = Pick<ServiceOptions, 'agents' | 'gatewayEnv' | 'agentEnv'>;

/** A gateway with rate limit and log on, and an agent with these capabilities; `sections` are others of its file. */
export async function startLibrary(
  { postgres, releasers }: Scale,
  queries: string,
  { gatewayEnv, sections = '', ...options }: Options & { readonly sections?: string } = {},
): Promise<Service> {
  const service = await startService({
    ...options,
    database: { ...postgres, name: DATABASE },
    capabilities: `${sections}capabilities:${queries}\n`,
    gatewayEnv: { GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '1000000', ...gatewayEnv },
  });
  await releasers.add(() => service.stop());
  return service;
}

export function callPath(capability: string): string {
  return `/api/v1/capabilities/${capability}`;
}

export function headersWith(apiKey: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
}

/** Calls of the first of the point queries with the key `all`. */
export function pointCalls(service: Pick<Service, 'url' | 'apiKeys'>, connections: number): Load {
  return callsOf(service, pointNames(1)[0] ?? '', pointBodies(), connections);
}

/** Calls of the query that gives so many books with the key `all`. */
export function listCalls(service: Service, rows: number, connections: number): Load {
  return callsOf(service, listName(rows), listBodies(rows), connections);
}

function callsOf(
  { url, apiKeys }: Pick<Service, 'url' | 'apiKeys'>,
  capability: string,
  bodies: readonly string[],
  connections: number,
): Load {
  return { url, path: callPath(capability), connections, headers: headersWith(apiKeys['all'] ?? ''), bodies };
}
