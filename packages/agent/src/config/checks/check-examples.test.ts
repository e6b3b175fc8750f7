import { describe, expect, test } from 'vitest';
import { faultLines, fileText, load } from '../load.fixture.ts';
import type { Example } from '../../capabilities/example.ts';

/** A file whose one capability has this one example. */
function fileWith(example: string, sections: Readonly<Record<string, string>> = {}): string {
  return fileText({
    ...sections,
    capabilities: [
      'capabilities:',
      '  film:',
      '    sql: SELECT 1',
      '    params:',
      '      id: { type: integer, required: true, minimum: 1 }',
      '      tags: { type: array, items: { type: string, maxLength: 3 } }',
      '    result: { title: { type: string }, about: { type: object } }',
      '    examples:',
      `      - ${example}`,
    ].join('\n'),
  });
}

function exampleOf(text: string): Example | undefined {
  const loaded = load(text);
  if ('faults' in loaded) expect.unreachable(faultLines(loaded).join('\n'));
  return loaded.config.capabilities[0]?.examples?.[0];
}

describe('examples', { tags: ['capability:examples'] }, () => {
  test('are calls that have to succeed and are shown to callers, unless they say otherwise', () => {
    expect(exampleOf(fileWith('{ params: { id: 1 } }'))).toEqual({
      params: { id: 1 },
      expect: {},
      isPublished: true,
      position: { line: 12, column: 9 },
    });
    const expectation = '{ count: 1, rows: [{ title: A, about: { x: null } }], max_count: 2, max_ms: 3 }';
    expect(
      exampleOf(fileWith(`{ params: { id: 1, tags: null }, expect: ${expectation}, publish: false }`)),
    ).toMatchObject({
      expect: { count: 1, rows: [{ title: 'A', about: { x: null } }], max_count: 2, max_ms: 3 },
      isPublished: false,
    });
  });

  test('that fail are not shown, and their parameters may be wrong where that is what they show', () => {
    const wrong = '{ params: { id: 0, no: 1 }, expect: { error: AGENT_INVALID_PARAMS } }';
    expect(exampleOf(fileWith(wrong))).toMatchObject({ isPublished: false });
    const slow = '{ params: { id: 1 }, expect: { error: AGENT_QUERY_TIMEOUT, max_ms: 900 } }';
    expect(exampleOf(fileWith(slow))).toMatchObject({ isPublished: false });
  });

  test('name who calls', () => {
    expect(exampleOf(fileWith('{ params: { id: 1 }, as: north }'))).toHaveProperty('principal', {
      key_name: 'north',
    });
    const identity = 'identity: { trust: gateway }';
    const principal = '{ issuer: i, subject: s, client_id: c, claims: { org_id: a, roles: [b] } }';
    expect(
      exampleOf(fileWith(`{ params: { id: 1 }, principal: ${principal} }`, { identity })),
    ).toHaveProperty('principal', {
      issuer: 'i',
      subject: 's',
      client_id: 'c',
      claims: { org_id: 'a', roles: ['b'] },
    });
  });

  test.each([
    ['{ params: {} }', '12:11 capabilities.film.examples.0.params.id: is required'],
    ['{ params: { id: 0 } }', '12:25 capabilities.film.examples.0.params.id: must be >= 1'],
    [
      '{ params: { id: 1, tags: [abc, abcd] } }',
      '12:40 capabilities.film.examples.0.params.tags.1: must have at most 3 characters',
    ],
    [
      '{ params: { id: 1, tag: [] } }',
      '12:28 capabilities.film.examples.0.params.tag: no such parameter, did you mean `tags`?',
    ],
    [
      '{ params: { id: 1 }, expect: { rows: [{ titel: A }] } }',
      '12:49 capabilities.film.examples.0.expect.rows.0.titel: no such field, did you mean `title`?',
    ],
    [
      '{ params: { id: 1 }, expect: { count: 0, rows: [{ title: A }] } }',
      '12:50 capabilities.film.examples.0.expect.rows: must not have more rows than `count` or `max_count` says',
    ],
    [
      '{ params: { id: 1 }, expect: { error: AGENT_TIMEOUT } }',
      '12:47 capabilities.film.examples.0.expect.error: must be one of AGENT_INVALID_PARAMS, AGENT_PRINCIPAL_REFUSED, AGENT_QUERY_TIMEOUT, AGENT_RESULT_TOO_LARGE, AGENT_QUERY_FAILED',
    ],
    [
      '{ params: { id: 1 }, expect: { error: AGENT_QUERY_FAILED, count: 0 } }',
      '12:67 capabilities.film.examples.0.expect.count: does not go with `error`: a call that fails gives no rows',
    ],
    [
      '{ params: { id: 1 }, expect: { error: AGENT_QUERY_FAILED }, publish: true }',
      '12:78 capabilities.film.examples.0.publish: must be false with `expect.error`: callers are shown what works',
    ],
    [
      '{ params: { id: 1 }, expects: {} }',
      '12:30 capabilities.film.examples.0.expects: unknown key, did you mean `expect`?',
    ],
    [
      '{ params: { id: 1 }, as: a, principal: { key_name: a } }',
      '12:30 capabilities.film.examples.0.as: does not go with `principal`: it is short for its `key_name`',
    ],
    [
      '{ params: { id: 1 }, principal: { claims: { org: a } } }',
      '12:30 capabilities.film.examples.0.principal: needs `identity`, without which the agent knows only the name of the API key that calls',
    ],
  ])('%s', (example, fault) => {
    expect(faultLines(load(fileWith(example)))).toEqual([fault]);
  });

  test('cannot send what is taken from who calls', () => {
    const text = fileWith('{ params: { id: 1, tags: [a] } }', { identity: 'identity: { trust: gateway }' });
    const pinned = text.replace('tags: { type', 'tags: { from: principal.claims.tags, type');
    expect(faultLines(load(pinned))).toEqual([
      '12:28 capabilities.film.examples.0.params.tags: is taken from who calls: remove it, and say who calls by `as` or `principal`',
    ]);
  });

  test('add nothing to a parameter that has a fault of its own', () => {
    const text = fileWith('{ params: { id: 1, tags: [a] } }').replace('maxLength: 3', 'pattern: "("');
    expect(faultLines(load(text))).toEqual([
      '9:60 capabilities.film.params.tags.items.pattern: must be a regular expression that JavaScript takes with the `u` flag',
    ]);
  });
});
