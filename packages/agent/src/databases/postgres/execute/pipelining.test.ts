import { setTimeout as pause } from 'node:timers/promises';
import { startFaultProxy, testDatabase, type FaultProxy, type TestDatabase } from '@svc/testkit';
import fc from 'fast-check';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { TestedDatabase } from '../capability.fixture.ts';
import { configOf, openPostgres } from '../capability.fixture.ts';
import {
  kindOfRefusal,
  numbers,
  prepareCall,
  schema,
  train,
  type Run,
  type Values,
} from './pipelining.fixture.ts';

const ours = "datname = current_database() and application_name = 'svc-agent'";

let server: TestDatabase;
let network: FaultProxy;
let database: TestedDatabase;
const opened: TestedDatabase[] = [];
beforeAll(async () => {
  server = await testDatabase({ sql: [schema] });
});
beforeEach(async () => {
  network = await startFaultProxy({ target: server });
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
  await network.close();
});

function open(maxConnections: number): void {
  database = openWith(maxConnections);
}

function openWith(maxConnections: number): TestedDatabase {
  const { host, port } = network;
  const postgres = openPostgres(configOf({ ...server, host, port }, { sslmode: 'disable', maxConnections }));
  opened.push(postgres);
  return postgres;
}

/** Waits until the server is executing a sleep. */
async function asleep(): Promise<void> {
  const sql = `select from pg_stat_activity where ${ours} and wait_event = 'PgSleep'`;
  while ((await server.query(sql)).length === 0);
}

async function openTransactions(): Promise<number> {
  return (await server.query(`select from pg_stat_activity where ${ours} and state <> 'idle'`)).length;
}

async function atRest(which: TestedDatabase = database): Promise<void> {
  await expect.poll(() => which.connections).toMatchObject({ busy: 0, opening: 0, waiting: 0 });
  await expect.poll(openTransactions).toBe(0);
}

test('short calls share a connection, and each has its own transaction, settings and result', async () => {
  network.delay(2);
  open(1);
  const run = await prepareCall(database);
  let answers: readonly Awaited<ReturnType<Run>>[] = [];
  // Ten round trips of 4 ms one after the other; a busy machine may delay those that go together.
  const share = async (): Promise<number> => {
    const before = performance.now();
    for (const n of numbers(10)) await run({ n });
    const started = performance.now();
    answers = await Promise.all(
      numbers(10).map((n) => run({ n }, { apiKeyName: `key ${n}`, requestId: `request ${n}` })),
    );
    return (performance.now() - started) / (started - before);
  };
  await expect.poll(share).toBeLessThan(0.5);
  expect(answers).toMatchObject(
    numbers(10).map((n) => ({ n, who: `key ${n}/request ${n}`, readOnly: 'on' })),
  );
  expect(new Set(answers.map(({ pid }) => pid)).size).toBe(1);
  expect(new Set(answers.map(({ since }) => since)).size).toBe(10);
  await atRest();
});

describe('a short call never waits behind a long one when a connection may be had', () => {
  /** Runs short ones, all of which are to be over long before the long one is. */
  async function expectShort(run: Run, ns: readonly number[]): Promise<void> {
    const started = performance.now();
    const answers = await Promise.all(ns.map((n) => run({ n })));
    expect(performance.now() - started).toBeLessThan(4000);
    expect(answers.map(({ n }) => n)).toEqual(ns);
  }

  test.each([
    [2, 0],
    [3, 12],
    [4, 29],
  ])('with %i connections, when it is sent after %i of 30', async (maxConnections, before) => {
    open(maxConnections);
    const run = await prepareCall(database);
    const first = expectShort(run, numbers(before));
    const abort = new AbortController();
    const long = kindOfRefusal(run({ n: 100, s: 5 }, { signal: abort.signal }));
    await Promise.all([first, expectShort(run, numbers(30 - before))]);
    abort.abort();
    expect(await long).toBe('cancelled');
    await atRest();
  });

  test('when the long one runs already, on the only connection that there is', async () => {
    open(2);
    const run = await prepareCall(database);
    const long = run({ n: 100, s: 1.2 });
    await asleep();
    expect(database.connections).toMatchObject({ busy: 1, idle: 0 });
    await expectShort(run, numbers(5));
    expect(await long).toMatchObject({ n: 100 });
    await atRest();
  });

  test('and where none may be had, all are answered in the end', async () => {
    open(1);
    const run = await prepareCall(database);
    const calls = [run({ n: 100, s: 0.3 }), ...numbers(30).map((n) => run({ n }))];
    expect((await Promise.all(calls)).map(({ n }) => n)).toEqual([100, ...numbers(30)]);
    await atRest();
  });
});

test('a call that needs a connection alone is not kept waiting by short calls, and not joined by them', async () => {
  open(1);
  const run = await prepareCall(database);
  const alone = await prepareCall(database, true);
  network.delay(2);
  let isOver = false;
  const stream = Promise.all(
    numbers(4).map(async (n) => {
      while (!isOver) {
        expect(await run({ n })).toMatchObject({ n });
        await pause(1);
      }
    }),
  );
  // Three runs more and it would be short itself.
  for (const n of numbers(2)) {
    const started = performance.now();
    expect(await alone({ n })).toMatchObject({ n });
    expect(performance.now() - started).toBeLessThan(5000);
  }
  isOver = true;
  await stream;
  const sleeping = alone({ n: 7, s: 0.3 });
  await asleep();
  const behind = numbers(5).map((n) => run({ n }));
  expect(database.connections).toMatchObject({ busy: 1, waiting: 5 });
  expect((await Promise.all([sleeping, ...behind])).map(({ n }) => n)).toEqual([7, ...numbers(5)]);
});

describe('a call that gives up', () => {
  test('while waiting behind another costs the others nothing, and nothing is cancelled', async () => {
    open(1);
    const run = await prepareCall(database);
    network.delay(20);
    const giveUp = async (): Promise<number> => {
      let most = 0;
      // A cancel request would be a connection of its own for as long as the delay.
      const watching = setInterval(() => (most = Math.max(most, network.connections())), 5);
      const long = run({ n: 100, s: 2 });
      let isLongOver = false;
      void long.then(() => (isLongOver = true));
      await asleep();
      const abort = new AbortController();
      const given = numbers(3).map((n) => kindOfRefusal(run({ n }, { signal: abort.signal })));
      const calls = Promise.all(numbers(5).map((n) => run({ n })));
      abort.abort();
      expect(await Promise.all(given)).toEqual(['cancelled', 'cancelled', 'cancelled']);
      expect(isLongOver).toBe(false);
      expect(await long).toMatchObject({ n: 100 });
      expect((await calls).map(({ n }) => n)).toEqual(numbers(5));
      clearInterval(watching);
      await atRest();
      return most;
    };
    // On a busy machine one that nobody waits for may take so long that it is cancelled.
    await expect.poll(giveUp, { timeout: 40_000 }).toBe(1);
  });

  test.each([1, 2])(
    'as the first moves the others away, with at most %i connections',
    async (maxConnections) => {
      open(maxConnections);
      const run = await prepareCall(database);
      const abort = new AbortController();
      const started = performance.now();
      const first = run({ n: 100, s: 30 }, { signal: abort.signal, timeoutMs: 30_000 });
      const calls = numbers(12).map((n) => run({ n }));
      setTimeout(() => abort.abort(), 5);
      expect(await kindOfRefusal(first)).toBe('cancelled');
      expect((await Promise.all(calls)).map(({ n }) => n)).toEqual(numbers(12));
      expect(performance.now() - started).toBeLessThan(10_000);
      await atRest();
    },
  );

  test.each([1, 2])('by its deadline does neither, with at most %i connections', async (maxConnections) => {
    open(maxConnections);
    const run = await prepareCall(database);
    const started = performance.now();
    const first = run({ n: 100, s: 30 }, { timeoutMs: 400 });
    const calls = numbers(12).map((n) => run({ n }));
    const late = run({ n: 13, s: 0.5 }, { timeoutMs: 100 });
    const ended = kindOfRefusal(first);
    expect(await Promise.race([kindOfRefusal(late), ended.then(() => 'the first ended')])).toBe('timeout');
    expect(await ended).toBe('timeout');
    expect((await Promise.all(calls)).map(({ n }) => n)).toEqual(numbers(12));
    expect(performance.now() - started).toBeLessThan(10_000);
    await atRest();
  });

  test('is told of its deadline also when it is moved away after that', async () => {
    open(1);
    const run = await prepareCall(database);
    const first = run({ n: 100, s: 30 }, { timeoutMs: 250 });
    const behind = run({ n: 1 }, { timeoutMs: 100 });
    expect(await Promise.all([first, behind].map(kindOfRefusal))).toEqual(['timeout', 'timeout']);
  });

  test('leaves no long query behind that nobody waits for', async () => {
    open(1);
    const run = await prepareCall(database);
    const first = run({ n: 100, s: 0.2 });
    const abort = new AbortController();
    const long = run({ n: 1, s: 30 }, { signal: abort.signal, timeoutMs: 30_000 });
    const behind = run({ n: 2 });
    setTimeout(() => abort.abort(), 50);
    expect(await kindOfRefusal(long)).toBe('cancelled');
    expect((await Promise.all([first, behind])).map(({ n }) => n)).toEqual([100, 2]);
    await atRest();
  });
});

describe('a call that fails', () => {
  test.each([
    [1, 64],
    [2, 40],
  ])('costs the others nothing, with at most %i connections', async (maxConnections, count) => {
    open(maxConnections);
    const run = await prepareCall(database);
    for (const state of ['22012', '25P02', 'P0001']) {
      await train(run);
      // The second of those on the connection fails, and so does the first that waited for a place on it.
      const stateOf = (n: number): string => (n % 16 === 2 || (n % 16 === 1 && n > 1) ? state : '');
      const calls = await Promise.allSettled(numbers(count).map((n) => run({ n, state: stateOf(n) })));
      expect(calls).toMatchObject(
        numbers(count).map((n) =>
          stateOf(n) === ''
            ? { value: { n } }
            : { reason: { kind: 'failed', message: expect.stringMatching(`^SQLSTATE ${state}`) } },
        ),
      );
    }
    await atRest();
  });

  test.each(['insert into note select', 'select'])(
    'since a function has put something else under our names never writes: %s',
    async (verb) => {
      open(1);
      const run = await prepareCall(database);
      for (const round of numbers(3)) {
        await train(run);
        const isUsurper = (n: number): boolean => n % 4 === round % 4;
        const calls = await Promise.allSettled(
          numbers(12).map((n) => run({ n, statement: isUsurper(n) ? `${verb} 'written'` : '' })),
        );
        const innocent = calls.filter((_, index) => !isUsurper(index + 1));
        expect(innocent).toMatchObject(
          numbers(12)
            .filter((n) => !isUsurper(n))
            .map((n) => ({ value: { n, readOnly: 'on' } })),
        );
        expect(await server.query('select text from note')).toEqual([]);
      }
      await atRest();
    },
  );
});

describe('a connection that is lost with many calls on it', () => {
  const terminate = async (): Promise<void> => {
    await server.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${ours}`);
  };

  test.each([
    ['the server ends it', terminate],
    ['the network resets it', async () => network.cut()],
  ])('costs at most the one that ran: %s', async (_title, lose) => {
    open(1);
    const run = await prepareCall(database);
    const first = kindOfRefusal(run({ n: 100, s: 0.5 }));
    const calls = Promise.allSettled(numbers(12).map((n) => run({ n })));
    await asleep();
    await lose();
    expect(['answered', 'unavailable']).toContain(await first);
    expect(await calls).toMatchObject(numbers(12).map((n) => ({ value: { n } })));
    await atRest();
  });

  test.each([
    ['it', () => network.strand(), 'answered'],
    ['every connection', () => network.stall('both'), 'timeout'],
  ])('keeps their deadlines when %s falls silent', async (_title, silence, ended) => {
    open(2);
    const run = await prepareCall(database);
    silence();
    const started = performance.now();
    const calls = await Promise.all(numbers(8).map((n) => kindOfRefusal(run({ n }, { timeoutMs: 300 }))));
    expect(performance.now() - started).toBeLessThan(10_000);
    // The first may have been sent in a batch, of which none is waited for.
    expect(['timeout', ended]).toContain(calls[0]);
    expect(calls.slice(1)).toEqual(numbers(7).map(() => ended));
    network.resume();
    expect(await run({ n: 9 })).toMatchObject({ n: 9 });
    await atRest();
  });

  test('does not keep closing, which leaves no timer', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    open(2);
    const run = await prepareCall(database);
    const calls = Promise.all(numbers(8).map((n) => kindOfRefusal(run({ n, s: n % 2 }, { timeoutMs: 300 }))));
    network.stall('both');
    const started = performance.now();
    await database.close();
    expect(performance.now() - started).toBeLessThan(10_000);
    await calls;
    for (let tries = 0; tries < 40 && timers() > before; tries += 1) await pause(50);
    expect(timers()).toBeLessThanOrEqual(before);
  });
});

interface Step {
  readonly does: 'quick' | 'slow' | 'fail' | 'large';
  readonly pauseMs: number;
  readonly abortMs: number | undefined;
  readonly timeoutMs: number | undefined;
}

const WORK: Readonly<Record<Step['does'], Omit<Values, 'n'>>> = {
  quick: {},
  slow: { s: 0.06 },
  fail: { state: '22012' },
  large: { size: 200_000 },
};

/** What is wrong with how it ended. */
async function faultOf(run: Run, step: Step, n: number): Promise<string | undefined> {
  if (step.pauseMs > 0) await pause(step.pauseMs);
  const abort = new AbortController();
  const timer = step.abortMs === undefined ? undefined : setTimeout(() => abort.abort(), step.abortMs);
  const deadline = step.timeoutMs === undefined ? {} : { timeoutMs: step.timeoutMs };
  const values = { n, ...WORK[step.does] };
  const started = performance.now();
  const allowed = [
    step.does === 'fail' ? 'failed' : n,
    ...(step.abortMs === undefined ? [] : ['cancelled']),
    ...(step.timeoutMs === undefined ? [] : ['timeout']),
  ];
  const ended = await run(values, { signal: abort.signal, ...deadline }).then(
    (answer) => (answer.pad.length === (values.size ?? 0) && answer.readOnly === 'on' ? answer.n : answer),
    (error: unknown) =>
      error instanceof Error && 'kind' in error && allowed.includes(String(error.kind)) ? error.kind : error,
  );
  clearTimeout(timer);
  const took = performance.now() - started;
  if (!allowed.some((value) => value === ended)) return `${n} ${step.does}: ${String(ended)}`;
  return took > 4000 ? `${n} ${step.does}: took ${took} ms` : undefined;
}

test('whatever is sent, aborted and late at once, every call ends with its own answer', async () => {
  const step = fc.record<Step>({
    does: fc.constantFrom('quick', 'quick', 'quick', 'quick', 'quick', 'slow', 'fail', 'large'),
    pauseMs: fc.constantFrom(0, 0, 0, 1, 2, 20),
    abortMs: fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, fc.nat(40)),
    timeoutMs: fc.oneof({ weight: 7, arbitrary: fc.constant(undefined) }, fc.integer({ min: 1, max: 80 })),
  });
  const until = performance.now() + 4000;
  const some = await Promise.all(
    numbers(3).map(async (maxConnections) => {
      const which = openWith(maxConnections);
      return { which, run: await prepareCall(which) };
    }),
  );
  const mix = fc.asyncProperty(
    fc.constantFrom(...some),
    fc.constantFrom(0, 0, 5),
    fc.array(step, { minLength: 20, maxLength: 60 }),
    async ({ which, run }, delayMs, steps) => {
      if (performance.now() > until) return;
      await train(run);
      network.delay(delayMs);
      const faults = await Promise.all(steps.map((each, index) => faultOf(run, each, index + 1)));
      network.delay(0);
      expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
      await atRest(which);
    },
  );
  await fc.assert(mix, { numRuns: 100, endOnFailure: true });
});
