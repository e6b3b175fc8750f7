import { randomBytes } from 'node:crypto';

/** A piece of a statement: its text, or the index of a parameter in its place. */
export type Part = string | number;

/** A statement with the places where filters, and a page, are put in at each call: plain data. */
export interface AssembledText {
  readonly before: readonly Part[];
  /** After the filters; all the rest of a statement without pages. */
  readonly between: readonly Part[];
  /** After the condition of the page; absent if there is none. */
  readonly after?: readonly Part[];
}

/** The same statement in each form in which it is sent, with the filters that may stand in it. */
export interface AssembledForms<Form extends string> {
  readonly filters: readonly (readonly Part[])[];
  readonly forms: Readonly<Record<Form, AssembledText>>;
}

/** A statement ready to be sent, with the indices of the parameters of `$1`, `$2`, ... */
export interface NumberedText {
  readonly text: string;
  readonly params: readonly number[];
}

/** Stands where no filter is set. */
const NO_FILTER = '(true)';

/** Numbers the parameters in the order in which they stand; `write` makes the placeholder of one, `$1` by default. */
export function numbered(
  parts: readonly Part[],
  write: (number: number, param: number) => string = (number) => `$${number}`,
): NumberedText {
  const params: number[] = [];
  let text = '';
  for (const part of parts) {
    if (typeof part === 'string') {
      text += part;
      continue;
    }
    const known = params.indexOf(part);
    text += write(known < 0 ? params.push(part) : known + 1, part);
  }
  return { text, params };
}

/** The filters that are set, joined; each stands in its parentheses. */
export function joinFilters(filters: readonly (readonly Part[])[]): readonly Part[] {
  if (filters.length === 0) return [NO_FILTER];
  return filters.flatMap((filter, at) => (at === 0 ? filter : [' and ', ...filter]));
}

/** With those of its filters; undefined unless a page is given to a statement that has one. */
export function joinParts(
  { before, between, after }: AssembledText,
  filters: AssembledForms<string>['filters'],
  chosen: readonly number[],
  page?: readonly Part[],
): readonly Part[] | undefined {
  if ((page === undefined) !== (after === undefined)) return undefined;
  const set = filters.length === 0 ? [] : joinFilters(chosen.map((index) => filters[index] ?? []));
  return [...before, ...set, ...between, ...(page ?? []), ...(after ?? [])];
}

/** The places that are found again in whatever is made of a statement. */
export type Mark = 'filters' | 'filter' | 'filters_end' | 'main' | 'page' | 'page_end' | 'parameter';

/**
 * Comments that no author can have written, each around or before a place in a statement: so that the place is found again
 * when the statement was put into another.
 */
export class Marks {
  readonly #nonce = randomBytes(12).toString('hex');

  of(mark: Mark, index: number = 0): string {
    return `/*${this.#nonce}:${mark}:${index}*/`;
  }

  /** The texts between the marks, each with the mark before it. */
  split(text: string): readonly { readonly mark?: Mark; readonly index: number; readonly text: string }[] {
    const [first = '', ...rest] = text.split(`/*${this.#nonce}:`);
    return [
      { index: 0, text: first },
      ...rest.map((each) => {
        const end = each.indexOf('*/');
        const [mark = '', index] = each.slice(0, end).split(':');
        if (!isMark(mark)) throw new Error('cannot read a mark');
        return { mark, index: Number(index), text: each.slice(end + 2) };
      }),
    ];
  }

  /** Without the marks, of which an end may be missing. */
  hide(text: string): string {
    return text.replaceAll(new RegExp(`/\\*${this.#nonce}[^*]*(?:\\*/|$)`, 'g'), '');
  }

  /** Without the marks. */
  strip(text: string): string {
    return this.split(text)
      .map((each) => each.text)
      .join('');
  }
}

const MARKS: ReadonlySet<string> = new Set<Mark>([
  'filters',
  'filter',
  'filters_end',
  'main',
  'page',
  'page_end',
  'parameter',
]);

function isMark(text: string): text is Mark {
  return MARKS.has(text);
}
