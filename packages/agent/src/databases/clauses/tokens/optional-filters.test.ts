import { expect, test } from 'vitest';
import { capabilityOfSpec } from '../../conformance/clauses/lists.testing.ts';
import { driverOf } from '../../drivers.ts';

async function adviceOn(driver: string, sql: string): Promise<readonly unknown[]> {
  const capability = capabilityOfSpec({
    sql,
    params: { x: { type: 'integer' }, needed: { type: 'integer', required: true } },
    result: { id: { type: 'integer' } },
  });
  const verifier = await driverOf(driver).loadVerifier();
  return (await verifier.findClauseAdvice?.([capability])) ?? [];
}

test.each(['mariadb', 'mysql', 'sqlite', 'duckdb'])(
  'on %s a condition that a filter could replace is found, and no other',
  async (driver) => {
    const found = [{ kind: 'optional_filter', capability: 'list', param: 'x' }];
    for (const condition of [
      '(:x is null or id = :x) and id > :needed',
      'id > :needed and (:x IS NULL OR id between :x and 5)',
    ])
      expect([condition, await adviceOn(driver, `select id from t where ${condition}`)]).toEqual([
        condition,
        found,
      ]);
    for (const sql of [
      'select id from t where (:needed is null or id = :needed) and id = :x',
      'select id from t where (:x is null or id = :x) or id > :needed',
      'select id from t where not (:x is null or id = :x) and id > :needed',
      'select id from t where (:x is null or id = 5) and id > :needed',
      'select id from t where (:x is not null or id = :x) and id > :needed',
      'select id from t where id in (select id from t where (:x is null or id = :x)) and id > :needed',
      'select id from t where id > :needed group by id having (:x is null or id = :x)',
    ])
      expect([sql, await adviceOn(driver, sql)]).toEqual([sql, []]);
  },
);
