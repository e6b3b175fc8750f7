import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCallTable } from './call-table.ts';

test('it holds what a Map would hold', () => {
  const steps = fc.array(
    fc.record({ step: fc.constantFrom('add', 'delete', 'get'), id: fc.integer({ min: 1, max: 80 }) }),
    { maxLength: 400 },
  );
  fc.assert(
    fc.property(steps, fc.nat({ max: 0xffff_ff00 }), (all, start) => {
      const table = createCallTable<string>();
      const model = new Map<number, string>();
      for (const [at, { step, id: small }] of all.entries()) {
        // Far apart as well: ids that share a slot must be told apart.
        const id = start + (small % 3 === 0 ? small * 64 : small);
        if (step === 'add' && !model.has(id)) {
          table.add(id, `call ${at}`);
          model.set(id, `call ${at}`);
        } else if (step === 'delete') {
          table.delete(id);
          model.delete(id);
        }
        expect(table.get(id)).toBe(model.get(id));
        expect(table.size).toBe(model.size);
      }
      expect(table.entries().toSorted(([a], [b]) => a - b)).toEqual([...model].toSorted(([a], [b]) => a - b));
      for (const [id, value] of model) expect(table.get(id)).toBe(value);
    }),
  );
});

test('ids up to the largest of the link', () => {
  const table = createCallTable<string>();
  table.add(0xffff_fffe, 'last but one');
  table.add(0xffff_ffff, 'last');
  expect(table.get(0xffff_ffff)).toBe('last');
  table.delete(0xffff_ffff);
  expect(table.get(0xffff_ffff)).toBeUndefined();
  expect(table.get(0xffff_fffe)).toBe('last but one');
});
