import { DESCRIBE_CAPABILITY } from '@svc/protocol';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Caller } from '../capabilities/caller.ts';
import { InvalidParams } from '../capabilities/parameters.ts';
import { DatabaseError, type DatabaseErrorKind } from '../databases/driver/errors.ts';
import { type Query, type QueryCall } from '../databases/driver/driver.ts';
import type { IncomingCall } from './handle-call.ts';
import type { AgentEvent } from '../telemetry/events.ts';
import { createCallerLoads, type CallerLoads } from './caller-loads.ts';
import { createConcurrencyLimit, type ConcurrencyLimit } from './concurrency-limit.ts';
import type { Identified, IdentifyCaller } from './identify-caller.ts';
import { createResultMemory, type ResultMemory } from './result-memory.ts';
import { createRunCall } from './run-call.ts';
import { createServedSet, type RunnableCapability } from './served-set.ts';

const DESCRIPTION = Buffer.from('{"openapi":{}}');
const MEMORY_BYTES = 10_000_000;
const SECRET = 'relation "users" does not exist';

let now: number;
let events: AgentEvent[];
let draining: boolean;
let callerLoads: CallerLoads;
let concurrencyLimit: ConcurrencyLimit;
let resultMemory: ResultMemory;
let maxBytes: number;
beforeEach(() => {
  now = 100;
  events = [];
  draining = false;
  callerLoads = createCallerLoads();
  concurrencyLimit = createConcurrencyLimit(1, 0);
  resultMemory = createResultMemory(MEMORY_BYTES);
  maxBytes = 1000;
});

/** Runs one call of the capability `get` with this query. */
function run(
  query: Query['run'],
  call: Partial<IncomingCall> = {},
  read: RunnableCapability['read'] = (body) => JSON.parse(Buffer.from(body).toString()),
  {
    identify,
    service,
    ...more
  }: Partial<RunnableCapability> & { readonly identify?: IdentifyCaller; readonly service?: string } = {},
): ReturnType<ReturnType<typeof createRunCall>> {
  const capability = { read, query: { run: query }, database: '', timeoutMs: 500, maxBytes, ...more };
  const served = createServedSet(new Map([['get', capability]]), DESCRIPTION);
  const handle = createRunCall({
    served: () => served,
    ...(identify === undefined ? {} : { identify }),
    service,
    admissions: {
      of: () => ({ callerLoads, concurrencyLimit, resultMemory }),
      resize() {},
      running: 0,
      queued: 0,
    },
    observe: (event) => events.push(event),
    now: () => now,
    draining: () => draining,
  });
  return handle({
    capability: 'get',
    params: Buffer.from('{"id":7}'),
    timeoutMs: 400,
    metadata: { request_id: 'r1', api_key_name: 'reporting', traceparent: '00-a-b-01' },
    signal: new AbortController().signal,
    ...call,
  });
}

const ROWS = { rows: Buffer.from('[{"id":7}]'), count: 1, truncated: false };
const never: Query['run'] = () => {
  throw new Error('the query must not run');
};

test.each([
  ['inventory', 'inventory', true],
  ['inventory', 'orders', false],
  // As a gateway says it that has no other service, or knows of none.
  ['inventory', undefined, false],
  ['default', undefined, true],
  ['default', 'inventory', false],
  [undefined, 'inventory', true],
])('an agent of the service %s asked for %s', async (own, asked, takes) => {
  let ran = false;
  const query = async (): ReturnType<Query['run']> => {
    ran = true;
    return { rows: Buffer.from('[]'), count: 0, truncated: false };
  };
  const metadata: Record<string, string> = { request_id: 'r1', api_key_name: 'reporting' };
  if (asked !== undefined) metadata['service'] = asked;
  const outcome = await run(query, { metadata }, undefined, own === undefined ? {} : { service: own });
  expect(outcome).toMatchObject(
    takes ? { kind: 'result' } : { kind: 'error', code: 'AGENT_UNKNOWN_CAPABILITY', notStarted: true },
  );
  expect(ran).toBe(takes);
});

test('a call runs with its values, for whom it is, and within its time', async () => {
  const calls: QueryCall[] = [];
  const signal = new AbortController().signal;
  const outcome = await run(
    async (call) => {
      calls.push(call);
      now += 12.3456;
      return ROWS;
    },
    { signal },
  );
  expect(outcome).toMatchObject({ kind: 'result', ...ROWS });
  expect(calls).toEqual([
    {
      values: { id: 7 },
      apiKeyName: 'reporting',
      requestId: 'r1',
      timeoutMs: 400,
      share: expect.objectContaining({ isAlone: true }),
      signal,
    },
  ]);
  expect(events).toEqual([
    {
      event: 'call',
      request_id: 'r1',
      api_key_name: 'reporting',
      capability: 'get',
      outcome: 'OK',
      duration_ms: 12.346,
      rows: 1,
      bytes: ROWS.rows.length,
      traceparent: '00-a-b-01',
    },
  ]);
  expect(concurrencyLimit.running).toBe(0);
});

test.each([
  [400, 400],
  [600, 500],
])('with %i ms from the gateway and 500 of its own it gets %i', async (timeoutMs, expected) => {
  let given = 0;
  await run(
    async (call) => {
      given = call.timeoutMs;
      return ROWS;
    },
    { timeoutMs },
  );
  expect(given).toBe(expected);
});

test('time spent waiting for a slot counts against the timeout of the call', async () => {
  concurrencyLimit = createConcurrencyLimit(1, 1);
  const release = await concurrencyLimit.acquire(1000, new AbortController().signal, callerLoads.of('other'));
  let given = 0;
  const outcome = run(async (call) => {
    given = call.timeoutMs;
    return ROWS;
  });
  now += 150;
  if (typeof release !== 'string') release();
  await outcome;
  expect(given).toBe(250);
});

describe('a call that is not started', () => {
  test('because there is no such capability', async () => {
    expect(await run(never, { capability: 'other' })).toMatchObject({
      kind: 'error',
      code: 'AGENT_UNKNOWN_CAPABILITY',
      notStarted: true,
    });
  });

  test('because the agent is leaving', async () => {
    draining = true;
    expect(await run(never)).toMatchObject({ code: 'AGENT_DRAINING', notStarted: true });
  });

  test('because its parameters are refused, with every reason', async () => {
    const outcome = await run(never, {}, () => {
      throw new InvalidParams('id: must be >= 1; name: is required');
    });
    expect(outcome).toEqual({
      kind: 'error',
      code: 'AGENT_INVALID_PARAMS',
      message: 'id: must be >= 1; name: is required',
      notStarted: true,
    });
    expect(events).toMatchObject([{ outcome: 'AGENT_INVALID_PARAMS', rows: 0, bytes: 0 }]);
  });

  test('because all slots are taken and the queue is full', async () => {
    await concurrencyLimit.acquire(1000, new AbortController().signal, callerLoads.of('other'));
    expect(await run(never)).toMatchObject({ code: 'AGENT_BUSY', notStarted: true });
  });

  test('because its time passed while it waited', async () => {
    concurrencyLimit = createConcurrencyLimit(1, 1);
    await concurrencyLimit.acquire(1000, new AbortController().signal, callerLoads.of('other'));
    expect(await run(never, { timeoutMs: 1 })).toMatchObject({
      code: 'AGENT_QUERY_TIMEOUT',
      notStarted: true,
    });
  });

  test('because it was cancelled while it waited', async () => {
    concurrencyLimit = createConcurrencyLimit(1, 1);
    await concurrencyLimit.acquire(1000, new AbortController().signal, callerLoads.of('other'));
    const caller = new AbortController();
    const outcome = run(never, { signal: caller.signal });
    caller.abort();
    expect(await outcome).toMatchObject({ code: 'AGENT_CANCELLED', notStarted: true });
  });
});

describe('with identity', () => {
  const CALLER: Caller = {
    principal: 'token:id:anna',
    keyName: '',
    issuer: 'https://id.example',
    subject: 'anna',
    clientId: 'app',
    claims: { org_id: 'north' },
    claimsJson: '{"org_id":"north"}',
    verifiedBy: 'token',
  };
  const logged = {
    api_key_name: '',
    principal: 'token:id:anna',
    issuer: 'https://id.example',
    client_id: 'app',
    verified_by: 'token',
  };
  const nobody = { api_key_name: '', principal: '', issuer: '', client_id: '' };

  /** As `run`, for an agent that asks who calls. */
  function runFor(
    identify: IdentifyCaller,
    query: Query['run'],
    capability: Partial<RunnableCapability> = {},
  ): ReturnType<typeof run> {
    return run(query, {}, undefined, { identify, ...capability });
  }

  test('the query gets who calls, and the values that are taken from there', async () => {
    const calls: QueryCall[] = [];
    const asked: unknown[] = [];
    const outcome = await runFor(
      (metadata, capability) => {
        asked.push([metadata['request_id'], capability]);
        return { kind: 'known', caller: CALLER };
      },
      async (call) => {
        calls.push(call);
        return ROWS;
      },
      {
        pin(caller, values) {
          values['tenant'] = caller.claims['org_id'];
          return undefined;
        },
      },
    );
    expect(outcome).toMatchObject({ kind: 'result' });
    expect(asked).toEqual([['r1', 'get']]);
    expect(calls).toMatchObject([{ values: { id: 7, tenant: 'north' }, apiKeyName: '', caller: CALLER }]);
    expect(events).toMatchObject([{ ...logged, outcome: 'OK' }]);
  });

  test.each<[string, Identified, unknown]>([
    ['who calls is refused', { kind: 'refused', detail: 'why' }, nobody],
    ['the caller may not call it', { kind: 'refused', detail: 'why', caller: CALLER }, logged],
  ])('when %s, it is not started, and the log says why', async (_title, identified, who) => {
    const outcome = await runFor(async () => identified, never);
    expect(outcome).toMatchObject({ kind: 'error', code: 'AGENT_PRINCIPAL_REFUSED', notStarted: true });
    expect(events).toMatchObject([{ ...Object(who), outcome: 'AGENT_PRINCIPAL_REFUSED', detail: 'why' }]);
    if (who === nobody) expect(events[0]).not.toHaveProperty('verified_by');
  });

  test('a value that cannot be taken from who calls refuses it before a slot is asked for', async () => {
    await concurrencyLimit.acquire(1000, new AbortController().signal, callerLoads.of('other'));
    const outcome = await runFor(() => ({ kind: 'known', caller: CALLER }), never, {
      pin: () => 'tenant: principal.claims.org is not there',
    });
    expect(outcome).toMatchObject({ code: 'AGENT_PRINCIPAL_REFUSED', notStarted: true });
    expect(JSON.stringify(outcome)).not.toContain('tenant');
    expect(events).toMatchObject([{ ...logged, detail: 'tenant: principal.claims.org is not there' }]);
  });

  test('keys that do not come are waited for as long as the call has, or until it is cancelled', async () => {
    const silent = (): Promise<Identified> => new Promise(() => {});
    const late = await runFor(silent, never, { timeoutMs: 20 });
    expect(late).toMatchObject({ code: 'AGENT_QUERY_TIMEOUT', notStarted: true });
    const cancelled = new AbortController();
    const running = run(never, { signal: cancelled.signal }, undefined, { identify: silent });
    cancelled.abort();
    expect(await running).toMatchObject({ code: 'AGENT_CANCELLED', notStarted: true });
  });

  test('parameters are judged before who calls', async () => {
    const outcome = await run(
      never,
      {},
      () => {
        throw new InvalidParams('id: is required');
      },
      {
        identify: () => {
          throw new Error('nobody must be asked');
        },
      },
    );
    expect(outcome).toMatchObject({ code: 'AGENT_INVALID_PARAMS' });
    expect(events).toMatchObject([nobody]);
  });

  test(
    'keys that are not known yet are told as a busy agent, so that the call is tried elsewhere and again',
    { tags: ['identity:unavailable-keys'] },
    async () => {
      const outcome = await runFor(() => ({ kind: 'unavailable', detail: 'no keys' }), never);
      expect(outcome).toMatchObject({ code: 'AGENT_BUSY', notStarted: true });
      expect(events).toMatchObject([{ ...nobody, outcome: 'AGENT_BUSY', detail: 'no keys' }]);
    },
  );

  test('a value of who calls that the database does not take is no fault of the parameters', async () => {
    const outcome = await runFor(
      () => ({ kind: 'known', caller: CALLER }),
      async () => {
        throw new DatabaseError('invalid_principal', 'SQLSTATE 22P02');
      },
    );
    expect(outcome).toMatchObject({ code: 'AGENT_PRINCIPAL_REFUSED' });
    expect(events).toMatchObject([{ ...logged, detail: 'SQLSTATE 22P02' }]);
  });
});

test.each<[DatabaseErrorKind, string]>([
  ['timeout', 'AGENT_QUERY_TIMEOUT'],
  ['cancelled', 'AGENT_CANCELLED'],
  ['too_large', 'AGENT_RESULT_TOO_LARGE'],
  ['unavailable', 'AGENT_QUERY_FAILED'],
  ['failed', 'AGENT_QUERY_FAILED'],
])('a query that ends as %s is %s; the database’s words go to the log only', async (kind, code) => {
  const outcome = await run(async () => {
    throw new DatabaseError(kind, SECRET, { cause: new Error('a value') });
  });
  expect(outcome).toMatchObject({ kind: 'error', code, notStarted: false });
  expect(JSON.stringify(outcome)).not.toContain('users');
  expect(events).toMatchObject([{ outcome: code, detail: SECRET }]);
  expect(JSON.stringify(events)).not.toContain('a value');
  expect(concurrencyLimit.running).toBe(0);
});

test('two equal rows at the end of a page fail the call, and the log says what they are equal in', async () => {
  const outcome = await run(() => Promise.reject(new DatabaseError('tied', 'issued_on, total')));
  expect(outcome).toMatchObject({ kind: 'error', code: 'AGENT_QUERY_FAILED' });
  expect(JSON.stringify(outcome)).not.toContain('issued_on');
  expect(events).toMatchObject([
    { event: 'paging_tie', fields: 'issued_on, total' },
    { detail: 'the rows on both sides of the end of a page are equal in issued_on, total' },
  ]);
});

test('a fault of our own fails the call and nothing else', async () => {
  const fault = (): never => {
    throw new TypeError(`${SECRET}\n    at value (here)`, { cause: SECRET });
  };
  for (const outcome of [await run(fault), await run(never, {}, fault)]) {
    expect(outcome).toMatchObject({ kind: 'error', code: 'AGENT_QUERY_FAILED' });
    expect(JSON.stringify(outcome)).not.toContain('users');
  }
  // Where it came from, but not its message, which may quote values.
  const told = /^unexpected error at \S*fault .*run-call\.test\.ts/;
  expect(events).toMatchObject([
    { detail: expect.stringMatching(told) },
    { detail: expect.stringMatching(told) },
  ]);
  expect(JSON.stringify(events)).not.toMatch(/users|at value/);
  expect(concurrencyLimit.running).toBe(0);
});

test('the meta capability answers with the description, also while leaving, and is not logged', async () => {
  draining = true;
  expect(await run(never, { capability: DESCRIBE_CAPABILITY })).toMatchObject({
    kind: 'result',
    rows: DESCRIPTION,
    count: 0,
    truncated: false,
  });
  expect(events).toEqual([]);
});

test('a call without metadata is logged with empty texts', async () => {
  await run(async () => ROWS, { metadata: {} });
  expect(events).toMatchObject([{ request_id: '', api_key_name: '' }]);
  expect(events[0]).not.toHaveProperty('traceparent');
});

describe('the memory for results', () => {
  const answer = async (): Promise<typeof ROWS> => ROWS;
  const taken = (outcome: Awaited<ReturnType<typeof run>>): void => {
    if (outcome.kind === 'result') outcome.release();
  };

  test.each([
    ['small', 1_000_000],
    ['large', 9_000_000],
  ])('a %s result is counted until it has left', async (_title, most) => {
    maxBytes = most;
    const outcome = await run(async () => {
      expect(resultMemory.heldBytes).toBe(most > 1_048_576 ? most : 0);
      return ROWS;
    });
    expect(resultMemory.heldBytes).toBe(ROWS.rows.length);
    taken(outcome);
    expect(resultMemory.heldBytes).toBe(0);
  });

  test('a query that fails leaves nothing counted', async () => {
    maxBytes = 9_000_000;
    await run(() => Promise.reject(new DatabaseError('failed', 'x')));
    expect(resultMemory.heldBytes).toBe(0);
  });

  test('a large result waits for another before its query, without a slot, and small ones pass', async () => {
    maxBytes = 6_000_000;
    const first = await run(async () => ({ ...ROWS, rows: Buffer.alloc(6_000_000) }));
    let begun = false;
    const second = run(async () => {
      begun = true;
      return ROWS;
    });
    maxBytes = 1000;
    expect(await run(answer)).toMatchObject({ kind: 'result' });
    expect(begun).toBe(false);
    taken(first);
    expect(await second).toMatchObject({ kind: 'result' });
  });

  test('waiting for memory ends with the time and with the call', async () => {
    maxBytes = 6_000_000;
    await run(async () => ({ ...ROWS, rows: Buffer.alloc(6_000_000) }));
    const late = await run(never, { timeoutMs: 20 });
    expect(late).toMatchObject({ kind: 'error', code: 'AGENT_QUERY_TIMEOUT', notStarted: true });
    const aborted = await run(never, { signal: AbortSignal.timeout(20) });
    expect(aborted).toMatchObject({ kind: 'error', code: 'AGENT_CANCELLED', notStarted: true });
    expect(resultMemory.heldBytes).toBe(6_000_000);
  });

  test('small results wait once small ones fill their memory', async () => {
    const filling = await run(async () => ({ ...ROWS, rows: Buffer.alloc(MEMORY_BYTES) }));
    const late = await run(never, { timeoutMs: 20 });
    expect(late).toMatchObject({ code: 'AGENT_QUERY_TIMEOUT', notStarted: true });
    const waiting = run(answer);
    taken(filling);
    expect(await waiting).toMatchObject({ kind: 'result' });
    expect(concurrencyLimit.running).toBe(0);
  });
});
