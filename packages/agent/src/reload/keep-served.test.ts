import { expect, test } from 'vitest';
import type { Capability } from '../capabilities/model.ts';
import type { DatabaseConfig } from '../databases/driver/driver.ts';
import type { VerifiedAgent } from '../start-up/report.ts';
import { configOf } from './config.fixture.ts';
import { keepServed } from './keep-served.ts';

function capability(
  name: string,
  database: string,
  sql: string,
  labels?: readonly string[],
  line = 1,
): Capability {
  const position = { line, column: 1 };
  return {
    name,
    description: '',
    database,
    sql,
    params: [
      {
        name: 'kind',
        required: true,
        schema: { type: 'string', ...(labels === undefined ? {} : { enum: labels }) },
        position,
      },
    ],
    result: [{ name: 'one', type: 'integer', nullable: true, position }],
    limits: { timeoutMs: 1, maxRows: 1, maxBytes: 100, onLimit: 'error' },
    allowFunctions: [],
    allowForeignTables: [],
    exposeInOpenapi: true,
    position,
    sqlPosition: position,
  };
}

const shop: DatabaseConfig = { driver: 'postgres', maxConnections: 2, requireReadonlyAccount: false };
const away = [{ name: 'shop', state: 'away' as const, faults: [] }];

function agentOf(
  capabilities: readonly Capability[],
  more: Partial<VerifiedAgent> & { readonly shop?: typeof shop } = {},
): VerifiedAgent {
  const { shop: settings = shop, ...rest } = more;
  return {
    config: { ...configOf(), databases: { library: shop, shop: settings }, capabilities },
    narrowed: [],
    prepared: capabilities.map(({ name }) => ({ capability: name })),
    description: Buffer.from('described'),
    unverified: [],
    ...rest,
  };
}

const orders = capability('orders', 'shop', 'select 1', ['web']);
const declared = capability('orders', 'shop', 'select 1');
const before = agentOf([orders], { narrowed: [declared] });
const names = ({ prepared }: VerifiedAgent): readonly string[] => prepared.map((each) => each.capability);

test('what the file has not changed is served on, as it was verified, wherever it stands now', () => {
  const moved = capability('orders', 'shop', 'select 1', undefined, 9);
  const kept = keepServed(before, agentOf([moved], { prepared: [], unverified: away }));
  expect(kept.isDescriptionStale).toBe(true);
  expect(kept.verified.config.capabilities).toEqual([orders]);
  expect(kept.verified).toMatchObject({ narrowed: [declared], unverified: [] });
  expect(names(kept.verified)).toEqual(['orders']);
});

test('what is new or changed waits for the database', () => {
  const added = capability('other', 'shop', 'select 2');
  const after = agentOf([declared, added], { prepared: [], unverified: away });
  expect(keepServed(before, after).verified).toMatchObject({
    config: { capabilities: [orders, added] },
    prepared: [{ capability: 'orders' }],
    unverified: away,
  });
  const changed = capability('orders', 'shop', 'select 3');
  const kept = keepServed(before, agentOf([changed], { prepared: [], unverified: away }));
  expect(kept).toMatchObject({
    isDescriptionStale: false,
    verified: { config: { capabilities: [changed] }, prepared: [], narrowed: [], unverified: away },
  });
});

test('nothing is kept of a database with other settings, or of what was never verified', () => {
  const changes = [{ maxConnections: 3 }, { transactions: 'own' as const }, { requireReadonlyAccount: true }];
  for (const change of changes) {
    const after = agentOf([declared], { prepared: [], unverified: away, shop: { ...shop, ...change } });
    expect(keepServed(before, after)).toMatchObject({ verified: { prepared: [], unverified: away } });
  }
  const strict = { ...shop, requireReadonlyAccount: true };
  const audited = keepServed(
    agentOf([orders], { shop: strict, narrowed: [declared] }),
    agentOf([declared], { prepared: [], unverified: away }),
  );
  expect(names(audited.verified)).toEqual(['orders']);
  const unverified = agentOf([declared], { prepared: [], unverified: away });
  expect(keepServed(unverified, unverified)).toMatchObject({ verified: { prepared: [], unverified: away } });
});

test('what has been verified just now counts as it is', () => {
  const narrower = capability('orders', 'shop', 'select 1', ['phone']);
  const kept = keepServed(before, agentOf([narrower], { narrowed: [declared] }));
  expect(kept).toMatchObject({
    isDescriptionStale: false,
    verified: { config: { capabilities: [narrower] }, narrowed: [declared] },
  });
  expect(names(kept.verified)).toEqual(['orders']);
});
