import { createAbort, type Reservation } from '@svc/edge';
import { expect, test } from 'vitest';
import { createCallerLoads } from './caller-loads.ts';
import { createResultMemory } from './result-memory.ts';

const FAR = 60_000;
const MB = 1_000_000;

/** Large results of 2 MB each, by the caller whose turn it was, in the order in which they got their memory. */
function largeResults() {
  const callers = createCallerLoads();
  const memory = createResultMemory(10 * MB);
  const order: string[] = [];
  const held: { readonly name: string; readonly reservation: Reservation }[] = [];
  return {
    memory,
    order,
    ask: (name: string) => {
      const caller = createAbort();
      void memory.reserveLarge(2 * MB, FAR, caller.signal, callers.of(name))?.then((reservation) => {
        if (typeof reservation === 'string') return;
        order.push(name);
        held.push({ name, reservation });
      });
      return caller;
    },
    giveBack: async (name: string) => {
      const at = held.findIndex((each) => each.name === name);
      held.splice(at, 1)[0]?.reservation.release();
      await new Promise(setImmediate);
    },
  };
}

test('beside others a caller holds half of the memory for large results at most', async () => {
  const { memory, order, ask, giveBack } = largeResults();
  for (const name of ['many', 'many', 'many', 'many', 'many', 'many', 'few', 'many', 'few']) ask(name);
  await giveBack('');
  // It was alone when it asked for these.
  expect(order.splice(0)).toEqual(['many', 'many', 'many', 'many', 'many']);
  await giveBack('many');
  await giveBack('many');
  expect(order.splice(0)).toEqual(['few', 'few']);
  await giveBack('many');
  expect(order).toEqual([]);
  await giveBack('many');
  expect(order.splice(0)).toEqual(['many']);
  for (const name of ['many', 'many', 'many', 'few', 'few']) await giveBack(name);
  expect(memory.heldBytes).toBe(0);
});

test('callers take turns for what is given back, and one that leaves takes no turn', async () => {
  const { memory, order, ask, giveBack } = largeResults();
  for (const name of 'abcde') ask(name);
  const leaving = ask('d');
  for (const name of 'aabc') ask(name);
  await giveBack('');
  expect(order.splice(0)).toEqual(['a', 'b', 'c', 'd', 'e']);
  leaving.abort();
  for (const name of 'edca') await giveBack(name);
  expect(order.splice(0)).toEqual(['a', 'b', 'c', 'a']);
  for (const name of 'aabbc') await giveBack(name);
  expect(memory.heldBytes).toBe(0);
});
