import { describe, expect, test } from 'vitest';
import { fileText, load } from '../config/load.fixture.ts';
import type { Capability } from '../capabilities/model.ts';
import type { ClauseAdvice } from '../databases/driver/driver.ts';
import { LEVELS } from './finding.ts';
import { lintCapabilities } from './lint-capabilities.ts';
import { fails, jsonReport, textReport } from './lint-report.ts';

/** About which lint has nothing to say; each test spoils one thing. */
const GOOD = `
  find_film:
    description: Finds films by a word of their title.
    sql: SELECT title FROM film WHERE title LIKE :word ORDER BY title
    params: { word: { type: string, maxLength: 40, description: A word. } }
    policy: { max_bytes: 64KB }
    result: { title: { type: string, description: The title. } }
    examples: [{ params: { word: dinosaur } }]
`;

function capabilitiesOf(text: string): readonly Capability[] {
  const loaded = load(fileText({ capabilities: `capabilities:${text}` }));
  if ('faults' in loaded) expect.unreachable(JSON.stringify(loaded.faults));
  return loaded.config.capabilities;
}

function lines(
  text: string,
  unordered: readonly string[] = [],
  ofClauses: readonly ClauseAdvice[] = [],
): readonly string[] {
  return lintCapabilities(capabilitiesOf(text), { warnings: [], unordered, ofClauses }).map(
    ({ level, rule, path, position }) => `${position?.line ?? 0} ${level} ${rule} ${path}`,
  );
}

const spoilt = (from: string, to: string): readonly string[] => lines(GOOD.replace(from, to));

describe('findings', { tags: ['command:lint'] }, () => {
  test('are none where nothing is to be said', () => {
    expect(lines(GOOD)).toEqual([]);
  });

  test.each([
    [
      'description: Finds films by a word of their title.',
      'description: ""',
      '5 warn description-missing capabilities.find_film',
    ],
    [', description: A word.', '', '8 advice description-missing capabilities.find_film.params.word'],
    [', description: The title.', '', '10 advice description-missing capabilities.find_film.result'],
    ['maxLength: 40, ', '', '8 warn text-unbounded capabilities.find_film.params.word'],
    [
      '    examples: [{ params: { word: dinosaur } }]\n',
      '',
      '5 advice example-missing capabilities.find_film',
    ],
    ['max_bytes: 64KB', 'max_rows: 7', '5 advice result-size capabilities.find_film'],
    ['A word.', 'A word. '.repeat(300), '5 warn tool-size capabilities.find_film'],
  ])('%s -> %s', (from, to, line) => {
    expect(spoilt(from, to)).toEqual([line]);
  });

  test.each([
    ['maxLength: 40', 'enum: [a, dinosaur]'],
    ['maxLength: 40', 'format: uuid'],
  ])('are none for %s -> %s, which is bounded, too', (from, to) => {
    const example = GOOD.replace('word: dinosaur', to.includes('uuid') ? 'word: null' : 'word: a');
    expect(lines(example.replace(from, to))).toEqual([]);
  });

  test('look at the items of lists, too', () => {
    const list = GOOD.replace('word: dinosaur', 'word: null').replace(
      'string, maxLength: 40',
      'array, items: { type: string }',
    );
    expect(lines(list)).toEqual(['8 warn text-unbounded capabilities.find_film.params.word']);
  });

  test('name capabilities without order, unless they give one row', () => {
    expect(lines(GOOD, ['find_film'])).toEqual(['7 warn order-missing capabilities.find_film.sql']);
    expect(lines(GOOD.replace('max_bytes', 'max_rows: 1, max_bytes'), ['find_film'])).toEqual([]);
  });

  test('name what the database could do with less, at the parameter or the order', () => {
    const sorted = GOOD.replace(' ORDER BY title', '').replace(
      '    examples:',
      '    sort: { by_title: title, reverse: title desc }\n    examples:',
    );
    const capability = 'find_film';
    expect(
      lines(
        sorted,
        [],
        [
          { capability, kind: 'optional_filter', param: 'word' },
          { capability, kind: 'unindexed_sort', order: 'reverse', rows: 12_345.6 },
          { capability, kind: 'nullable_sort', order: 'by_title', field: 'title' },
        ],
      ),
    ).toEqual([
      '8 advice optional-filter capabilities.find_film.params.word',
      '11 advice nullable-sort capabilities.find_film.sort.by_title',
      '11 advice unindexed-sort capabilities.find_film.sort.reverse',
    ]);
    const paged = sorted
      .replace('sort: { by_title: title, reverse: title desc }', 'paging: title')
      .replace('description: The title.', 'nullable: false, description: The title.');
    expect(lines(paged, [], [{ capability, kind: 'unindexed_sort', order: '', rows: 10_000 }])).toEqual([
      '11 advice unindexed-sort capabilities.find_film.paging',
    ]);
  });

  test('name fields that look like credentials or personal', () => {
    const field = (name: string): readonly string[] =>
      spoilt(
        'result: { title: { type: string, description: The title. } }',
        `result: { ${name}: { type: string, description: What it is. } }`,
      );
    expect(field('password_hash')).toEqual([
      '10 error personal-field capabilities.find_film.result.password_hash',
    ]);
    expect(field('email')).toEqual(['10 warn personal-field capabilities.find_film.result.email']);
    expect(field('customer_name')).toEqual([
      '10 warn personal-field capabilities.find_film.result.customer_name',
    ]);
    for (const harmless of ['parent_name', 'ship_via_company_name', 'customer_type_name'])
      expect(field(harmless)).toEqual([]);
  });

  test('name those whose names are a letter apart, but for numbers', () => {
    const named = (...names: readonly string[]): readonly string[] =>
      lines(names.map((name) => GOOD.replace('find_film', name)).join(''));
    expect(named('get_film', 'get_films')).toEqual(['13 warn name-alike capabilities.get_films']);
    expect(named('get_film', 'get_flim')).toEqual(['13 warn name-alike capabilities.get_flim']);
    expect(named('report_1', 'report_12', 'get_film', 'get_actor')).toEqual([]);
  });

  test('say when all tools together are too many tokens', () => {
    const many = Array.from({ length: 120 }, (_, at) =>
      GOOD.replace('find_film', `find_film_${at}_by_word`).replace('A word.', 'A word. '.repeat(30)),
    ).join('');
    expect(lines(many)).toEqual(['5 warn list-size capabilities']);
  });

  test('only advise where they are too many for the schemas of their results', () => {
    const fields = Array.from(
      { length: 30 },
      (_, at) => `of_actor_${at}: { type: string, description: An actor. }`,
    );
    const wide = GOOD.replace('result: { ', `result: { ${fields.join(', ')}, `);
    const many = Array.from({ length: 20 }, (_, at) => wide.replace('find_film', `find_film_${at}_by_word`));
    expect(lines(many.join('')).filter((line) => line.includes('list-size'))).toEqual([
      '5 advice list-size capabilities',
    ]);
  });

  test('are one for all capabilities where many lack what is only advised', () => {
    const bare = GOOD.replace('    examples: [{ params: { word: dinosaur } }]\n', '')
      .replace(', description: A word.', '')
      .replace(', description: The title.', '');
    const names = Array.from({ length: 6 }, (_, at) => `find_film_${at}`);
    const found = lintCapabilities(
      capabilitiesOf(names.map((name) => bare.replace('find_film', name)).join('')),
      { warnings: [], unordered: [], ofClauses: [] },
    );
    expect(found.map(({ rule, path, capability }) => `${rule} ${path} ${capability}`)).toEqual([
      'example-missing capabilities ',
      'description-missing capabilities ',
      'description-missing capabilities ',
    ]);
    for (const finding of found) expect(finding.capabilities).toEqual(names);
    expect(found[1]?.message).toContain('`find_film_4.params.word`, 1 more)');
    expect(JSON.parse(jsonReport('c.yaml', 'warn', found, []))).toMatchObject({
      findings: [{ capabilities: names }, { capabilities: names }, { capabilities: names }],
    });
    expect(
      lines(
        names
          .slice(1)
          .map((name) => bare.replace('find_film', name))
          .join(''),
      ).length,
    ).toBe(15);
  });

  test('ask for no description of a parameter that is a field with one', () => {
    const same = GOOD.replace(', description: A word.', '').replace('{ title: {', '{ word: {');
    expect(lines(same)).toEqual([]);
  });

  test('leave out what is written for callers where they are not shown it', () => {
    const hidden = GOOD.replace('description: Finds films by a word of their title.', '')
      .replace('    examples: [{ params: { word: dinosaur } }]\n', '')
      .replace('policy: { max_bytes: 64KB }', 'expose_in_openapi: false');
    expect(lines(hidden)).toEqual([]);
  });

  test('have the warnings of the checks among them', () => {
    const warning = { path: 'capabilities.find_film.params.word', message: 'may fail' };
    const told = { path: 'capabilities.find_film.description', message: 'is missing' };
    expect(
      lintCapabilities(capabilitiesOf(GOOD), { warnings: [warning, told], unordered: [], ofClauses: [] }),
    ).toEqual([{ ...warning, capability: 'find_film', rule: 'check', level: 'warn' }]);
  });
});

describe('the report', { tags: ['command:lint'] }, () => {
  const findings = lintCapabilities(capabilitiesOf(GOOD.replace('maxLength: 40, ', '')), {
    warnings: [],
    unordered: [],
    ofClauses: [],
  });

  test('fails at the level that is asked for and above it', () => {
    expect(LEVELS.map((level) => fails(findings, level))).toEqual([false, true, true]);
    expect(fails([], 'advice')).toBe(false);
  });

  test('has a line for each, and the sum', () => {
    expect(textReport('c.yaml', findings)).toBe(
      [
        'c.yaml:8:15  warn text-unbounded  capabilities.find_film.params.word: may be of any length: give it a `maxLength`',
        '0 errors, 1 warning, 0 advice\n',
      ].join('\n'),
    );
    expect(textReport('c.yaml', [])).toBe('c.yaml: nothing to say\n');
  });

  test('is one JSON object for programs', () => {
    expect(JSON.parse(jsonReport('c.yaml', 'warn', findings, []))).toEqual({
      ok: false,
      file: 'c.yaml',
      fail_on: 'warn',
      counts: { error: 0, warn: 1, advice: 0 },
      findings: [
        {
          capability: 'find_film',
          rule: 'text-unbounded',
          level: 'warn',
          line: 8,
          column: 15,
          path: 'capabilities.find_film.params.word',
          message: 'may be of any length: give it a `maxLength`',
        },
      ],
      faults: [],
    });
    const fault = { path: 'capabilities', message: 'is required' };
    expect(JSON.parse(jsonReport('c.yaml', 'warn', [], [fault]))).toMatchObject({
      ok: false,
      faults: [fault],
    });
  });
});
