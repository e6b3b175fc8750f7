import { createRandom } from '@svc/testkit';
import type { CapabilitySpec } from '../../../config/capability-file.ts';
import type { TestedDriver } from '../tested-driver.testing.ts';
import { ask, capabilityOfSpec } from './lists.testing.ts';

const STAYING = 300;
const PAGE_SIZES = [3, 7, 20] as const;
/** Each with a number that its rows are sorted by, whose ties `id` breaks. */
const ORDERS: Readonly<Record<string, (row: Row) => readonly number[]>> = {
  largest: ({ id, size }) => [-size, -id],
  by_size: ({ id, size }) => [size, id],
  first: ({ id }) => [id],
};

interface Row {
  readonly id: number;
  readonly size: number;
}

/** What the walks go through: rows with even numbers stay, others come and go. */
export const MOVING: readonly string[] = [
  'create table moving (id integer primary key, size integer not null)',
  `insert into moving values ${rowsThatStay()
    .map(({ id, size }) => `(${id}, ${size})`)
    .join(', ')}`,
];

function rowsThatStay(): readonly Row[] {
  return Array.from({ length: STAYING }, (_, at) => ({ id: (at + 1) * 2, size: (at * 7) % 11 }));
}

function listOf(maxRows: number): CapabilitySpec {
  return {
    sql: 'select id, size from moving where {filters}',
    params: {
      least: { type: 'integer', filter: 'size >= :least' },
      below: { type: 'integer', filter: 'size < :below' },
    },
    sort: { largest: 'size desc', by_size: 'size', first: 'id' },
    paging: 'id',
    result: { id: { type: 'integer', nullable: false }, size: { type: 'integer', nullable: false } },
    policy: { max_rows: maxRows },
  };
}

/**
 * Walks through random orders, filters and lengths of pages, while `write` changes the other rows before every `every`th
 * page, until `most` pages have been seen. Returns what was wrong: each row that stays is to be seen once, and in its place.
 */
export async function walksBesideWrites(
  driver: TestedDriver,
  write: (...statements: readonly string[]) => Promise<void> | void,
  { most, seed, every = 1 }: { readonly most: number; readonly seed: number; readonly every?: number },
): Promise<{ readonly pages: number; readonly writes: number; readonly wrong: readonly string[] }> {
  const random = createRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const lists = await Promise.all(
    PAGE_SIZES.map(async (size) => {
      const capability = capabilityOfSpec(listOf(size), `list_${size}`);
      return { capability, query: await driver.prepare(capability) };
    }),
  );
  const wrong: string[] = [];
  let pages = 0;
  let writes = 0;
  while (pages < most && wrong.length < 20) {
    const list = lists[below(lists.length)];
    const names = Object.keys(ORDERS);
    const sort = names[below(names.length)] ?? 'first';
    if (list === undefined) throw new Error('there is no list');
    const given = {
      sort,
      ...(below(2) === 0 ? {} : { least: below(6) }),
      ...(below(2) === 0 ? {} : { below: 5 + below(6) }),
    };
    const seen: number[] = [];
    let cursor: string | undefined;
    do {
      if (pages % every === 0) {
        const id = 2 * below(STAYING) + 1;
        await write(`delete from moving where id = ${id}`, `insert into moving values (${id}, ${below(11)})`);
        writes += 1;
      }
      const answer = await ask(list.query, list.capability, { ...given, ...(cursor && { cursor }) });
      seen.push(...answer.list.map(({ id }) => Number(id)).filter((id) => id % 2 === 0));
      ({ cursor } = answer);
      pages += 1;
    } while (cursor !== undefined);
    const expected = rowsThatStay()
      .filter(({ size }) => size >= (given.least ?? 0) && size < (given.below ?? 100))
      .toSorted((a, b) => compare(ORDERS[sort]?.(a) ?? [], ORDERS[sort]?.(b) ?? []))
      .map(({ id }) => id);
    if (JSON.stringify(seen) !== JSON.stringify(expected))
      wrong.push(JSON.stringify({ seed, pages, given, seen, expected }));
  }
  return { pages, writes, wrong };
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}
