import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { capabilityFault, configOf } from './config.fixture.ts';
import { createReloader, type Checked, type Reloader } from './reloader.ts';
import type { AgentEvent } from '../telemetry/events.ts';
import type { AgentConfig } from '../config/model.ts';

interface Scene {
  readonly reloader: Reloader;
  /** What the file holds: an edition, and whether it is at fault. */
  file: { readonly edition: number; readonly isFaulty: boolean };
  readonly served: number[];
  readonly events: AgentEvent[];
  /** The checks that are under way, each with what it has read. */
  readonly checks: (() => void)[];
}

function scene(swapFails: () => Error | undefined = () => undefined): Scene {
  const served = [0];
  const events: AgentEvent[] = [];
  const checks: (() => void)[] = [];
  let serving: AgentConfig = configOf({ version: '0' });
  const made: Scene = {
    file: { edition: 0, isFaulty: false },
    served,
    events,
    checks,
    reloader: createReloader({
      check(signal) {
        const { edition, isFaulty } = made.file;
        return new Promise<Checked>((resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('ended')));
          checks.push(() => {
            const config = configOf({ version: String(edition) });
            const verified = {
              config,
              narrowed: [],
              prepared: [],
              unverified: [],
              description: Buffer.from(String(edition)),
            };
            resolve(isFaulty ? { faults: [capabilityFault('find_book')] } : { verified });
          });
        });
      },
      serving: () => serving,
      async swap({ config }) {
        const failure = swapFails();
        if (failure !== undefined) throw failure;
        serving = config;
        served.push(Number(config.service.version));
        return {
          added: [],
          changed: [],
          removed: [],
          databaseChanged: false,
          linksReplaced: 0,
          linksWaiting: 0,
        };
      },
      observe: (event) => events.push(event),
    }),
  };
  return made;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('checks run one at a time, nothing older takes the place of something newer, the newest good file is served', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('write' as const), isFaulty: fc.boolean() }),
    fc.record({ kind: fc.constant('tell' as const) }),
    fc.record({ kind: fc.constant('finish' as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const it = scene();
      let edition = 0;
      for (const next of steps) {
        if (next.kind === 'write') it.file = { edition: ++edition, isFaulty: next.isFaulty };
        else if (next.kind === 'tell') void it.reloader.reload('SIGHUP');
        else it.checks.shift()?.();
        await turn();
        expect(it.checks.length).toBeLessThanOrEqual(1);
      }
      const before = it.served.at(-1);
      const end = it.reloader.reload('SIGHUP');
      for (let count = 0; count < 3; count++) {
        await turn();
        it.checks.shift()?.();
      }
      await end;
      expect(it.served).toEqual(it.served.toSorted((a, b) => a - b));
      // What was served meanwhile is never older than before.
      if (it.file.isFaulty) expect(it.served.at(-1)).toBeGreaterThanOrEqual(before ?? 0);
      else expect(it.served.at(-1)).toBe(it.file.edition);
    }),
  );
});

test('whoever asks while one is checked waits for the next, once for all of them', async () => {
  const it = scene();
  const first = it.reloader.reload('SIGHUP');
  await turn();
  it.file = { edition: 1, isFaulty: true };
  const [second, third] = [it.reloader.reload('SIGHUP'), it.reloader.reload('watch')];
  it.checks.shift()?.();
  await first;
  await turn();
  it.checks.shift()?.();
  expect(await third).toBe(await second);
  expect(it.events.map(({ event }) => event)).toEqual(['reloaded', 'reload_refused']);
  expect(it.events[1]).toMatchObject({ faults: 1, capabilities: 'find_book', detail: expect.any(String) });
});

test('whatever fails is refused, and the agent is asked again', async () => {
  const failures: (Error | undefined)[] = [new Error('broken'), undefined];
  const it = scene(() => failures.shift());
  const refused = it.reloader.reload('SIGHUP');
  await turn();
  it.checks.shift()?.();
  expect((await refused)?.event).toMatchObject({
    event: 'reload_refused',
    message: 'the checks failed',
    detail: expect.stringContaining('broken'),
  });
  const taken = it.reloader.reload('SIGHUP');
  await turn();
  it.checks.shift()?.();
  expect((await taken)?.event).toMatchObject({ event: 'reloaded' });
});

test('an agent that ends neither waits for a check nor tells of it', async () => {
  const it = scene();
  const ended = it.reloader.reload('SIGHUP');
  await turn();
  it.reloader.close();
  expect([await ended, await it.reloader.reload('SIGHUP'), it.events]).toEqual([undefined, undefined, []]);
});
