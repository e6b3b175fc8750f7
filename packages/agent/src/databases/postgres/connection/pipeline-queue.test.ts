import { expect, test } from 'vitest';
import { createLane, type Lane, type Passage } from './pipeline-queue.ts';

interface Traveller extends Passage {
  /** What it was told, in order. */
  readonly told: ('move' | 'first')[];
}

function traveller(...texts: readonly string[]): Traveller {
  const told: Traveller['told'] = [];
  return { texts, told, move: () => told.push('move'), onFirst: () => told.push('first') };
}

function laneOf(...passages: readonly Passage[]): Lane {
  const lane = createLane(0);
  for (const passage of passages) lane.enter(passage);
  return lane;
}

test('the order of entering is the order of turns, and each is told of its own', () => {
  const [a, b, c] = [traveller('a'), traveller('b1', 'b2'), traveller('c')];
  const lane = laneOf(a, b, c);
  expect([lane.length, lane.texts]).toEqual([3, ['a', 'b1', 'b2', 'c']]);
  expect([a, b, c].map((passage) => lane.isFirst(passage))).toEqual([true, false, false]);
  lane.leave(a);
  expect([a.told, b.told, c.told]).toEqual([[], ['first'], []]);
  expect([lane.isFirst(a), lane.isFirst(b), lane.length]).toEqual([false, true, 2]);
  lane.leave(b);
  lane.leave(c);
  expect([c.told, lane.length, lane.texts]).toEqual([['first'], 0, []]);
});

test('one that leaves from the middle, or twice, gives nobody a turn', () => {
  const [a, b, c] = [traveller(), traveller(), traveller()];
  const lane = laneOf(a, b, c);
  lane.leave(b);
  lane.leave(b);
  expect([lane.length, lane.isFirst(a), c.told]).toEqual([2, true, []]);
});

test('knows what the first takes at the server, the network not counted', () => {
  let now = 100;
  const lane = createLane(30, () => now);
  const [a, b, c] = [traveller(), traveller(), traveller()];
  lane.enter(a);
  now += 20;
  lane.enter(b);
  expect(lane.firstRanMs).toBe(0);
  now += 15;
  expect(lane.firstRanMs).toBe(5);
  lane.leave(a);
  now += 14;
  expect(lane.firstRanMs).toBe(0);
  now += 1;
  lane.enter(c);
  now += 40;
  expect(lane.firstRanMs).toBe(40);
  lane.leave(b);
  // Sent long before its turn: its answer comes right behind.
  now += 7;
  expect(lane.firstRanMs).toBe(7);
});

test('takes the quickest for the time on the network', () => {
  let now = 0;
  const lane = createLane(30, () => now);
  const passage = traveller();
  lane.enter(passage);
  now += 4;
  lane.leave(passage);
  lane.enter(passage);
  now += 10;
  expect(lane.firstRanMs).toBe(6);
});

test('shut lets nobody in and moves all but the first', () => {
  const [a, b, c] = [traveller(), traveller(), traveller()];
  const lane = laneOf(a, b, c);
  expect(lane.isOpen).toBe(true);
  lane.shut();
  expect(lane.isOpen).toBe(false);
  expect([a.told, b.told, c.told]).toEqual([[], ['move'], ['move']]);
  // They are under way all the same.
  expect(lane.length).toBe(3);
  lane.reopen();
  expect(lane.isOpen).toBe(true);
});

test('close moves all others, also from behind one that has left, and the first to close is the owner', () => {
  const [a, b, c] = [traveller(), traveller(), traveller()];
  const lane = laneOf(a, b, c);
  lane.leave(a);
  expect(lane.close(a)).toBe(true);
  expect([b.told, c.told, lane.isOpen]).toEqual([['first', 'move'], ['move'], false]);
  lane.leave(b);
  expect(lane.close(b)).toBe(false);
  expect(lane.close(a)).toBe(true);
  lane.reopen();
  expect(lane.close(c)).toBe(true);
});

test('one who closes for itself stays, and whom it moved is not the owner, nor after a shut', () => {
  const [a, b] = [traveller(), traveller()];
  const lane = laneOf(a, b);
  lane.shut();
  expect(lane.close(a)).toBe(true);
  expect([a.told, lane.close(b)]).toEqual([['move'], false]);
});
