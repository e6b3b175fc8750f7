import { createHash } from 'node:crypto';

const MAX_LENGTH = 48;
const HASH_LENGTH = 6;
/** Letters that Unicode does not decompose into ASCII and an accent. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ł: 'l',
  þ: 'th',
  ı: 'i',
};

/** The words of a name in lower case, without accents: `CustomerID`, `customer id` and `customer_id` are two words. */
export function wordsOf(name: string): readonly string[] {
  return name
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1_$2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .toLowerCase()
    .replace(/[ßæœøđðłþı]/g, (letter) => LETTERS[letter] ?? letter)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

/** Lower-case letters, digits and `_`, beginning with a letter; a name without such letters gets a hash. */
export function slugOf(name: string): string {
  if (/^[a-z][a-z0-9_]*$/.test(name)) return name;
  const slug = wordsOf(name).join('_');
  // The ASCII rest of a name in another script says nothing, and two names may have the same rest.
  const lost = name
    .normalize('NFKD')
    .replace(/[\p{M}\p{P}\p{S}\p{Z}\p{C}]/gu, '')
    .replace(/[ßæœøđðłþı]/gi, '');
  if (slug === '' || /[^\p{ASCII}]/u.test(lost)) return ['t', slug, hashOf(name)].filter(Boolean).join('_');
  return /^[a-z]/.test(slug) ? slug : `t_${slug}`;
}

/** Makes names that are short enough and unique. */
export function nameGiver(
  maxLength: number = MAX_LENGTH,
  taken: Iterable<string> = [],
): (wanted: string) => string {
  const given = new Set(taken);
  return (wanted) => {
    const fits = wanted.length <= maxLength;
    const base = fits ? wanted : `${wanted.slice(0, maxLength - HASH_LENGTH - 1)}_${hashOf(wanted)}`;
    let name = base;
    for (let count = 2; given.has(name); count += 1) {
      const suffix = `_${count}`;
      name = `${base.slice(0, maxLength - suffix.length)}${suffix}`;
    }
    given.add(name);
    return name;
  };
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);
}
