import type { ColumnKind } from '../databases/driver/catalog.ts';
import { wordsOf } from './capability-names.ts';
import * as vocabulary from './personal-words.ts';

export interface ColumnToJudge {
  readonly table: string;
  readonly name: string;
  readonly kind: ColumnKind;
  readonly comment?: string;
  readonly securityLabel?: string;
}

export interface Sensitivity {
  readonly kind: 'credential' | 'personal';
  /** Why it looks so: `its name has "email"`. */
  readonly because: string;
}

const COMMENT =
  /\b(?:pii|phi|personal(?:ly)?|personenbezogen\w*|gdpr|dsgvo|sensitive|confidential|credentials?|passwords?|secret)\b/i;
const DENIED = /\b(?:no|not|non|without)\b[^.;]*$/i;
const LABEL = /mask|pii|personal|secret|sensitive|confidential|classified|restricted|private/i;
const OPEN_LABEL = /unclassified|not sensitive|public/i;

/**
 * Whether a column looks like a credential or like something about a person: a guess by its name, type and comment, never by
 * its values. Undefined if it looks harmless.
 */
export function sensitivityOf(column: ColumnToJudge): Sensitivity | undefined {
  return bySecurityLabel(column) ?? byName(column) ?? byComment(column) ?? byKind(column);
}

function bySecurityLabel({ securityLabel = '' }: ColumnToJudge): Sensitivity | undefined {
  if (!LABEL.test(securityLabel) || OPEN_LABEL.test(securityLabel)) return undefined;
  return { kind: 'personal', because: 'it has a security label' };
}

function byComment({ comment = '' }: ColumnToJudge): Sensitivity | undefined {
  const match = COMMENT.exec(comment);
  if (match === null || DENIED.test(comment.slice(0, match.index))) return undefined;
  return { kind: 'personal', because: `its comment has "${match[0].toLowerCase()}"` };
}

function byKind({ kind }: ColumnToJudge): Sensitivity | undefined {
  return kind === 'address' ? { kind: 'personal', because: 'it holds addresses of machines' } : undefined;
}

function byName({ table, name, kind }: ColumnToJudge): Sensitivity | undefined {
  // `address2` is an address.
  const words = wordsOf(name).map((word) => word.replace(/(?<=\p{L})\d+$/u, ''));
  const last = words.at(-1) ?? '';
  const isAbout = vocabulary.ABOUT_ENDINGS.has(last) || vocabulary.ABOUT_BEGINNINGS.has(words[0] ?? '');
  if (kind === 'boolean') return found('personal', words, vocabulary.HEALTH_FLAGS);
  if (kind === 'date' || kind === 'datetime') return found('personal', words, vocabulary.BIRTH_WORDS);
  const text = ` ${words.join(' ')} `;
  const isPhrase = phraseIn(text, vocabulary.PERSONAL_PHRASES);
  if (isAbout && isPhrase === undefined) return undefined;
  const isNumber = kind === 'integer' || kind === 'number';
  const credential = credentialIn(words, text, wordsOf(table), isNumber);
  if (credential !== undefined && !isAbout) return because('credential', credential);
  if (isPhrase !== undefined && !(isNumber && last === 'id')) return because('personal', isPhrase);
  if (last === 'id' || last === 'ids') return undefined;
  const personal = personalIn(words, wordsOf(table));
  if (personal === undefined) return undefined;
  const isAmount = isNumber && !words.some((word) => vocabulary.NUMERIC_PERSONAL.has(word));
  return isAmount ? undefined : because('personal', personal);
}

function credentialIn(
  words: readonly string[],
  text: string,
  table: readonly string[],
  isNumber: boolean,
): string | undefined {
  if (isNumber) return words.find((word) => vocabulary.NUMERIC_CREDENTIALS.has(word));
  if (vocabulary.CREDENTIAL_ABOUT.has(words.at(-1) ?? '')) return undefined;
  const plain = words.length === 1 ? (words[0] ?? '') : '';
  const isKept = table.some((word) => vocabulary.CREDENTIAL_TABLES.has(word));
  const isKey = plain === 'key' && table.length > 1;
  if (isKept && (isKey || vocabulary.CREDENTIAL_PLAIN.has(plain)) && !table.includes('value')) return plain;
  return (
    words.find((word) => vocabulary.CREDENTIAL_WORDS.has(word)) ??
    phraseIn(text, vocabulary.CREDENTIAL_PHRASES) ??
    words.find((word) => /(?:password|passwd)/.test(word))
  );
}

function personalIn(words: readonly string[], table: readonly string[]): string | undefined {
  const plain = words.find((word) => vocabulary.PERSONAL_WORDS.has(word));
  if (plain !== undefined) return plain;
  const joined = words.find((word) => vocabulary.ENDINGS.some((ending) => word.endsWith(ending)));
  if (joined !== undefined) return joined;
  const last = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  // `customer_company_name` is the name of a company.
  if (!(isName(last) && vocabulary.THINGS.has(before.at(-1) ?? ''))) {
    const isRelated = (word: string): boolean => !vocabulary.RELATIVES.has(word) || table.some(isPerson);
    if (isName(last) && before.some((word) => isPerson(word) && isRelated(word))) return last;
    if (vocabulary.SENT_PLACES.has(last) && before.some((word) => vocabulary.SENT_TO.has(word))) return last;
  }
  if (isPerson(table.at(-1) ?? '')) return words.find((word) => vocabulary.OF_PERSONS.has(word));
  const isOfPerson = isPerson(table[0] ?? '') || vocabulary.ADDRESS_TABLES.has(table.at(-1) ?? '');
  return isOfPerson ? words.find((word) => vocabulary.OF_ADDRESSES.has(word) && !isName(word)) : undefined;
}

function isName(word: string): boolean {
  return word === 'name' || word === 'names' || word === 'nm';
}

function isPerson(word: string): boolean {
  const singular = word.endsWith('s') ? word.slice(0, -1) : word;
  return vocabulary.PERSON_WORDS.has(word) || vocabulary.PERSON_WORDS.has(singular);
}

function phraseIn(text: string, phrases: readonly string[]): string | undefined {
  return phrases.find((phrase) => text.includes(phrase))?.trim();
}

function found(
  kind: Sensitivity['kind'],
  words: readonly string[],
  wanted: ReadonlySet<string>,
): Sensitivity | undefined {
  const word = words.find((each) => wanted.has(each));
  return word === undefined ? undefined : because(kind, word);
}

function because(kind: Sensitivity['kind'], word: string): Sensitivity {
  return { kind, because: `its name has "${word}"` };
}
