import type { Changes } from './change.ts';
import type { FieldContract } from './contract.ts';

/** Compares the fields of rows: whether what is answered now is what readers of the old ones expect. */
export function compareFields(
  old: ReadonlyMap<string, FieldContract>,
  now: ReadonlyMap<string, FieldContract>,
  changes: Changes,
): void {
  for (const [name, before] of old) {
    const after = now.get(name);
    if (after === undefined) changes.add('breaking', [name], 'gone: readers of it find nothing');
    else compareField(before, after, changes.below(name));
  }
  for (const name of now.keys()) {
    if (!old.has(name))
      changes.add('risky', [name], 'new: clients that take listed fields only refuse the row');
  }
  const kept = (fields: ReadonlyMap<string, FieldContract>, others: ReadonlyMap<string, FieldContract>) =>
    JSON.stringify([...fields.keys()].filter((name) => others.has(name)));
  if (kept(old, now) !== kept(now, old))
    changes.add('compatible', [], 'in another order, which only readers of CSV by position notice');
}

function compareField(old: FieldContract, now: FieldContract, changes: Changes): void {
  const [before, after] = [old.value, now.value];
  if (before.type !== after.type) {
    changes.add('breaking', ['type'], `retyped from ${before.type} to ${after.type}: readers misread it`);
  } else if (before.format !== after.format) {
    const is = `${before.format ?? 'none'} became ${after.format ?? 'none'}`;
    if (before.format === undefined)
      changes.add('risky', ['format'], `${is}: clients that are generated anew may read another type`);
    else changes.add('breaking', ['format'], `${is}: typed clients misread it`);
  }
  if (!old.isNullable && now.isNullable)
    changes.add('breaking', ['nullable'], 'can be null now, which readers do not expect');
  if (old.isNullable && !now.isNullable) changes.add('compatible', ['nullable'], 'is never null any more');
  if (old.description !== now.description) changes.add('risky', ['description'], 'changed: models read it');
  const rules = ({ items, others }: FieldContract['value']): string => JSON.stringify([items, others]);
  if (before.type === after.type && rules(before) !== rules(after))
    changes.add('risky', [], 'has other rules, which this version cannot judge');
}
