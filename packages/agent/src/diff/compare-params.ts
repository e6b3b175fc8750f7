import type { Changes } from './change.ts';
import { compareValues } from './compare-values.ts';
import type { ParamContract } from './contract.ts';

/** Compares parameters: whether what callers of the old ones send is taken and means the same now. */
export function compareParams(
  old: ReadonlyMap<string, ParamContract>,
  now: ReadonlyMap<string, ParamContract>,
  isMixed: boolean,
  changes: Changes,
): void {
  for (const [name, before] of old) {
    const after = now.get(name);
    if (after === undefined) changes.add('breaking', [name], 'gone: calls that send it are refused');
    else compareParam(before, after, isMixed, changes.below(name));
  }
  for (const [name, { isRequired, defaultJson }] of now) {
    if (old.has(name)) continue;
    if (isRequired) changes.add('breaking', [name], 'new and required: calls without it are refused');
    else if (defaultJson !== undefined)
      changes.add('risky', [name], `new, with the default ${defaultJson}: it counts for all calls of before`);
    else changes.add('compatible', [name], 'new and optional');
  }
}

function compareParam(old: ParamContract, now: ParamContract, isMixed: boolean, changes: Changes): void {
  if (!old.isRequired && now.isRequired)
    changes.add('breaking', ['required'], 'true now: calls without it are refused');
  if (old.isRequired && !now.isRequired) changes.add('compatible', ['required'], 'false now');
  compareValues(old.value, now.value, isMixed, changes);
  if (old.defaultJson !== now.defaultJson) {
    const is = `${old.defaultJson ?? 'none'} became ${now.defaultJson ?? 'none'}`;
    changes.add('risky', ['default'], `${is}: calls without the parameter get another answer`);
  }
  if (old.description !== now.description)
    changes.add('risky', ['description'], 'changed: models read it to fill it in');
}
