import { expect, test } from 'vitest';
import { prepareSet } from '../calls/served-set.ts';
import type { Database, DatabaseConfig } from '../databases/driver/driver.ts';
import { DatabaseError } from '../databases/driver/errors.ts';
import type { VerifiedAgent } from '../start-up/report.ts';
import { configOf } from './config.fixture.ts';
import { createServing, type Serving } from './serving.ts';

const NOTHING = { idle: 0, busy: 0, opening: 0, waiting: 0 };

/** Databases that only count how often they are opened and closed; those in `away` do not answer. */
async function serving(
  away: readonly string[],
): Promise<{ readonly serving: Serving; readonly isOpen: Set<string> }> {
  const isOpen = new Set<string>();
  const open = (name: string): Database => {
    isOpen.add(name);
    return {
      ping: () =>
        away.includes(name)
          ? Promise.reject(new DatabaseError('unavailable', 'it is away'))
          : Promise.resolve(),
      prepare: () => ({ run: () => Promise.reject(new Error('no call is made')) }),
      forget: () => {},
      connections: NOTHING,
      isUp: true,
      close: () => Promise.resolve(void isOpen.delete(name)),
    };
  };
  const content = verified(['']);
  const database = open('');
  const set = await prepareSet(content, new Map([['', database]]));
  const created = createServing({
    verified: content,
    set,
    opened: new Map([['', { database }]]),
    open: (_config, name) => Promise.resolve({ database: open(name) }),
    handlerOf: () => () => Promise.reject(new Error('no call is made')),
    resize: () => {},
    renewLinks: () => ({
      over: Promise.resolve(),
      renewed: () => Promise.resolve({ replaced: 0, waiting: 0 }),
    }),
  });
  return { serving: created, isOpen };
}

function verified(names: readonly string[], changes: Partial<VerifiedAgent> = {}): VerifiedAgent {
  const settings: DatabaseConfig = { driver: 'postgres', maxConnections: 2, requireReadonlyAccount: false };
  const databases = Object.fromEntries(names.map((name) => [name, settings]));
  return {
    config: { ...configOf(), databases },
    prepared: [],
    description: new Uint8Array(),
    narrowed: [],
    unverified: [],
    ...changes,
  };
}

test('a reload that fails closes the databases that it has opened', async () => {
  const { serving: served, isOpen } = await serving(['c']);
  await expect(served.swap(verified(['', 'b', 'c']))).rejects.toThrow('it is away');
  expect([...isOpen]).toEqual(['']);
});

test('another way to run transactions needs no other connection', async () => {
  const { serving: served, isOpen } = await serving(['']);
  const own = verified(['']);
  const databases = Object.fromEntries(
    Object.entries(own.config.databases).map(([name, each]) => [
      name,
      { ...each, transactions: 'own' as const },
    ]),
  );
  const swapped = await served.swap({ ...own, config: { ...own.config, databases } });
  expect(swapped.databaseChanged).toBe(false);
  expect([...isOpen]).toEqual(['']);
});

test('a reload whose capabilities cannot be served closes the databases that it has opened', async () => {
  const { serving: served, isOpen } = await serving([]);
  const position = { line: 1, column: 1 };
  const capability = {
    name: 'sample',
    database: 'gone',
    description: '',
    sql: 'select 1 as a',
    params: [],
    result: [],
    limits: { timeoutMs: 1000, maxRows: 1, maxBytes: 1000, onLimit: 'truncate' as const },
    allowFunctions: [],
    allowForeignTables: [],
    exposeInOpenapi: true,
    position,
    sqlPosition: position,
  };
  const changed = verified(['', 'b']);
  const config = { ...changed.config, capabilities: [capability] };
  await expect(served.swap({ ...changed, config })).rejects.toThrow('has no database');
  expect([...isOpen]).toEqual(['']);
  expect([...(await served.swap(verified(['', 'b']))).added]).toEqual([]);
  expect([...isOpen]).toEqual(['', 'b']);
});
