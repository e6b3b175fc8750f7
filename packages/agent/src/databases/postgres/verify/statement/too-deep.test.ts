import { expect, test } from 'vitest';
import { capabilityOf } from '../../capability.fixture.ts';
import { readCapabilities } from '../readable-capabilities.ts';

test(
  'without a database, too, SQL that nests too deep hides no other fault',
  { tags: ['sql:depth'] },
  async () => {
    const subselects = `${'select * from ('.repeat(2000)}select 1 as a${') q'.repeat(2000)}`;
    const operators = `select ${'1 + '.repeat(20_000)}1 as a`;
    const statements = { first: 'selec 1', subselects, operators, last: 'delete from book' };
    const faults = await readCapabilities(
      Object.entries(statements).map(([name, sql]) => capabilityOf(sql, { name })),
    );
    const tooDeep = expect.stringMatching(/^nests too deep to be checked: put fewer subselects/);
    expect(faults).toMatchObject([
      { path: 'capabilities.first.sql' },
      { path: 'capabilities.subselects.sql', message: tooDeep },
      { path: 'capabilities.operators.sql', message: tooDeep },
      { path: 'capabilities.last.sql' },
    ]);
  },
);
