import type { Texts } from '../../clauses/choose.ts';
import type { KeyKind } from './prepared-query.ts';

/**
 * The first field in which the server may have sorted two rows wrongly: by the beginnings of its texts alone. Of a value it
 * sorts by `sortedBytes` of its weights, its `max_sort_length`.
 */
export function unsortedKey(
  kinds: readonly KeyKind[],
  last: Texts,
  next: Texts,
  sortedBytes: number,
): string | undefined {
  return kinds.find(({ type }, at) => {
    const most = sortedCharacters(type, sortedBytes);
    const [one, other] = [last[at] ?? '', next[at] ?? ''];
    const isAlike =
      one.length > most && other.length > most && beginning(one, most) === beginning(other, most);
    return isAlike && mayBeTied(kinds.slice(0, at), last, next);
  })?.field;
}

/** How many characters of a text are sorted by at least; no other type is that long. */
function sortedCharacters(type: string, sortedBytes: number): number {
  if (type === 'bytes') return sortedBytes * 2;
  if (!type.startsWith('text')) return Infinity;
  // Accents and case have weights of their own.
  return Math.floor(/_as|_cs/.test(type) ? sortedBytes / 8 : sortedBytes / 4);
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
