import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import { parseWorkers } from './values.ts';

describe('parseWorkers', () => {
  it.each([
    ['1', 1],
    ['2', 2],
    ['64', 64],
    ['auto', Math.min(availableParallelism(), 64)],
  ])('takes %s', (text, workers) => {
    expect(parseWorkers(text, 'linux')).toEqual({ ok: true, value: workers });
  });

  it.each(['0', '65', '-1', '1.5', '1e1', 'AUTO', 'all', '0x2', '999999'])('refuses %s', (text) => {
    expect(parseWorkers(text, 'linux')).toEqual({
      ok: false,
      problems: [expect.stringContaining('a whole number from 1 to 64, or auto')],
    });
  });

  it('refuses several where the platform has no shared listeners', () => {
    expect(parseWorkers('1', 'win32')).toEqual({ ok: true, value: 1 });
    expect(parseWorkers('2', 'darwin')).toEqual({ ok: true, value: 2 });
    expect(parseWorkers('2', 'win32')).toEqual({
      ok: false,
      problems: [expect.stringContaining('Linux and macOS')],
    });
  });
});
