import { expect, test } from 'vitest';
import { callOf, capabilityOf, textOf } from '../conformance/capability.testing.ts';
import { openScene } from './scene.testing.ts';

/** In the order of time, each in another form. */
const TIMES = [
  '2024-02-29',
  '2024-02-29T09:00:00Z',
  '2024-02-29 11:59:59.900',
  '2024-02-29T14:00:00.250+02:00',
  '2024-02-29 12:00:00.750',
  '2024-02-29T12:30Z',
  '2024-02-29T23:00:00-02:00',
];

test('what the warning about times says to write finds times of every form', async () => {
  const scene = await openScene();
  scene.execute(`create table visit (id integer primary key, at text);
    insert into visit values ${TIMES.map((at, id) => `(${id}, '${at}')`).join(', ')}`);
  const condition = async (sql: string, type: 'date' | 'datetime', value: string): Promise<unknown> => {
    const capability = capabilityOf(`select group_concat(id) as a from visit where ${sql}`, {
      params: { p: { type } },
      result: { a: 'string' },
    });
    const query = await scene.driver.prepare(capability);
    const rows: unknown = JSON.parse(textOf((await query.run(callOf({ p: value }))).rows));
    return Reflect.get(Object(rows), 0);
  };
  const since = "datetime(at, 'subsec') >= datetime(:p, 'subsec')";
  expect(await condition(since, 'datetime', '2024-02-29T12:00:00Z')).toEqual({ a: '3,4,5,6' });
  expect(await condition(since, 'datetime', '2024-02-29T12:00:00.5Z')).toEqual({ a: '4,5,6' });
  expect(await condition(since, 'datetime', '2024-02-29T14:30:00+02:00')).toEqual({ a: '5,6' });
  expect(await condition('date(at) >= :p', 'date', '2024-03-01')).toEqual({ a: '6' });
  expect(await condition('date(at) = :p', 'date', '2024-02-29')).toEqual({ a: '0,1,2,3,4,5' });
});
