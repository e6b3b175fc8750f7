import { createRandom } from '@svc/testkit';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createCell, type Balancer, type Cell, type CellOptions } from './cell-by-hand.testing.ts';

const seed = fc.integer({ min: 1, max: 0x7fff_ffff });

function settledCell(options: Partial<CellOptions> = {}): Cell {
  const cell = createCell({ replicas: 1, balancer: 'random', random: createRandom(7), ...options });
  while (cell.keeper.held < cell.keeper.wanted || cell.counted().size < cell.keeper.wanted) cell.run(1000);
  return cell;
}

const editions = (cell: Cell): readonly number[] => [...new Set(cell.counted().values())];

describe.each<Balancer>(['random', 'round robin', 'addresses', 'numbers'])('behind %s', (balancer) => {
  test('I51: each link is replaced while its worker has one all the time, and never by more than one at once', () => {
    fc.assert(
      fc.property(
        seed,
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 3 }),
        fc.boolean(),
        fc.array(fc.nat(3000), { minLength: 1, maxLength: 4 }),
        (from, replicas, workers, supersedes, pauses) => {
          const wanted = replicas * workers;
          const random = createRandom(from);
          const cell = settledCell({
            replicas,
            workers,
            linksPerReplica: workers,
            balancer,
            supersedes,
            random,
          });
          const step = (): void => {
            cell.run(1);
            expect(cell.counted().size).toBe(wanted);
            // One heir, and one that has just been replaced and closes.
            expect(cell.links().length).toBeLessThanOrEqual(wanted + 2);
          };
          for (const pauseMs of pauses) {
            cell.renew();
            for (let ms = 0; ms < pauseMs; ms++) step();
          }
          for (let ms = 0; ms < 600_000 && cell.keeper.stale > 0; ms++) step();
          cell.run(100);
          expect(editions(cell)).toEqual([pauses.length]);
          expect([cell.keeper.held, cell.links().length, cell.keeper.wakeAt > cell.now]).toEqual([
            wanted,
            wanted,
            true,
          ]);
        },
      ),
      { numRuns: 15, endOnFailure: true },
    );
  });

  test('I51: in the end each link has the newest offer, whatever happens on the way, and none is there twice', () => {
    const event = fc.record({
      kind: fc.constantFrom('kill' as const, 'start' as const, 'leave' as const, 'renew' as const),
      replica: fc.nat(4),
      afterMs: fc.oneof(fc.nat(40), fc.nat(5000)),
    });
    fc.assert(
      fc.property(
        seed,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 2 }),
        fc.boolean(),
        fc.array(event, { maxLength: 14 }),
        (from, replicas, workers, supersedes, events) => {
          const cell = createCell({
            replicas,
            workers,
            linksPerReplica: workers,
            balancer,
            supersedes,
            random: createRandom(from),
          });
          let renewals = 0;
          for (const { kind, replica, afterMs } of events) {
            cell.run(afterMs);
            if (kind === 'renew') {
              renewals++;
              cell.renew();
            } else cell[kind](replica);
          }
          cell.run(2000);
          for (let replica = 0; replica < replicas; replica++) cell.start(replica);
          const { keeper } = cell;
          for (let minutes = 0; minutes < 60 && (keeper.held < keeper.wanted || keeper.stale > 0); minutes++)
            cell.run(60_000);
          cell.run(1000);
          expect([keeper.held, keeper.stale]).toEqual([replicas * workers, 0]);
          expect(editions(cell)).toEqual([renewals]);
          expect(cell.links().length).toBe(replicas * workers);
        },
      ),
      { numRuns: 40, endOnFailure: true },
    );
  });
});

test('a gateway that is gone is dialled for its own link, and what is made then is new', () => {
  const cell = settledCell();
  cell.answer({});
  cell.renew();
  cell.run(1000);
  expect(editions(cell)).toEqual([0]);
  cell.kill(0);
  cell.start(0);
  cell.answer(undefined);
  cell.run(10_000);
  expect([editions(cell), cell.keeper.stale, cell.links().length]).toEqual([[1], 0, 1]);
});

test('a way that leads to the worker no more keeps what is old for a while and not for ever', () => {
  const cell = settledCell({ balancer: 'always the first' });
  cell.scale(2);
  cell.lead(1);
  cell.renew();
  cell.run(500);
  expect([...cell.counted()]).toEqual([['r0/0', 0]]);
  cell.run(20_000);
  expect([...cell.counted()]).toEqual([['r1/0', 1]]);
  expect([cell.links().length, cell.keeper.stale]).toEqual([1, 0]);
});
