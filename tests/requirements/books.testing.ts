import { createKey, startService, testDatabase, type Service, type TestDatabase } from '@svc/testkit';
import { askOnce, codeOf, JSON_TYPE } from './lone-gateway.testing.ts';
import type { RawAnswer } from './raw-http.testing.ts';

const CAPABILITIES = `
capabilities:
  get_book:
    description: One book
    sql: select id, title, shelf from book where id = :id and :note is distinct from 'no'
    params:
      id: { type: integer, required: true, minimum: 1 }
      note: { type: string, maxLength: 3 }
    result:
      title: { type: string }
      id: { type: integer }
  list_books:
    description: All books, or those that hold a text
    sql: select id from book where title like '%' || coalesce(:text, '') || '%' order by id
    params:
      text: { type: string }
    policy: { max_rows: 2 }
    result:
      id: { type: integer }
  whole_list:
    description: All books or an error
    sql: select id from book
    policy: { max_rows: 2, on_limit: error }
    result:
      id: { type: integer }
  large_row:
    description: One row that is too large
    sql: select repeat('x', 2000) as text
    policy: { max_bytes: 1KB }
    result:
      text: { type: string }
  slow:
    description: Takes as long as asked
    sql: select pg_sleep(:seconds)::text as slept
    params:
      seconds: { type: number, required: true }
    policy: { timeout: 1s, allow_functions: [pg_sleep] }
    result:
      slept: { type: string }
  divide:
    description: Fails for 0
    sql: select 1 / :by as quotient
    params:
      by: { type: integer, required: true }
    result:
      quotient: { type: integer }
`;
const SQL = `
  create table book (id int primary key, title text, shelf text);
  insert into book select i, 'Book ' || i, 'hidden' from generate_series(1, 3) i;
`;
/** The origin whose pages may call. */
export const APP = 'https://app.example.com';
/** The keys and what they may call. */
const NAMES = {
  all: ['*'],
  some: ['get_book', 'ghost'],
  empty: [],
  omitted: undefined,
  'odd "name" \\n \u{1F408}': ['*'],
} as const;
export type Name = keyof typeof NAMES;
/** A key whose name tries to break out of its line in the log. */
export const ODD: Name = 'odd "name" \\n \u{1F408}';

/** The answer to `get_book` with `{"id":1}`. */
export const BOOK = '{"rows":[{"title":"Book 1","id":1}],"count":1}';

interface CallOptions {
  readonly key?: Name;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A gateway, an agent and a table of three books. */
export interface Books {
  readonly service: Service;
  readonly database: TestDatabase;
  readonly keys: ReadonlyMap<string, string>;
  send(capability: string, body: string | Uint8Array, options?: CallOptions): Promise<RawAnswer>;
  call(capability: string, params: unknown, options?: CallOptions): Promise<RawAnswer>;
  get(path: string, key: Name | undefined, headers?: Readonly<Record<string, string>>): Promise<RawAnswer>;
  /** Request line and headers of a call of `get_book`, for raw connections. */
  head(...lines: readonly string[]): readonly string[];
}

let shared: Promise<Books> | undefined;

/** One for all files of a worker, which ends with the worker: for files that stop and change nothing of it. */
export function sharedBooks(): Promise<Books> {
  shared ??= startBooks({ stays: true });
  return shared;
}

export async function startBooks({ stays = false }: { readonly stays?: boolean } = {}): Promise<Books> {
  const keys = new Map<string, string>();
  const records = await Promise.all(
    Object.entries(NAMES).map(async ([name, capabilities]) => {
      const { api_key, record } = await createKey(name, '*');
      keys.set(name, api_key);
      return { ...record, capabilities };
    }),
  );
  const database = await testDatabase({ sql: [SQL], stays });
  const service = await startService({
    database,
    capabilities: CAPABILITIES,
    gatewayEnv: {
      GATEWAY_API_KEYS_JSON: JSON.stringify(records),
      GATEWAY_BODY_READ_TIMEOUT: '600ms',
      GATEWAY_CORS_ALLOWED_ORIGINS: APP,
    },
  });
  const send: Books['send'] = (capability, body, { key = 'all', headers = JSON_TYPE } = {}) =>
    askOnce(service.port, 'POST', `/api/v1/capabilities/${capability}`, {
      headers: { 'X-API-Key': keys.get(key) ?? '', ...headers },
      body,
    });
  return {
    service,
    database,
    keys,
    send,
    call: (capability, params, options) => send(capability, JSON.stringify(params), options),
    get(path, key, headers = {}) {
      const credential = key === undefined ? {} : { Authorization: `Bearer ${keys.get(key) ?? ''}` };
      return askOnce(service.port, 'GET', path, { headers: { ...credential, ...headers } });
    },
    head: (...lines) => [
      'POST /api/v1/capabilities/get_book HTTP/1.1',
      'Host: h',
      `X-API-Key: ${keys.get('all') ?? ''}`,
      ...lines,
    ],
  };
}

/** What an answer that must be an error says. */
export async function failure(answer: Promise<RawAnswer>): Promise<readonly [status: number, code: string]> {
  const failed = await answer;
  return [failed.status, codeOf(failed)];
}
