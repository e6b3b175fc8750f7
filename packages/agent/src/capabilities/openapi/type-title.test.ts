import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { typeTitle } from './result-schema.ts';

test('titles read like the names of types', () => {
  expect(typeTitle('get_track', 'Result')).toBe('GetTrackResult');
  expect(typeTitle('track_2', 'Row')).toBe('Track_2Row');
  expect(typeTitle('get__track_', 'Params')).toBe('Get_Track_Params');
});

test('no two capabilities have one title', () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,5}$/);
  fc.assert(
    fc.property(name, name, (one, other) => {
      fc.pre(one !== other);
      expect(typeTitle(one, 'Row')).not.toBe(typeTitle(other, 'Row'));
    }),
    { numRuns: 5000 },
  );
});
