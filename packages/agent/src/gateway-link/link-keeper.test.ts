import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRandom } from '@svc/testkit';
import { createCell, type Balancer, type Cell, type CellOptions } from './cell-by-hand.testing.ts';

const seed = fc.integer({ min: 1, max: 0x7fff_ffff });
const HOUR = 3_600_000;

const cellOf = (options: Partial<CellOptions> = {}): Cell =>
  createCell({ replicas: 3, balancer: 'random', random: createRandom(7), ...options });

function dialsWithin({ dials }: Cell, from: number, to: number): number {
  return dials.filter(({ at }) => at >= from && at < to).length;
}

describe('a gateway that is one', () => {
  test('has one link, and nothing is dialled or looked up beside it', () => {
    const cell = cellOf({ replicas: 1, balancer: 'addresses' });
    cell.run(HOUR);
    expect([cell.links(), cell.dials.length, cell.keeper.wakeAt]).toEqual([['r0/0'], 1, Infinity]);
    expect(cell.shorts).toEqual([]);
  });

  test('is dialled again after a go-away, although it is the same, and its end is no loss', () => {
    const cell = cellOf({ replicas: 1 });
    cell.run(1000);
    expect(cell.keeper.goingAway(cell.now, 1)).toBeUndefined();
    cell.run(1000);
    expect(cell.links()).toEqual(['r0/0', 'r0/0']);
    expect(
      cell.keeper.closed(cell.now, 1, { heldMs: 2, refused: false, full: false, retryAfterMs: 0 }),
    ).toEqual({
      retryInMs: undefined,
    });
    cell.run(HOUR);
    expect(cell.dials.length).toBe(2);
  });
});

test.each<Balancer>(['random', 'round robin', 'addresses', 'numbers'])(
  'I45: all replicas are found, each has one link to each worker that is wanted, whatever happens on the way: %s',
  (balancer) => {
    const event = fc.record({
      kind: fc.constantFrom('kill' as const, 'start' as const, 'leave' as const),
      replica: fc.nat(9),
      afterMs: fc.nat(20_000),
    });
    fc.assert(
      fc.property(
        seed,
        fc.integer({ min: 2, max: 10 }),
        fc.integer({ min: 1, max: 3 }),
        fc.array(event, { maxLength: 12 }),
        (from, replicas, linksPerReplica, events) => {
          const cell = createCell({
            replicas,
            workers: linksPerReplica,
            linksPerReplica,
            balancer,
            random: createRandom(from),
          });
          const check = (): void => {
            const links = cell.links();
            expect([...new Set(links)]).toEqual(links);
          };
          for (const { kind, replica, afterMs } of events) {
            for (let step = 0; step < 10; step++) {
              cell.run(afterMs / 10);
              check();
            }
            cell[kind](replica);
          }
          cell.run(2000);
          for (let replica = 0; replica < replicas; replica++) cell.start(replica);
          for (let minutes = 0; minutes < 60 && cell.keeper.held < cell.keeper.wanted; minutes++) {
            cell.run(60_000);
            check();
          }
          expect([cell.keeper.held, cell.keeper.wanted]).toEqual(Array(2).fill(replicas * linksPerReplica));
        },
      ),
      { numRuns: 60, endOnFailure: true },
    );
  },
);

describe('searching', () => {
  test('dials about five times for three replicas and thirty times for ten', () => {
    const mean = (replicas: number): number => {
      const counts = Array.from({ length: 200 }, (_, at) => {
        const cell = cellOf({ replicas, random: createRandom(at + 1) });
        cell.run(1_800_000);
        expect(cell.keeper.held).toBe(replicas);
        return cell.dials.length;
      });
      return counts.reduce((sum, count) => sum + count, 0) / counts.length;
    };
    // Of n replicas all have been drawn after n (1 + 1/2 + ... + 1/n) draws on average.
    expect(Math.abs(mean(3) - 5.5)).toBeLessThan(0.7);
    expect(Math.abs(mean(10) - 29.3)).toBeLessThan(3.5);
  });

  test('I46: is quick only while it may find something: 4 dials for each link, then one in 30 s', () => {
    fc.assert(
      fc.property(seed, fc.integer({ min: 2, max: 10 }), (from, replicas) => {
        const cell = cellOf({ replicas, balancer: 'always the first', random: createRandom(from) });
        cell.run(HOUR);
        expect(cell.links()).toEqual(['r0/0']);
        const quick = 4 * replicas;
        const times = cell.dials.map(({ at }) => at);
        const gaps = times.slice(1).map((at, before) => at - (times[before] ?? 0));
        for (const gap of gaps.slice(1, quick - 1)) {
          expect(gap).toBeGreaterThanOrEqual(125);
          expect(gap).toBeLessThanOrEqual(376);
        }
        for (const gap of gaps.slice(quick + 1)) {
          expect(gap).toBeGreaterThanOrEqual(24_000);
          expect(gap).toBeLessThanOrEqual(36_001);
        }
        expect(times.length).toBeLessThan(quick + 3 + HOUR / 24_000);
      }),
      { numRuns: 30 },
    );
  });

  test('goes on every 5 s for a minute after a loss', () => {
    const cell = cellOf({ balancer: 'round robin' });
    cell.run(HOUR);
    cell.kill(1);
    const lostAt = cell.now;
    cell.run(10_000);
    expect(dialsWithin(cell, lostAt, lostAt + 10_000)).toBeLessThan(20);
    cell.run(50_000);
    expect(dialsWithin(cell, lostAt + 10_000, lostAt + 60_000)).toBeGreaterThanOrEqual(8);
    cell.run(HOUR);
    expect(dialsWithin(cell, lostAt + 100_000, lostAt + 100_000 + 600_000)).toBeLessThanOrEqual(25);
    cell.start(1);
    cell.run(200_000);
    expect(cell.keeper.held).toBe(3);
  });

  test('begins again when the gateway counts another replica', () => {
    const cell = cellOf();
    cell.run(HOUR);
    cell.scale(6);
    cell.announce({ replicaCount: 6 });
    cell.run(20_000);
    expect([cell.keeper.held, cell.keeper.wanted]).toEqual([6, 6]);
  });

  test('does not begin for a frame that says the same', () => {
    const cell = cellOf({ balancer: 'always the first' });
    cell.run(HOUR);
    const { length } = cell.dials;
    for (let times = 0; times < 60; times++) {
      cell.announce({});
      cell.run(1000);
    }
    expect(cell.dials.length - length).toBeLessThanOrEqual(3);
  });

  test('pauses as long as a gateway asks, by all of its dials', () => {
    const cell = cellOf({ replicas: 10 });
    cell.run(100);
    cell.answer({ retryAfterMs: 5000 });
    cell.run(1000);
    const { length } = cell.dials;
    expect(length).toBeLessThanOrEqual(5);
    cell.run(3500);
    expect(cell.dials.length).toBe(length);
    cell.answer(undefined);
    cell.run(60_000);
    expect(cell.keeper.held).toBe(10);
  });

  test('I47: a duplicate makes no back-off grow, nor does a full worker', () => {
    const cell = cellOf({ replicas: 2, balancer: 'always the first' });
    cell.run(HOUR);
    cell.answer({ full: true });
    cell.run(HOUR);
    cell.answer(undefined);
    cell.kill(0);
    const lostAt = cell.now;
    cell.run(600);
    // One link was lost that held for long: it is dialled for within half a second.
    expect(dialsWithin(cell, lostAt, lostAt + 501)).toBeGreaterThanOrEqual(1);
    expect(cell.links().length).toBe(1);
  });
});

describe('the count', () => {
  test('that falls ends no link; the next that is lost is not replaced', () => {
    const cell = cellOf({ balancer: 'addresses' });
    cell.run(10_000);
    cell.announce({ replicaCount: 2 });
    cell.run(10_000);
    expect([cell.links().length, cell.retired]).toEqual([3, []]);
    const { length } = cell.dials;
    cell.scale(2);
    cell.run(HOUR);
    expect([cell.links().length, cell.dials.length]).toEqual([2, length]);
  });

  test('is that of the links that are held: one that leaves has no say', () => {
    const cell = cellOf({ replicas: 2, balancer: 'addresses' });
    cell.run(10_000);
    cell.keeper.fleetChanged(cell.now, 1, { replicaCount: 9, linksPerReplica: 1 });
    expect(cell.keeper.wanted).toBe(9);
    cell.keeper.goingAway(cell.now, 1);
    expect(cell.keeper.wanted).toBe(2);
  });

  test('of links for each replica that falls retires the rest', () => {
    const cell = cellOf({ workers: 4, linksPerReplica: 4 });
    cell.run(HOUR);
    expect(cell.links().length).toBe(12);
    cell.announce({ linksPerReplica: 2 });
    cell.run(1000);
    expect([cell.links().length, cell.retired.length]).toEqual([6, 6]);
    const replicas = cell.links().map((link) => link.split('/')[0]);
    expect(new Set(replicas).size).toBe(3);
  });
});

describe('more links than the agent may hold', () => {
  test.each([
    [8, 3, 4, 6],
    [5, 3, 4, 3],
    [2, 3, 4, 2],
    [1, 3, 1, 1],
  ])(
    '%i for %i replicas of %i: %i, as many to each as to the others, and it is said once',
    (maxLinks, replicas, links, held) => {
      const cell = cellOf({ replicas, workers: links, linksPerReplica: links, maxLinks });
      cell.run(HOUR);
      expect(cell.keeper.held).toBe(held);
      const counts = new Map<string | undefined, number>();
      for (const link of cell.links()) {
        const [replica] = link.split('/');
        counts.set(replica, (counts.get(replica) ?? 0) + 1);
      }
      expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBe(0);
      cell.announce({ linksPerReplica: links });
      cell.run(HOUR);
      expect(cell.shorts).toMatchObject([{ reason: 'max_links', wanted: replicas * links }]);
    },
  );

  test('come to be, when there are more replicas: some of the links to each are retired', () => {
    const cell = cellOf({
      replicas: 2,
      workers: 4,
      linksPerReplica: 4,
      maxLinks: 8,
      balancer: 'round robin',
    });
    cell.run(HOUR);
    expect([cell.links().length, cell.shorts]).toEqual([8, []]);
    cell.scale(4);
    cell.announce({ replicaCount: 4 });
    cell.run(HOUR);
    expect(cell.links().length).toBe(8);
    expect(new Set(cell.links().map((link) => link.split('/')[0])).size).toBe(4);
  });
});

describe('links that stay missing', () => {
  test('are reported after 60 s, once until they are found', () => {
    const cell = cellOf({ balancer: 'always the first' });
    cell.run(59_000);
    expect(cell.shorts).toEqual([]);
    cell.run(2000);
    expect(cell.shorts).toEqual([{ reason: 'not_found', links: 1, wanted: 3 }]);
    cell.run(HOUR);
    expect(cell.shorts.length).toBe(1);
    cell.announce({ replicaCount: 1 });
    cell.announce({ replicaCount: 2 });
    cell.run(70_000);
    expect(cell.shorts.length).toBe(2);
  });
});

describe('a gateway that refuses the agent', () => {
  test('I48: by every link is asked for one link only, less and less often', () => {
    const cell = cellOf();
    cell.run(HOUR);
    cell.answer({ refused: true });
    for (let replica = 0; replica < 3; replica++) cell.kill(replica);
    const refusedAt = cell.now;
    cell.run(HOUR);
    expect(cell.keeper.wanted).toBe(1);
    expect(dialsWithin(cell, refusedAt + 60_000, refusedAt + HOUR)).toBeLessThan(60);
    cell.answer(undefined);
    for (let replica = 0; replica < 3; replica++) cell.start(replica);
    cell.run(400_000);
    expect(cell.keeper.held).toBe(3);
  });

  test('as full before there is any link is dialled slowly', () => {
    const cell = cellOf();
    cell.answer({ full: true });
    cell.run(61_000);
    expect(cell.dials.length).toBeGreaterThan(4 + 8);
    cell.run(HOUR);
    expect(cell.dials.length).toBeLessThan(4 + 20 + HOUR / 24_000);
    cell.answer(undefined);
    cell.run(100_000);
    expect(cell.keeper.held).toBe(3);
  });
});

describe('addresses', () => {
  test('one for each replica: each is dialled once, and the one that is dead again and again', () => {
    const cell = cellOf({ balancer: 'addresses', replicas: 5 });
    cell.run(10_000);
    expect(cell.links().length).toBe(5);
    expect(cell.dials.length).toBeLessThanOrEqual(6);
    cell.kill(2);
    const lostAt = cell.now;
    cell.run(60_000);
    const after = cell.dials.filter(({ at }) => at > lostAt);
    expect(after.length).toBeLessThan(60);
    cell.start(2);
    cell.run(15_000);
    expect(cell.links().length).toBe(5);
  });

  test('numbers: each replica is dialled by its own, and the first one while none is known', () => {
    const cell = cellOf({ balancer: 'numbers', replicas: 5 });
    cell.run(10_000);
    expect(cell.dials.map(({ target }) => target.replica)).toEqual([0, 1, 2, 3, 4]);
    const down = cellOf({ balancer: 'numbers', replicas: 5 });
    down.kill(0);
    down.run(10_000);
    expect(down.links().length).toBe(4);
  });
});
