import { expect, test } from 'vitest';
import { capabilityOf } from '../../conformance/capability.testing.ts';
import { verifier } from '../verifier.ts';

async function warnedOf(condition: string): Promise<readonly string[]> {
  const capability = capabilityOf(`select id as a from visit where ${condition}`, {
    params: { t: { type: 'datetime' }, d: { type: 'date' }, s: { type: 'string' } },
  });
  // A statement that leaves out a parameter is at fault, and a fault has no warnings beside it.
  const used = capability.params.filter(({ name }) => condition.includes(`:${name}`));
  const warnings = await verifier.findWarnings([{ ...capability, params: used }]);
  return warnings.map(({ path }) => path.replace('capabilities.sample.params.', ''));
}

test.each([
  ['at >= :t', ['t']],
  ['at>=:t', ['t']],
  ['v.at < :t', ['t']],
  [':t <= at', ['t']],
  [':t <= v.at and id > 3', ['t']],
  ['at between :t and :t', ['t']],
  ['at not between :d and :t', ['t', 'd']],
  ['at in (:t, :t)', ['t']],
  ['at not in (:d)', ['d']],
  ['at is :d', ['d']],
  ['at is not :d', ['d']],
  ['at <> :d', ['d']],
  ['"at" == :t', ['t']],
  ['(at, id) > (:t, 3)', ['t']],
  ['(id, at) > (3, :t)', ['t']],
  ['(id, datetime(at)) > (3, :t)', []],
  ['julianday(at) > :t', ['t']],
  ['unixepoch(at) > :t', ['t']],
  ['date(at) >= :t', ['t']],
  ['datetime(at) >= :d', ['d']],
  ["strftime('%Y', at) = :d", ['d']],
  ['coalesce(at, born) >= :t', ['t']],
  ['datetime(at) >= :t and at >= :t', ['t']],
  ['datetime(at) >= :t', []],
  [':t > datetime(at)', []],
  ["datetime(at, 'subsec') >= datetime(:t, 'subsec')", []],
  ['datetime(at) between :t and :t', []],
  ['date(at) in (:d)', []],
  ['date(at) = :d', []],
  ['(:t is null or datetime(at) >= :t)', []],
  ['julianday(at) > julianday(:t)', []],
  ['name = :s', []],
])('%s: %j', async (condition, names) => {
  expect((await warnedOf(condition)).toSorted()).toEqual(names.toSorted());
});
