import {
  createRandom,
  sizeOf,
  startGarblingProxy,
  startService,
  testDatabase,
  type Service,
} from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';

const CAPABILITIES = `capabilities:
  get_book:
    database: library
    sql: select title from book where id = :id
    params: { id: { type: integer, required: true } }
    result: { title: { type: string } }
  list_orders:
    database: shop
    sql: select id from purchase order by id
    result: { id: { type: integer } }
`;
const GARBLED_MS = 4000;
/** Twice what one result may take, for each of ten sessions, and what V8 has not collected yet. */
const MOST_MIB = 300;

let service: Service;
let proxy: Awaited<ReturnType<typeof startGarblingProxy>>;
let isGarbling = false;
const seed = Date.now() % 1_000_000;

beforeAll(async () => {
  const random = createRandom(seed);
  const library = await testDatabase({
    sql: ["create table book (id int primary key, title text); insert into book values (1, 'Emma')"],
  });
  const shop = await testDatabase({
    sql: ['create table purchase (id int); insert into purchase select generate_series(1, 200)'],
  });
  proxy = await startGarblingProxy({ target: shop, share: 0.005, random: () => (isGarbling ? random() : 1) });
  service = await startService({
    database: { library, shop: { ...shop, host: proxy.host, port: proxy.port } },
    capabilities: CAPABILITIES,
  });
});
afterAll(async () => {
  await service.stop();
  await proxy.close();
});

/** Statuses of calls one after the other until then. */
async function callUntil(end: number, name: string, params: object): Promise<readonly number[]> {
  const statuses: number[] = [];
  while (performance.now() < end) statuses.push((await service.call(name, params)).status);
  return statuses;
}

test(`a database that sends what no server sends costs its own calls only (seed ${seed})`, async () => {
  expect((await service.call('list_orders', {})).status).toBe(200);
  const [agent] = service.agents;
  if (agent === undefined) throw new Error('there is no agent');
  isGarbling = true;
  const end = performance.now() + GARBLED_MS;
  const [healthy, ...garbled] = await Promise.all([
    callUntil(end, 'get_book', { id: 1 }),
    ...Array.from({ length: 8 }, () => callUntil(end, 'list_orders', {})),
  ]);
  expect(new Set(healthy)).toEqual(new Set([200]));
  expect(healthy.length).toBeGreaterThan(20);
  expect(garbled.flat()).toContain(502);
  // It fails for a process that has ended.
  expect((await sizeOf(agent)).megabytes).toBeLessThan(MOST_MIB);

  isGarbling = false;
  const rows = async (): Promise<unknown> => (await service.call('list_orders', {})).json;
  await expect.poll(rows).toMatchObject({ rows: Array.from({ length: 200 }, (_, at) => ({ id: at + 1 })) });
});
