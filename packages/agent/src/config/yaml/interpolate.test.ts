import { expect, test } from 'vitest';
import { interpolate } from './interpolate.ts';

const env = { HOST: 'db1', EMPTY: '', NESTED: '${HOST}' };

test.each([
  ['plain', 'plain'],
  ['${HOST}', 'db1'],
  ['a ${HOST}:${HOST} b', 'a db1:db1 b'],
  ['x${EMPTY}y', 'xy'],
  ['$${HOST}', '${HOST}'],
  ['$$${HOST}', '$${HOST}'],
  ['${NESTED}', '${HOST}'],
  ['$HOST and $1 and $$', '$HOST and $1 and $$'],
])('%j becomes %j', (text, expected) => {
  expect(interpolate(text, env)).toMatchObject({ text: expected, problems: [] });
});

test('a missing variable is named', () => {
  expect(interpolate('${HOST} ${NOPE}', env).problems).toEqual(['the environment variable NOPE is not set']);
});

test.each(['${', '${HOST', '${}', '${A-B}', '${1}'])('%j is refused with the way to escape it', (text) => {
  expect(interpolate(text, env).problems.join()).toContain('write `$${`');
});
