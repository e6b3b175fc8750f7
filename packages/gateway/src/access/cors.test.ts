import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCors } from './cors.ts';
import { readRequestHeaders } from '../http/request/headers.ts';

const ORIGIN = fc.oneof(
  fc.constantFrom(
    'https://a.example',
    'https://a.example:8443',
    'http://a.example',
    'null',
    '*',
    '__proto__',
  ),
  fc.string({ minLength: 1 }),
);

test('an origin is allowed if and only if it stands in the list, letter by letter', () => {
  fc.assert(
    fc.property(fc.uniqueArray(ORIGIN, { minLength: 1, maxLength: 5 }), ORIGIN, (origins, origin) => {
      const headers = readRequestHeaders(['Origin', origin, 'Access-Control-Request-Method', 'POST']);
      const cors = createCors(origins);
      const answer = cors?.answerHeaders(headers) ?? [];
      const at = answer.indexOf('Access-Control-Allow-Origin');
      expect(at < 0 ? undefined : answer[at + 1]).toBe(origins.includes(origin) ? origin : undefined);
      expect(answer.slice(0, 2)).toEqual(['Vary', 'Origin']);
      expect(cors?.preflightHeaders(headers, ['POST']) !== undefined).toBe(origins.includes(origin));
    }),
  );
});

test('without origins there is nothing to add to an answer', () => {
  expect(createCors([])).toBeUndefined();
});
