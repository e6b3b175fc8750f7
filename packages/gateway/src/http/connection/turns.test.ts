import { beforeEach, expect, test } from 'vitest';
import { createTurns } from './turns.ts';

let clock: number;
/** What was begun, with a dot for each time that the event loop went round. */
let course: string;
beforeEach(() => {
  clock = 0;
  course = '';
});

/**
 * Begins pieces that take `ms` each, half of it behind a promise, and waits until all are over. Everybody else takes
 * `othersMs` each time that the event loop goes round.
 */
async function run(names: readonly string[], ms: number, othersMs = 0): Promise<void> {
  const { later } = createTurns(() => clock);
  let isOver = false;
  const goRound = (): void => {
    course += '.';
    clock += othersMs;
    if (!isOver) setImmediate(goRound);
  };
  goRound();
  const pieces = names.map(
    (name) =>
      new Promise<void>((resolve) => {
        later(() => {
          course += name;
          clock += ms / 2;
          void Promise.resolve().then(() => {
            clock += ms / 2;
            resolve();
          });
        });
      }),
  );
  expect(course).toBe('.');
  await Promise.all(pieces);
  isOver = true;
}

test('the event loop goes round when work has taken five milliseconds', async () => {
  await run(['a', 'b', 'c', 'd', 'e'], 4);
  expect(course.replaceAll(/\.+/g, '.')).toBe('.ab.cd.e');
});

test('one piece is begun each time, however long it takes', async () => {
  await run(['a', 'b', 'c'], 1000);
  expect(course.replaceAll(/\.+/g, '.')).toBe('.a.b.c');
});

test('nobody is kept from beginning by how busy others are', async () => {
  await run(['a', 'b', 'c', 'd'], 3, 1000);
  expect(course.replaceAll(/\.+/g, '.')).toBe('.ab.cd');
});

test('and after 32 pieces that take no time', async () => {
  const names = Array.from({ length: 80 }, (_, at) => String.fromCodePoint(0x100 + at));
  await run(names, 0);
  expect(course.split(/\.+/).map(({ length }) => length)).toEqual([0, 32, 32, 16]);
  expect(course.replaceAll('.', '')).toBe(names.join(''));
});
