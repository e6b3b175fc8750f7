import { Agent, request } from 'node:http';
import { pick, startService, type Service } from '@svc/testkit';
import pg from 'pg';
import type { ClausesScene } from './filters.ts';

const STABLE = 300;
const WALKERS = 8;
const PAGE_SIZES = [3, 7, 20] as const;
const ORDERS: Readonly<Record<string, string>> = {
  newest: 'at desc, id desc',
  by_size: 'size nulls first, at desc, id desc',
  by_kind: 'kind desc nulls last, size desc, id desc',
  first: 'id',
};

const SCHEMA = `
  create table thing (id int primary key, at date not null, size int, kind text, group_id int not null);
  insert into thing select i * 2, date '2024-01-01' + i * 7 % 40, nullif(i % 9, 0), nullif('k' || i % 4, 'k0'), i % 3
  from generate_series(1, ${STABLE}) i;
  create index on thing (at, id);
`;

function capabilities(): string {
  const lists = PAGE_SIZES.map(
    (size) => `
  list_${size}:
    sql: select id, at, size, kind from thing where {filters}
    params:
      of: { type: integer, filter: 'group_id = :of' }
      least: { type: integer, filter: 'size >= :least' }
    sort:
      newest: at desc
      by_size: size nulls first, at desc
      by_kind: kind desc nulls last, size desc
      first: id
    paging: id
    policy: { max_rows: ${size} }
    result:
      id: { type: integer, nullable: false }
      at: { type: date, nullable: false }
      size: { type: integer }
      kind: { type: string }`,
  );
  return `capabilities:${lists.join('')}\n`;
}

interface Answer {
  readonly rows?: readonly { readonly id: number }[];
  readonly next?: { readonly cursor: string };
  readonly error?: { readonly code: string; readonly message: string };
}

interface Counts {
  readonly pages: number;
  readonly walks: number;
  readonly writes: number;
  readonly refused: number;
  readonly answered: number;
}

/** Rows with even numbers stay as they are; those with odd ones come, change and go. */
export async function tryPages(
  { server, execute, random, progress }: ClausesScene,
  wanted: { readonly pages: number; readonly cursors: number },
  wrong: string[],
): Promise<Counts> {
  await execute(SCHEMA);
  const service = await startService({
    database: server,
    capabilities: capabilities(),
    gatewayEnv: { GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '1000000' },
  });
  const agent = new Agent({ keepAlive: true });
  const [client, writer] = [0, 1].map(() => new pg.Client({ ...server, database: server.name }));
  if (client === undefined || writer === undefined) throw new Error('made no clients');
  await client.connect();
  await writer.connect();
  const counts = { pages: 0, walks: 0, writes: 0, refused: 0, answered: 0 };
  let isOver = false;
  const writing = (async () => {
    while (!isOver) {
      const id = 1 + 2 * Math.floor(random() * STABLE);
      await writer.query(
        `insert into thing values ($1, date '2024-01-01' + $2::int, $3, $4, $5) on conflict (id) do update set at = excluded.at, size = excluded.size`,
        [id, Math.floor(random() * 40), Math.floor(random() * 9), pick(random, ['k1', 'k2', null]), id % 3],
      );
      if (random() < 0.3) await writer.query('delete from thing where id = $1', [id]);
      counts.writes += 1;
    }
  })();
  try {
    let cursors = 0;
    const walker = async (): Promise<void> => {
      while (counts.pages < wanted.pages || cursors < wanted.cursors) {
        const order = pick(random, Object.keys(ORDERS));
        const of = random() < 0.4 ? Math.floor(random() * 3) : undefined;
        const least = random() < 0.4 ? Math.floor(random() * 9) : undefined;
        const name = `list_${pick(random, PAGE_SIZES)}`;
        const given = {
          sort: order,
          ...(of === undefined ? {} : { of }),
          ...(least === undefined ? {} : { least }),
        };
        const seen: number[] = [];
        let next: Answer['next'];
        do {
          const answer = await call(agent, service, name, { ...given, ...next });
          counts.pages += 1;
          if (answer.rows === undefined) {
            wrong.push(`a page of ${name} by ${order}: ${JSON.stringify(answer)}`);
            break;
          }
          seen.push(...answer.rows.map(({ id }) => id).filter((id) => id % 2 === 0));
          ({ next } = answer);
          for (let tries = 0; next !== undefined && tries < 3 && cursors < wanted.cursors; tries += 1) {
            cursors += 1;
            const altered = alter(next.cursor, random);
            const odd = await call(agent, service, name, { ...given, cursor: altered });
            if (odd.error?.code === 'AGENT_INVALID_PARAMS' && odd.error.message.startsWith('cursor: '))
              counts.refused += 1;
            else if (odd.rows?.every(({ id }) => id > 0 && id <= 2 * STABLE) === true) counts.answered += 1;
            else wrong.push(`the cursor ${altered}: ${JSON.stringify(odd)}`);
          }
        } while (next !== undefined);
        const expected = await stableIds(client, order, of, least);
        counts.walks += 1;
        if (seen.join() !== expected.join())
          wrong.push(`a walk through ${name} by ${JSON.stringify(given)} saw ${seen.join()}`);
        if (counts.walks % 500 === 0)
          progress(`${counts.pages} of ${wanted.pages} pages, ${cursors} of ${wanted.cursors} cursors`);
        if (wrong.length > 20) return;
      }
    };
    await Promise.all(Array.from({ length: WALKERS }, walker));
    return counts;
  } finally {
    isOver = true;
    await writing;
    await client.end();
    await writer.end();
    agent.destroy();
    await service.stop();
  }
}

const known = new Map<string, Promise<readonly number[]>>();

/** The rows that stay, in their order: they never change, so each list is asked for once. */
function stableIds(
  client: pg.Client,
  order: string,
  of: number | undefined,
  least: number | undefined,
): Promise<readonly number[]> {
  const key = `${order} ${of} ${least}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const conditions = [
    'id % 2 = 0',
    ...(of === undefined ? [] : [`group_id = ${of}`]),
    ...(least === undefined ? [] : [`size >= ${least}`]),
  ];
  const asked = lastAsked.then(async () => {
    const { rows } = await client.query<{ id: number }>(
      `select id from thing where ${conditions.join(' and ')} order by ${ORDERS[order]}`,
    );
    return rows.map(({ id }) => id);
  });
  lastAsked = asked;
  known.set(key, asked);
  return asked;
}

/** One after the other. */
let lastAsked: Promise<unknown> = Promise.resolve();

/** Another character, another value with the same end, or another text. */
function alter(cursor: string, random: () => number): string {
  const kind = random();
  const at = Math.floor(random() * cursor.length);
  const char = pick(random, ['A', 'b', '0', '_', '-']);
  if (kind < 0.3) return `${cursor.slice(0, at)}${char}${cursor.slice(at + 1)}`;
  const values: unknown[] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  const digest = values.pop();
  const odd = [
    null,
    '',
    '7',
    '2024-02-30',
    '2024-01-20',
    'k1',
    "'; drop table thing; --",
    '99999999999999999999',
    5,
    {},
  ];
  if (kind < 0.8) {
    const changed = values.map((value) => (random() < 0.6 ? pick(random, odd) : value));
    return Buffer.from(JSON.stringify([...changed, digest])).toString('base64url');
  }
  if (kind < 0.9) return Buffer.from(JSON.stringify([...values.slice(1), digest])).toString('base64url');
  return cursor.slice(0, at) || 'x';
}

function call(agent: Agent, { port, apiKeys }: Service, name: string, params: object): Promise<Answer> {
  const body = JSON.stringify(params);
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        agent,
        host: '127.0.0.1',
        port,
        method: 'POST',
        path: `/api/v1/capabilities/${name}`,
        headers: {
          authorization: `Bearer ${apiKeys['all'] ?? ''}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.on('end', () => resolve(JSON.parse(text)));
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}
