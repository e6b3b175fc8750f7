import { describe, expect, onTestFinished, test } from 'vitest';
import type { Capability } from '../../capabilities/model.ts';
import { DRIVER_NAMES } from '../drivers.ts';
import type { VerificationFault } from '../driver/errors.ts';
import { callOf, capabilityOf, numbers, type CapabilityOptions } from './capability.testing.ts';
import { configOf, type Suite } from './tested-driver.testing.ts';

/** Stands in the SQL of faulty capabilities, and so must not stand in what standard error is told. */
const MARKER = 'zq7marker';
const SQL = { path: 'capabilities.sample.sql', position: { line: 1, column: 7 } };

const allBooks = capabilityOf('select id as a from book order by id');
const ALL_BOOKS = JSON.stringify(numbers(50).map((a) => ({ a })));

/** Faults that every database finds in the same SQL, and the place that each has to name. */
const FAULTY: readonly (readonly [
  title: string,
  sql: string,
  options: CapabilityOptions,
  places: readonly Pick<VerificationFault, 'path' | 'position'>[],
])[] = [
  [
    'a field that the SQL does not produce',
    `select id as ${MARKER}, id as a from book`,
    { result: { a: 'integer', b: 'integer' } },
    [{ path: 'capabilities.sample.result.b', position: { line: 201, column: 5 } }],
  ],
  ['two columns of the name of a field', `select ${MARKER}.id as a, 2 as a from book ${MARKER}`, {}, [SQL]],
  ['two columns of another name', `select 1 as a, 2 as ${MARKER}, 3 as ${MARKER}`, {}, [SQL]],
  ['a column that does not exist', `select ${MARKER} as a from book`, {}, [SQL]],
  ['a table that does not exist', `select id as a from ${MARKER}`, {}, [SQL]],
  ['what is no SQL', `select 1 as a frm ${MARKER} whre`, {}, [SQL]],
  ['a parameter that is not declared', `select id as a from book ${MARKER} where id = :n`, {}, [SQL]],
  [
    'a parameter that the SQL does not use',
    `select ${MARKER}.id as a from book ${MARKER}`,
    { params: { n: { type: 'integer' } } },
    [{ path: 'capabilities.sample.params.n', position: { line: 100, column: 3 } }],
  ],
];

export function describeVerification(suite: Suite): void {
  const { driver, dialect, shared } = suite;

  describe('the section of the file', () => {
    test('is of the keys that the driver declares', () => {
      const declared = Object.keys(driver.section.properties);
      const { section, texts } = suite.server.reader;
      const { secrets, certificates } = driver;
      expect(DRIVER_NAMES).toContain(section.driver);
      expect([...declared, 'driver', ...secrets, ...certificates]).toEqual(
        expect.arrayContaining([...Object.keys(section), ...Object.keys(texts)]),
      );
      expect(Object.keys(section)).toEqual(expect.arrayContaining([...driver.section.required]));
      expect(declared).toEqual(
        expect.arrayContaining([...secrets, ...secrets.map((key) => `${key}_file`), ...certificates]),
      );
      expect(configOf(driver, suite.server.reader, 3)).toMatchObject({
        driver: section.driver,
        maxConnections: 3,
        requireReadonlyAccount: dialect.requiresReadonlyAccount,
      });
    });
  });

  describe('verification', () => {
    test('hands over plain data, in the order of the capabilities', async () => {
      const { verifier } = shared();
      await verifier.ping();
      const capabilities = ['one', 'two', 'three'].map((name) =>
        capabilityOf('select id as a from book where id = :n', { name, params: { n: { type: 'integer' } } }),
      );
      const { prepared, capabilities: passed, faults } = await verifier.verify(capabilities);
      expect(prepared.map(({ capability }) => capability)).toEqual(['one', 'two', 'three']);
      expect(passed.map(({ name }) => name)).toEqual(['one', 'two', 'three']);
      expect(faults).toEqual([]);
      expect(structuredClone(prepared)).toStrictEqual(prepared);
    });

    test.each(FAULTY)(
      'refuses %s, by its place and without its SQL',
      async (_title, sql, options, places) => {
        const { verifier } = shared();
        const { prepared, faults } = await verifier.verify([capabilityOf(sql, options)]);
        expect(prepared).toEqual([]);
        expect(faults.map(({ path, position }) => ({ path, position }))).toEqual(places);
        for (const { message } of faults) expect(message).not.toMatch(new RegExp(`${MARKER}|select`, 'i'));
      },
    );

    test('refuses each column that does not fit its declared type', async () => {
      const { verifier } = shared();
      const capabilities = dialect.misfits.map(([type, expression], index) =>
        capabilityOf(`select ${expression} as a from book ${MARKER}`, {
          name: `misfit_${index}`,
          result: { a: type },
        }),
      );
      const { faults } = await verifier.verify(capabilities);
      expect(faults.map(({ path, position }) => ({ path, position }))).toEqual(
        capabilities.map(({ name }) => ({
          path: `capabilities.${name}.result.a`,
          position: { line: 200, column: 5 },
        })),
      );
      for (const { message } of faults) expect(message).not.toMatch(new RegExp(`${MARKER}|select`, 'i'));
    });

    test('tells every fault of every capability', async () => {
      const { verifier } = shared();
      const { faults, prepared, capabilities } = await verifier.verify([
        capabilityOf('delete from book', { name: 'one' }),
        capabilityOf('select 1 as a', { name: 'two' }),
        capabilityOf('select 1 as b', { name: 'three', result: { a: 'integer', c: 'integer' } }),
        capabilityOf('select id as a from nowhere', { name: 'four' }),
      ]);
      expect(faults.map(({ path }) => path)).toEqual([
        'capabilities.one.sql',
        'capabilities.three.result.a',
        'capabilities.three.result.c',
        'capabilities.four.sql',
      ]);
      expect(prepared.map(({ capability }) => capability)).toEqual(['two']);
      expect(capabilities.map(({ name }) => name)).toEqual(['two']);
    });

    test('refuses whatever does more than read, and nothing is written', async () => {
      const tested = shared();
      const capabilities = dialect.writes.map((sql, index) =>
        capabilityOf(sql, { name: `write_${index}`, result: { a: 'integer' } }),
      );
      const { faults, prepared } = await tested.verifier.verify(capabilities);
      const sqlOf = (name: string): string =>
        capabilities.find((capability) => capability.name === name)?.sql ?? name;
      expect(prepared.map(({ capability }) => sqlOf(capability))).toEqual([]);
      const at = new Set(faults.map(({ path }) => path.split('.')[1]));
      expect([...at]).toEqual(capabilities.map(({ name }) => name));
      expect(await tested.rowsOf(allBooks)).toBe(ALL_BOOKS);
    });

    test.each(dialect.allowedWrites)(
      '$sql passes, but each call fails and writes nothing, where the database itself does not refuse it at once',
      async (statement) => {
        const tested = shared();
        const { faults } = await tested.verifier.verify([capabilityOf(statement)]);
        if (dialect.refusesAllowedWrites === true) {
          expect(faults).toMatchObject([{ message: expect.stringContaining('writes to the database') }]);
        } else {
          const query = await tested.prepare(capabilityOf(statement));
          await expect(query.run(callOf())).rejects.toMatchObject({ kind: 'failed' });
        }
        expect(await tested.rowsOf(allBooks)).toBe(ALL_BOOKS);
      },
    );
  });

  describe('without a database', () => {
    test('a statement is judged as it is written', async () => {
      const verifier = await driver.loadVerifier();
      const capabilities: readonly Capability[] = [
        capabilityOf('select id as a from book where id = :n', {
          name: 'good',
          params: { n: { type: 'integer' } },
        }),
        capabilityOf('delete from book', { name: 'writes' }),
        capabilityOf('select id as a from book where id = :n', { name: 'undeclared' }),
        capabilityOf('select id as a from book', { name: 'unused', params: { n: { type: 'integer' } } }),
      ];
      const faults = await verifier.readStatements(capabilities);
      expect(faults.map(({ path, position }) => ({ path, position }))).toEqual([
        { path: 'capabilities.writes.sql', position: { line: 1, column: 7 } },
        { path: 'capabilities.undeclared.sql', position: { line: 1, column: 7 } },
        { path: 'capabilities.unused.params.n', position: { line: 100, column: 3 } },
      ]);
    });

    test('what will fail for some values is a warning at the parameter', async () => {
      const verifier = await driver.loadVerifier();
      for (const sql of dialect.risky) {
        const risky = capabilityOf(sql, { params: { n: { type: 'integer' } } });
        const place = { path: 'capabilities.sample.params.n', position: { line: 100, column: 3 } };
        expect(await verifier.findWarnings([risky])).toMatchObject([place]);
        const bounded = capabilityOf(sql, { params: { n: { type: 'integer', minimum: 1, maximum: 10 } } });
        expect(await verifier.findWarnings([bounded])).toEqual([]);
      }
    });
  });

  describe('the audit', () => {
    test('has nothing against an account that only reads', async () => {
      const { verifier } = shared();
      const allowFunctions = dialect.grantedFunctions ?? [];
      expect(await verifier.auditAccount([{ ...allBooks, allowFunctions }])).toEqual([]);
    });

    test('says of an account that may write what it may do, and what helps', async () => {
      const verifier = (await driver.loadVerifier()).open(configOf(driver, suite.server.writer, 1));
      onTestFinished(() => verifier.close());
      const findings = await verifier.auditAccount([allBooks]);
      expect(findings.length).toBeGreaterThan(0);
      for (const finding of findings) {
        expect(finding).toEqual({
          problem: expect.stringMatching(/\S/),
          remedy: expect.stringMatching(/\S/),
        });
      }
    });
  });
}
