import { expect, test } from 'vitest';
import type { Capability, Param } from '../capabilities/model.ts';
import type { Database, PreparedCapability, Query } from '../databases/driver/driver.ts';
import { changesBetween, createServedSet, prepareSet, type PreparedSet } from './served-set.ts';

interface Prepared extends PreparedCapability {
  readonly text: string;
  readonly params: readonly Param[];
}

/** Tells each query from the others; runs none. */
function fakeDatabase(): Database {
  return {
    ping: async () => {},
    prepare: (): Query => ({ run: () => Promise.reject(new Error('is not run')) }),
    forget: () => {},
    connections: { idle: 0, busy: 0, opening: 0, waiting: 0 },
    isUp: true,
    close: async () => {},
  };
}

function param(line: number, value: unknown): Param {
  return {
    name: 'p',
    required: false,
    schema: { type: 'object', default: value },
    position: { line, column: 1 },
  };
}

function capability(name: string, line: number, value: unknown = {}, sql = 'select 1'): Capability {
  return {
    name,
    description: '',
    sql,
    params: [param(line, value)],
    result: [{ name: 'one', type: 'integer', nullable: true, position: { line, column: 3 } }],
    limits: { timeoutMs: 1, maxRows: 1, maxBytes: 100, onLimit: 'error' },
    allowFunctions: [],
    allowForeignTables: [],
    exposeInOpenapi: true,
    position: { line, column: 1 },
    sqlPosition: { line, column: 5 },
  };
}

function preparing(
  capabilities: readonly Capability[],
  database: Database,
  before?: PreparedSet,
  suffix = '',
): Promise<PreparedSet> {
  const prepared = capabilities.map(({ name, sql, params }): Prepared => ({
    capability: name,
    text: sql + suffix,
    params,
  }));
  return prepareSet(
    { config: { capabilities }, prepared, description: Buffer.from('{}') },
    new Map([['', database]]),
    before,
  );
}

const queryOf = ({ served }: PreparedSet, name: string): Query | undefined =>
  served.capabilities.get(name)?.query;

test('takes over what another place in the file makes no difference to, and only that', async () => {
  const database = fakeDatabase();
  const position = { line: 1, column: 1 };
  const before = await preparing(
    [
      capability('same', 1),
      capability('sql', 2),
      capability('default', 3, { position }),
      capability('gone', 4),
    ],
    database,
  );
  const after = await preparing(
    [
      capability('added', 1),
      capability('same', 12),
      capability('sql', 13, {}, 'select 2'),
      capability('default', 14, { position: { line: 2, column: 1 } }),
    ],
    database,
    before,
  );
  expect(changesBetween(before, after)).toEqual({
    added: ['added'],
    changed: ['sql', 'default'],
    removed: ['gone'],
  });
  expect(queryOf(after, 'same')).toBe(queryOf(before, 'same'));
  for (const name of ['sql', 'default']) expect(queryOf(after, name)).not.toBe(queryOf(before, name));
});

test('takes over nothing that the database prepares otherwise, nor from another database', async () => {
  const database = fakeDatabase();
  const before = await preparing([capability('same', 1)], database);
  const otherwise = await preparing([capability('same', 1)], database, before, ' other');
  expect(queryOf(otherwise, 'same')).not.toBe(queryOf(before, 'same'));
  expect(changesBetween(before, otherwise).changed).toEqual(['same']);
  const elsewhere = await preparing([capability('same', 1)], fakeDatabase(), before);
  expect(queryOf(elsewhere, 'same')).not.toBe(queryOf(before, 'same'));
  expect(changesBetween(before, elsewhere).changed).toEqual([]);
});

test('takes over a query whose sharing has ended only if it was not prepared again', async () => {
  const database = fakeDatabase();
  const capabilities = [capability('ended', 1), capability('other', 2)];
  const content = {
    config: { capabilities },
    prepared: [{ capability: 'ended' }, { capability: 'other' }],
    description: Buffer.from('{}'),
  };
  const databases = new Map([['', database]]);
  const before = await prepareSet(content, databases);
  const kept = await prepareSet(content, databases, before, new Set(['ended']));
  const prepared = content.prepared.map((each) => ({ ...each }));
  const again = await prepareSet({ ...content, prepared }, databases, kept, new Set(['ended']));
  expect(queryOf(kept, 'ended')).toBe(queryOf(before, 'ended'));
  expect(queryOf(again, 'ended')).not.toBe(queryOf(before, 'ended'));
  expect(queryOf(again, 'other')).toBe(queryOf(before, 'other'));
  expect(changesBetween(kept, again).changed).toEqual([]);
});

test('is idle once none of its calls is under way', async () => {
  const set = createServedSet(new Map(), Buffer.from('{}'));
  await set.idle();
  set.began();
  set.began();
  let isIdle = false;
  const idle = set.idle().then(() => (isIdle = true));
  set.ended();
  await new Promise((resolve) => setImmediate(resolve));
  expect(isIdle).toBe(false);
  set.ended();
  await idle;
});
