import type { Texts } from '../../clauses/choose.ts';
import type { KeyKind } from './prepared-query.ts';

/** Of a value the servers sort by so many bytes of its weights: their `max_sort_length`. */
const SORTED_BYTES = 1024;

/** The first field in which the servers may have sorted two rows wrongly: by the beginnings of its texts alone. */
export function unsortedKey(kinds: readonly KeyKind[], last: Texts, next: Texts): string | undefined {
  return kinds.find(({ type }, at) => {
    const most = sortedCharacters(type);
    const [one, other] = [last[at] ?? '', next[at] ?? ''];
    return one.length > most && other.length > most && beginning(one, most) === beginning(other, most);
  })?.field;
}

/** How many characters of a text are sorted by at least; no other type is that long. */
function sortedCharacters(type: string): number {
  if (type === 'bytes') return SORTED_BYTES * 2;
  if (!type.startsWith('text')) return Infinity;
  // Accents and case have weights of their own.
  return /_as|_cs/.test(type) ? SORTED_BYTES / 8 : SORTED_BYTES / 4;
}

/** The same for texts that collations may hold for equal. */
function beginning(text: string, length: number): string {
  return text.slice(0, length).normalize('NFKD').replaceAll(/\p{M}/gu, '').toUpperCase().toLowerCase();
}

/** Whether only the collations of texts can tell two rows apart; false if the others do, and true if there are none. */
export function mayBeTied(kinds: readonly KeyKind[], last: Texts, next: Texts): boolean {
  return kinds.every(({ type }, at) => {
    const [one = null, other = null] = [last[at], next[at]];
    if (one === null || other === null) return one === other;
    if (type.startsWith('text')) return true;
    return type === 'double' ? Number(one) === Number(other) : one === other;
  });
}
