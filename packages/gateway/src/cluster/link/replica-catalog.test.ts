import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { NOBODY } from '../../agents/registry.ts';
import { offering } from '../../catalog/offer.testing.ts';
import type { AgentOffer } from '../../catalog/offer.ts';
import { startReplica, type EnteredAgent, type WorkerByHand } from './replica-by-hand.testing.ts';

const CAPABILITIES = ['a', 'b', 'c'];
const FILES = [['a'], ['b', 'a'], ['c'], ['a', 'c']];

type Step =
  | { readonly do: 'enter'; readonly worker: number; readonly agent: number; readonly file: number }
  | { readonly do: 'lose'; readonly pick: number }
  | { readonly do: 'wait' }
  | { readonly do: 'kill' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('enter' as const),
      worker: fc.nat(1),
      agent: fc.nat(5),
      file: fc.nat(FILES.length - 1),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('lose' as const), pick: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.constant({ do: 'wait' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'kill' as const }) },
);

function offerOf(agent: number, file: number): AgentOffer {
  const names = FILES[file] ?? [];
  const openapi = { openapi: '3.1.0', info: { title: `file ${file}`, version: '1' }, paths: {} };
  const manifest = names.map((name) => ({ name, exposed: true, timeout_ms: 1000 + file }));
  return offering({ openapi, manifest }, `key-${agent % 2}`, `agent-${agent}`);
}

/** What callers can see of it. */
function seen({ catalog, registry }: WorkerByHand): string {
  const reachable = CAPABILITIES.map((name) => typeof registry.choose(name, NOBODY) === 'object');
  return JSON.stringify([catalog.description ?? null, reachable, registry.connected]);
}

test('whatever connects and is lost where, all workers come to see the same, late ones too', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30, size: 'max' }), async (steps) => {
      const replica = startReplica();
      try {
        const workers = [await replica.start(0), await replica.start(1)];
        const agents: EnteredAgent[] = [];
        for (const one of steps) {
          switch (one.do) {
            case 'enter':
              agents.push(
                workers[one.worker]?.enter(offerOf(one.agent, one.file), { features: ['fleet'] }) ?? never(),
              );
              break;
            case 'lose':
              agents[one.pick % agents.length]?.lose();
              break;
            case 'wait':
              await new Promise((resolve) => setTimeout(resolve, 5));
              break;
            case 'kill':
              await workers[1]?.kill();
              workers[1] = await replica.start(1);
          }
        }
        workers.push(await replica.start(2));
        await expect.poll(() => new Set(workers.map(seen)).size, { interval: 2 }).toBe(1);
        // And it stays so.
        await new Promise((resolve) => setTimeout(resolve, 20));
        expect(new Set(workers.map(seen)).size).toBe(1);
      } finally {
        await replica.stop();
      }
    }),
    { numRuns: 15 },
  );
}, 60_000);

function never(): never {
  throw new Error('no such worker');
}
