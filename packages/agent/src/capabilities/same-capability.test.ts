import { expect, test } from 'vitest';
import { fileText, load } from '../config/load.fixture.ts';
import type { Capability } from './model.ts';
import { sameCapability } from './same-capability.ts';

const FILM =
  'film: { sql: SELECT :id, params: { id: { type: integer } }, result: { one: { type: integer } }, examples: [{ params: { id: 1 } }] }';

function filmOf(capabilities: string): Capability {
  const loaded = load(fileText({ capabilities }));
  if ('faults' in loaded) expect.unreachable(JSON.stringify(loaded.faults));
  return loaded.config.capabilities[0] ?? expect.unreachable('no capability');
}

test('a capability is the same wherever it stands', () => {
  const moved = filmOf(`\n\ncapabilities:\n  ${FILM}`);
  expect(moved.position).not.toEqual(filmOf(`capabilities: { ${FILM} }`).position);
  expect(sameCapability(moved, filmOf(`capabilities: { ${FILM} }`))).toBe(true);
});

test.each([
  ['SELECT :id', 'SELECT :id + 1'],
  ['params: { id: 1 }', 'params: { id: 2 }'],
])('it is another with %s instead of %s', (from, to) => {
  const changed = FILM.replace(from, to);
  expect(sameCapability(filmOf(`capabilities: { ${FILM} }`), filmOf(`capabilities: { ${changed} }`))).toBe(
    false,
  );
});
