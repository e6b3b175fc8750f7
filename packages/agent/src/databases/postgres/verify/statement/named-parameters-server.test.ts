import { testDatabase } from '@svc/testkit';
import fc from 'fast-check';
import { loadModule } from 'libpg-query';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ParamSchema } from '../../../../capabilities/model.ts';
import { capabilityOf } from '../../capability.fixture.ts';
import { readStatement } from './read-statement.ts';
import { bindValue, sqlTypeOf } from '../../execute/bind-values.ts';

const PARAMS = {
  n: { type: 'integer' },
  p: { type: 'string' },
  limit_: { type: 'integer' },
  select: { type: 'string' },
  l: { type: 'array', items: { type: 'integer' } },
} as const satisfies Readonly<Record<string, ParamSchema>>;
type Name = keyof typeof PARAMS;
const NAMES = Object.keys(PARAMS).filter((name): name is Name => name in PARAMS);

let client: pg.Client;
beforeAll(async () => {
  await loadModule();
  client = new pg.Client({ connectionString: (await testDatabase()).url });
  await client.connect();
  await client.query("set search_path = pg_catalog; set timezone = 'UTC'");
});
afterAll(() => client.end());

function declared(names: readonly Name[]): Readonly<Record<string, ParamSchema>> {
  return Object.fromEntries(names.map((name) => [name, PARAMS[name]]));
}

/** How many parameters the server finds in a statement; undefined when it refuses the statement. */
async function parametersOnServer(text: string): Promise<number | undefined> {
  try {
    await client.query(`prepare sample as ${text}`);
  } catch {
    return undefined;
  }
  const { rows } = await client.query<{ n: number }>(
    "select cardinality(parameter_types) as n from pg_prepared_statements where name = 'sample'",
  );
  await client.query('deallocate sample');
  return rows[0]?.n;
}

/** Pieces of SQL; `@n`, `@p` and `@l` stand for a parameter of that kind, written as a reference or as a literal. */
const EXPRESSIONS = [
  '@n',
  '(@n)',
  '-@n',
  '- -@n',
  '@n::text',
  '@n ::int8::text',
  '@n+@n',
  '1-@n',
  '1*-@n',
  '@p',
  "@p||'@'",
  "':n'||@p",
  "':p'':n'",
  String.raw`E'\':n'||@p||E'\\'`,
  String.raw`'\'||@p||'\'`,
  String.raw`U&'\003an \0027:p'||@p`,
  "U&'!003an' uescape '!'",
  "'a'\n':n'",
  '$$:n$$||@p',
  "$t$ ':p $$ :n $t$||@p||$é$:n$é$",
  "B'101'",
  "X'1F'",
  "N':n'",
  'array[@n,@n]',
  'array[[@n],[@n]]',
  '(array[1,2,3])[1:2]',
  '(array[1,2,3])[:]',
  '(array[1,2,3])[1 : 2]',
  '(array[1,2,3])[(@n)]',
  '(array[1,2,3])[1:(@n)]',
  '(array[array[@n,2],array[3,4]])[1:1]',
  '@n=any(@l)',
  '@l',
  '(@l)[1]',
  'make_interval(days:=@i)',
  'make_interval(days=>@i)',
  'make_interval(days :=@i,hours:=@i)',
  'case when @n>0 then @p else @p end',
  '(select @p)',
  '(select max(v) from (values(@n),(2))x(v))',
  '@p like @p',
  'coalesce(@p,@p)',
  '@p collate "C"',
  '@n between @n and @n',
  'row(@n,@p)',
  "interval '1:02'",
  "time '10:20'",
];
const GAPS = [
  '',
  ' ',
  '\n',
  '\r',
  '\f',
  '\t',
  '/*:n*/',
  '/* /* :p */ */',
  '-- :n\n',
  "--':p\r",
  '-- é😀\r\n',
];

const gap = fc.constantFrom(...GAPS);
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom("'", "''", '\\', '$$', ':n', '$1', '--', '/*', '*/', "\\'", 'é😀', '"', '\n', ';'),
);
const bindable = text.filter((value) => !/[\0\p{Cs}]/u.test(value));
const values = fc.record({
  n: fc.integer({ min: -9, max: 9 }),
  p: bindable,
  limit_: fc.integer({ min: -9, max: 9 }),
  select: bindable,
  l: fc.array(fc.integer({ min: -3, max: 3 }), { maxLength: 3 }),
});

/** One statement twice: with references, and with the values that they stand for as literals. */
const statement = fc
  .tuple(
    fc.array(fc.tuple(gap, fc.constantFrom(...EXPRESSIONS), gap), { minLength: 1, maxLength: 5 }),
    fc.infiniteStream(fc.boolean()),
    values,
  )
  .map(([pieces, choices, given]) => {
    const used = new Set<Name>();
    const write = (name: Name, cast: string): readonly [string, string] => {
      used.add(name);
      const bound = bindValue(PARAMS[name], given[name]) ?? '';
      return [`:${name}${cast}`, `(${pg.escapeLiteral(bound)}::${sqlTypeOf(PARAMS[name])})${cast}`];
    };
    const pick = (first: Name, second: Name): Name => (choices.next().value === true ? first : second);
    const sides = pieces.map(([before, expression, behind]) => {
      const parts = expression.split(/(@[npil])(?!\w)/).map((part): readonly [string, string] => {
        if (part === '@n') return write(pick('n', 'limit_'), '');
        if (part === '@p') return write(pick('p', 'select'), '');
        if (part === '@i') return write('n', '::int');
        if (part === '@l') return write('l', '');
        return [part, part];
      });
      const side = (index: 0 | 1): string => before + parts.map((part) => part[index]).join('') + behind;
      return [side(0), side(1)] as const;
    });
    const join = (index: 0 | 1): string => `select ${sides.map((side) => side[index]).join(',')}`;
    return { source: join(0), literal: join(1), given, used: NAMES.filter((name) => used.has(name)) };
  });

async function outcomeOf(query: pg.QueryArrayConfig): Promise<unknown> {
  try {
    return (await client.query({ ...query, rowMode: 'array' })).rows;
  } catch (error) {
    return error instanceof pg.DatabaseError ? error.code : error;
  }
}

test('a rewritten statement with its values does what it does with literals', async () => {
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(statement, async ({ source, literal, given, used }) => {
      const read = readStatement(capabilityOf(source, { params: declared(used) }));
      const expected = await outcomeOf({ text: literal, rowMode: 'array' });
      if (Array.isArray(expected)) answered += 1;
      if (!read.ok) {
        // Only what PostgreSQL refuses too: nothing here is ambiguous.
        expect([source, expected]).toEqual([source, '42601']);
        return;
      }
      const { rewritten, template } = read.read;
      const bound = template.params.map(({ name, schema }) =>
        bindValue(schema, Object.entries(given).find(([key]) => key === name)?.[1]),
      );
      expect(bound).toHaveLength(used.length);
      expect([source, await outcomeOf({ text: rewritten.text, values: bound, rowMode: 'array' })]).toEqual([
        source,
        expected,
      ]);
    }),
    { numRuns: 400 },
  );
  expect(answered).toBeGreaterThan(100);
});

const SOUP = fc.constantFrom(
  ':n',
  ':p',
  ':limit_',
  ':"n"',
  ':',
  '::',
  ':=',
  '=>',
  '::text',
  'n',
  'array',
  'array[',
  '[',
  ']',
  '(',
  ')',

  ',',
  '.',
  ';',
  '+',
  '-',
  '*',
  '||',
  '<:',
  '?',
  '@',
  '&',
  "'",
  "''",
  '"',
  "E'",
  "U&'",
  'U&"',
  "B'",
  "N'",

  '\\',
  "\\'",
  '$',
  '$$',
  '$t$',
  '$1',
  '$n$',
  '1',
  '1.',
  '1e',
  '0x1',
  '1_0',
  'é',
  '😀',
  '\u00a0',
  '\ufeff',

  '--',
  '/*',
  '*/',
  '\n',
  '\r',
  '\r\n',
  '\v',
  '\f',
  '\t',
  ' ',
  ' ',
  'as x',
  'from',
  'uescape',
  'null',
  'is',
  'and',
  'in',
  'upper',
  'upper:p',
  'count :n',
  'date/**/:p',
  '"abs":n',
);

/** Whether the server can read a text with each reference as a lone `$1`, whatever it then says of its types. */
async function readsBare(pieces: readonly Buffer[], references: readonly number[]): Promise<boolean> {
  const text = pieces.map(
    (piece, at) => `${piece.toString()}${at in references ? ` $${(references[at] ?? 0) + 1} ` : ''}`,
  );
  try {
    await client.query(`prepare bare as ${text.join('')}`);
  } catch (error) {
    return !(error instanceof pg.DatabaseError && error.code === '42601');
  }
  await client.query('deallocate bare');
  return true;
}

test('the server sees as many parameters as were put into any soup of tokens', async () => {
  let agreed = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(SOUP, { minLength: 1, maxLength: 12 }), async (parts) => {
      const sql = `select ${parts.join('')}`;
      // Each as it comes first in the order of declaration: what is not used is a fault that is not meant here.
      for (const names of [
        [],
        ['n'],
        ['p'],
        ['n', 'p'],
        ['n', 'limit_'],
      ] as const satisfies readonly Name[][]) {
        const read = readStatement(capabilityOf(sql, { params: declared([...names]) }));
        if (!read.ok) continue;
        const found = await parametersOnServer(read.read.rewritten.text);
        if (found === undefined) continue;
        agreed += 1;
        const { pieces, references } = read.read.template;
        expect([sql, await readsBare(pieces, references)]).toEqual([sql, true]);
        expect([sql, found]).toEqual([sql, names.length]);
      }
    }),
    { numRuns: 2500 },
  );
  expect(agreed).toBeGreaterThan(50);
});
