import { randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import type { CapabilitySpec } from '../../config/capability-file.ts';
import { capabilityOfSpec, walk } from '../conformance/clauses/lists.testing.ts';
import { MOVING, walksBesideWrites } from '../conformance/clauses/walks.testing.ts';
import { openScene } from './scene.testing.ts';

/** A long attack asks for more. */
const PAGES = Number(process.env['SVC_TEST_PAGES'] ?? 150);

const FIELDS: CapabilitySpec['result'] = {
  id: { type: 'integer', nullable: false },
  text: { type: 'string', nullable: false },
};
/** Node.js 22 reads a text up to its first NUL character only. */
const endsAtNul = Number(process.versions.node.split('.')[0]) < 24;

test('pages by texts with NUL characters are the whole list, or fail where Node.js cannot read the text', async () => {
  const scene = await openScene();
  scene.execute(`create table note (id integer primary key, text text not null);
    insert into note values (1, 'a'), (2, 'a' || char(0)), (3, 'a' || char(0) || 'b'), (4, 'a' || char(1)), (5, 'b')`);
  for (const maxRows of [1, 2, 3]) {
    const capability = capabilityOfSpec({
      sql: 'select id, text from note',
      sort: { by: 'text' },
      paging: 'id',
      result: FIELDS,
      policy: { max_rows: maxRows },
    });
    const walked = walk(await scene.driver.prepare(capability), capability);
    if (endsAtNul) {
      await expect(walked).rejects.toMatchObject({ kind: 'failed' });
    } else {
      expect((await walked).map(({ id }) => id)).toEqual([1, 2, 3, 4, 5]);
    }
  }
});

test('texts that NOCASE holds for equal because it ignores what follows a NUL character are tied', async () => {
  const scene = await openScene();
  scene.execute(`create table note (id integer, text text not null collate nocase);
    insert into note values (1, 'a' || char(0) || 'b'), (2, 'A' || char(0) || 'c'), (3, 'b')`);
  const capability = capabilityOfSpec({
    sql: 'select id, text from note',
    paging: 'text',
    result: FIELDS,
    policy: { max_rows: 1 },
  });
  const walked = walk(await scene.driver.prepare(capability), capability);
  await expect(walked).rejects.toMatchObject(
    endsAtNul ? { kind: 'failed' } : { kind: 'tied', message: 'text' },
  );
});

test('a filter that reads a view with a function that may answer differently is refused', async () => {
  const scene = await openScene();
  scene.execute('create view luck as select random() as number');
  const refused = 'calls something that may answer differently for the same row: a filter must not';
  for (const [sql, expected] of [
    ['select id from book where {filters}', [refused]],
    // The statement around it calls such a function in any case.
    ['select b.id from book b, luck l where {filters} and l.number <> 0', []],
  ] as const) {
    const capability = capabilityOfSpec({
      sql,
      params: { p: { type: 'integer', filter: 'id = :p and exists (select 1 from luck where number > id)' } },
      result: { id: { type: 'integer' } },
    });
    expect(await scene.problems(capability)).toEqual(expected);
  }
});

test('while another connection writes, each row that stays is seen once, and in its place', async () => {
  const scene = await openScene();
  scene.execute(`${MOVING.join('; ')}; create index by_size on moving (size, id)`);
  const writer = scene.writer();
  const { pages, writes, wrong } = await walksBesideWrites(
    scene.driver,
    (...statements) => writer.exec(statements.join('; ')),
    { most: PAGES, seed: randomInt(2 ** 31) },
  );
  expect(wrong).toEqual([]);
  expect(Math.min(pages, writes)).toBeGreaterThan(100);
}, 600_000);
