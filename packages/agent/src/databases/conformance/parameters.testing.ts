import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { PARAM_TYPES, type ParamSchema } from '../../capabilities/model.ts';
import { compileParameters } from '../../capabilities/parameters.ts';
import { resultTypeOf } from './dialect.testing.ts';
import { callOf, capabilityOf, textOf } from './capability.testing.ts';
import type { Suite } from './tested-driver.testing.ts';

/** Texts that a driver which puts values into SQL or into a literal would change. */
const AWKWARD_TEXTS = [
  `it's "q"`,
  String.raw`back\slash\'`,
  '',
  'NULL',
  '{}',
  'a,b',
  'new\nline\r\ttab',
  'é😀',
  '--',
  '$1 ?1 ? :v @v %s ${v}',
  ' ',
  "'; drop table book; --",
];

/** A value of each type, and the text form in which it has to come back where that is another one. */
const VALUES: readonly (readonly [schema: ParamSchema, value: unknown, givenBack?: unknown])[] = [
  [{ type: 'integer' }, Number.MAX_SAFE_INTEGER],
  [{ type: 'integer' }, Number.MIN_SAFE_INTEGER],
  [{ type: 'integer' }, 0],
  [{ type: 'number' }, -0.1],
  [{ type: 'number' }, 1e21],
  ...AWKWARD_TEXTS.map((text) => [{ type: 'string' }, text] as const),
  [{ type: 'boolean' }, true],
  [{ type: 'boolean' }, false],
  [{ type: 'date' }, '2024-02-29'],
  [{ type: 'datetime' }, '2024-02-29T12:00:00.25+02:00', '2024-02-29T10:00:00.25+00:00'],
  [{ type: 'uuid' }, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
  [{ type: 'array', items: { type: 'integer' } }, []],
  [{ type: 'array', items: { type: 'integer' } }, [3, null, -1]],
  [{ type: 'array', items: { type: 'number' } }, [0.5, 2]],
  [{ type: 'array', items: { type: 'boolean' } }, [true, false]],
  [{ type: 'array', items: { type: 'date' } }, ['2024-02-29']],
  [{ type: 'array', items: { type: 'string' } }, [...AWKWARD_TEXTS, null]],
  [{ type: 'object' }, {}],
  [{ type: 'object' }, { b: [1, null, { c: "'" }], é: { '"': String.raw`\n` } }],
];

/** As callers write them. A double keeps none. */
const LONG_VALUES: readonly (readonly [schema: ParamSchema, text: string])[] = [
  [{ type: 'integer' }, '9007199254740993'],
  [{ type: 'integer' }, '9223372036854775807'],
  [{ type: 'integer' }, '-9223372036854775808'],
  [{ type: 'array', items: { type: 'integer' } }, '[1,9007199254740993,-9223372036854775808]'],
  [{ type: 'object' }, '{"a":[9007199254740993]}'],
];

export function describeParameters({ dialect, shared }: Suite): void {
  describe('parameters', () => {
    test('a value of each type comes back as it was given', async () => {
      expect(new Set(VALUES.map(([{ type }]) => type))).toEqual(new Set(PARAM_TYPES));
      const driver = shared();
      const came = await Promise.all(
        VALUES.map(async ([schema, value]) => {
          const query = await driver.prepare(
            capabilityOf(`select ${dialect.param('v', schema)} as a`, {
              params: { v: schema },
              result: { a: resultTypeOf(schema) },
            }),
          );
          const rows: unknown = JSON.parse(textOf((await query.run(callOf({ v: value }))).rows));
          return [schema, rows];
        }),
      );
      expect(came).toEqual(VALUES.map(([schema, value, givenBack = value]) => [schema, [{ a: givenBack }]]));
    });

    test.each(LONG_VALUES)('%j comes back with all digits: %s', async (schema, text) => {
      const capability = capabilityOf(`select ${dialect.param('v', schema)} as a`, {
        params: { v: schema },
        result: { a: resultTypeOf(schema) },
      });
      const values = compileParameters(capability)(Buffer.from(`{"v":${text}}`));
      const rows = await shared().rowsOf(capability, values);
      expect(rows.replaceAll(' ', '')).toBe(`[{"a":${text}}]`);
    });

    test('integers beyond 2^63-1 are bound exactly or refused by their bounds', async () => {
      const driver = shared();
      for (const [schema, text, place] of [
        [{ type: 'integer' }, '18446744073709551615', ''],
        [{ type: 'array', items: { type: 'integer' } }, '[1,9223372036854775808]', '[1]'],
      ] as const) {
        const capability = capabilityOf(`select ${dialect.param('v', schema)} as a`, {
          params: { v: schema },
          result: { a: resultTypeOf(schema) },
        });
        const query = await driver.prepare(capability);
        const values = compileParameters(capability)(Buffer.from(`{"v":${text}}`));
        const ran = query.run(callOf(values));
        if (dialect.hasUnsignedIntegers) {
          expect(textOf((await ran).rows).replaceAll(' ', '')).toBe(`[{"a":${text}}]`);
        } else {
          await expect(ran).rejects.toMatchObject({
            kind: 'invalid_params',
            advice: `v${place}: must be between -9223372036854775808 and 9223372036854775807`,
          });
        }
      }
    });

    test('integers of the file beyond 2^63-1 are faults where the database has none', async () => {
      const beyond = 2 ** 63;
      const presets: readonly ParamSchema[] = [
        { type: 'integer', default: beyond },
        { type: 'integer', enum: [1, beyond] },
        { type: 'array', items: { type: 'integer' }, default: [1, beyond] },
        { type: 'array', items: { type: 'integer', enum: [beyond] } },
      ];
      for (const schema of presets) {
        const { faults } = await shared().verifier.verify([
          capabilityOf(`select ${dialect.param('v', schema)} as a`, {
            params: { v: schema },
            result: { a: resultTypeOf(schema) },
          }),
        ]);
        const fault = {
          path: 'capabilities.sample.params.v',
          position: { line: 100, column: 3 },
          message: expect.stringContaining('must be between -9223372036854775808 and 9223372036854775807'),
        };
        expect([schema, faults]).toMatchObject([schema, dialect.hasUnsignedIntegers ? [] : [fault]]);
      }
    });

    test('null and absent are NULL, of each type, and a declared default is left to the caller', async () => {
      const driver = shared();
      const schemas: readonly ParamSchema[] = [
        ...PARAM_TYPES.map((type): ParamSchema => ({ type })),
        { type: 'integer', default: 7 },
        { type: 'string', default: 'given' },
      ];
      const names = schemas.map((_, index) => `p${index}`);
      const columns = schemas.map((schema, index) => `${dialect.param(`p${index}`, schema)} as p${index}`);
      const query = await driver.prepare(
        capabilityOf(`select ${columns.join(', ')}`, {
          params: Object.fromEntries(schemas.map((schema, index) => [`p${index}`, schema])),
          result: Object.fromEntries(schemas.map((schema, index) => [`p${index}`, resultTypeOf(schema)])),
        }),
      );
      const nulls = Object.fromEntries(names.map((name) => [name, null]));
      for (const values of [{}, nulls]) {
        expect(JSON.parse(textOf((await query.run(callOf(values))).rows))).toEqual([nulls]);
      }
    });

    test('one parameter may stand in several places', async () => {
      const driver = shared();
      const capability = capabilityOf(
        'select id as a from book where id >= :n and id < :n + 2 and title <> :t and :t = :t order by id',
        { params: { n: { type: 'integer' }, t: { type: 'string' } } },
      );
      expect(await driver.rowsOf(capability, { n: 3, t: 'book 4' })).toBe('[{"a":3}]');
    });

    test('what looks like a parameter in a text or a comment is none', async () => {
      const driver = shared();
      const capability = capabilityOf("select ':v' as a /* :v */ from book where id = 1 -- :v", {
        result: { a: 'string' },
      });
      expect(await driver.rowsOf(capability)).toBe('[{"a":":v"}]');
    });

    test('a value that the database does not take is told by the name of the parameter', async () => {
      const { sql, schema, value } = dialect.refusedValue;
      const driver = shared();
      const query = await driver.prepare(
        capabilityOf(sql, { params: { v: schema }, result: { a: resultTypeOf(schema) } }),
      );
      const error: unknown = await query.run(callOf({ v: value })).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ kind: 'invalid_params', advice: expect.stringMatching(/^v: /) });
      expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain(String(value));
    });
  });
}
