import { isDecimalMultiple, readDecimal } from '../capabilities/values/decimal.ts';
import type { Changes } from './change.ts';
import type { Bound, ValueContract } from './contract.ts';

/** Bounds of integers that come from the types of columns. */
const DATABASE_BOUNDS = new Set([-32_768, 32_767, -2_147_483_648, 2_147_483_647, 4_294_967_295]);
/** A rule as a message shows it; undefined for none. */
type Shown = string | undefined;

const LEAST = ['minLength', 'minItems'] as const;
const MOST = ['maxLength', 'maxItems'] as const;

/**
 * Compares what a parameter takes: whether each value that was taken is taken now. If that cannot be told, as with two
 * patterns, the answer is no. `isMixed`: one side is a file, and its database may add bounds that only the other side shows.
 */
export function compareValues(
  old: ValueContract,
  now: ValueContract,
  isMixed: boolean,
  changes: Changes,
): void {
  if (old.type !== now.type) {
    const is = `retyped from ${old.type} to ${now.type}`;
    changes.add('breaking', ['type'], `${is}: what callers send is refused or misread`);
    return;
  }
  const compare = (name: string, from: Shown, to: Shown, isTaken: boolean): void => {
    if (from === to) return;
    const is = `${from ?? 'none'} became ${to ?? 'none'}`;
    if (isTaken) changes.add('compatible', [name], `${is}: takes all that it took`);
    else changes.add('breaking', [name], `${is}: refuses values that it took`);
  };
  if (!isMixed || !areOfDatabase(old.lower, now.lower))
    compare('minimum', shown(old.lower), shown(now.lower), isWithin(old.lower, now.lower, 1));
  if (!isMixed || !areOfDatabase(old.upper, now.upper))
    compare('maximum', shown(old.upper), shown(now.upper), isWithin(old.upper, now.upper, -1));
  for (const name of LEAST)
    compare(name, text(old[name]), text(now[name]), (now[name] ?? 0) <= (old[name] ?? 0));
  for (const name of MOST)
    compare(name, text(old[name]), text(now[name]), (now[name] ?? Infinity) >= (old[name] ?? Infinity));
  compare('multipleOf', text(old.multipleOf), text(now.multipleOf), areMultiples(old, now));
  compare('pattern', text(old.pattern), text(now.pattern), now.pattern === undefined);
  compare('format', old.format, now.format, now.format === undefined);
  compareEnums(old.enum, now.enum, isMixed, changes);
  if (old.items !== undefined && now.items !== undefined)
    compareValues(old.items, now.items, isMixed, changes.below('items'));
  else if (old.items !== now.items)
    changes.add(now.items === undefined ? 'compatible' : 'breaking', ['items'], 'changed');
  for (const name of new Set([...Object.keys(old.others), ...Object.keys(now.others)])) {
    if (old.others[name] === now.others[name]) continue;
    if (name === 'examples') changes.add('compatible', [name], 'changed');
    else changes.add('risky', [name], 'changed, which this version cannot judge');
  }
}

/** `direction`: 1 for lower bounds, -1 for upper ones. */
function isWithin(old: Bound | undefined, now: Bound | undefined, direction: 1 | -1): boolean {
  if (now === undefined) return true;
  if (old === undefined) return false;
  if (old.value === now.value) return old.isExclusive || !now.isExclusive;
  return (old.value - now.value) * direction > 0;
}

function areOfDatabase(old: Bound | undefined, now: Bound | undefined): boolean {
  return [old, now].includes(undefined) && DATABASE_BOUNDS.has((old ?? now)?.value ?? 0);
}

function areMultiples(old: ValueContract, now: ValueContract): boolean {
  if (now.multipleOf === undefined) return true;
  const step = old.multipleOf ?? (old.type === 'integer' ? 1 : undefined);
  return (
    step !== undefined && isDecimalMultiple(readDecimal(String(step)), readDecimal(String(now.multipleOf)))
  );
}

function compareEnums(
  old: readonly string[] | undefined,
  now: readonly string[] | undefined,
  isMixed: boolean,
  changes: Changes,
): void {
  if (now === undefined) {
    if (old !== undefined && !isMixed) changes.add('compatible', ['enum'], 'gone: takes other values, too');
    return;
  }
  if (old === undefined) {
    const or = isMixed ? ' or it is that of the database, which the file does not show' : '';
    changes.add('breaking', ['enum'], `new: refuses values that it took${or}`);
    return;
  }
  const [gone, added] = [except(old, now), except(now, old)];
  if (gone.length > 0) changes.add('breaking', ['enum'], `refuses ${gone.join(', ')} now`);
  if (added.length > 0) changes.add('compatible', ['enum'], `takes ${added.join(', ')}, too`);
}

function except(values: readonly string[], others: readonly string[]): readonly string[] {
  return values.filter((value) => !others.includes(value));
}

function shown(bound: Bound | undefined): Shown {
  if (bound === undefined) return undefined;
  return bound.isExclusive ? `${bound.value} (exclusive)` : String(bound.value);
}

/** A number or a text as JSON. */
function text(value: number | string | undefined): Shown {
  return value === undefined ? undefined : JSON.stringify(value);
}
