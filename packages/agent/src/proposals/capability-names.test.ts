import { CAPABILITY_NAME_PATTERN } from '@svc/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nameGiver, slugOf, wordsOf } from './capability-names.ts';

test.each([
  ['film_actor', 'film_actor'],
  ['trailing_', 'trailing_'],
  ['FilmActor', 'film_actor'],
  ['CustomerID', 'customer_id'],
  ['XMLHttpRequest2Id', 'xml_http_request2_id'],
  ['Order Details', 'order_details'],
  ['Straße', 'strasse'],
  ['Œuvre préférée', 'oeuvre_preferee'],
  ['2024_sales', 't_2024_sales'],
  ['select', 'select'],
])('%s becomes %s', (name, slug) => {
  expect(slugOf(name)).toBe(slug);
});

test('names in other scripts become different names', () => {
  const slugs = ['客户', '顾客', 'заказы', 'заказ', '数量 a', '重量 a', '', '!'].map(slugOf);
  expect(new Set(slugs).size).toBe(slugs.length);
});

test('whatever the names, what is given is valid and given once', () => {
  const pattern = new RegExp(CAPABILITY_NAME_PATTERN);
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 63 }), { maxLength: 20 }), (names) => {
      const give = nameGiver();
      const given = [...names, ...names].map((name) => give(`get_${slugOf(name)}`));
      expect(given.filter((name) => !pattern.test(name))).toEqual([]);
      expect(new Set(given).size).toBe(given.length);
    }),
  );
});

test('words are those that a person sees', () => {
  expect(wordsOf('userEMailAddress_v2')).toEqual(['user', 'e', 'mail', 'address', 'v2']);
});
