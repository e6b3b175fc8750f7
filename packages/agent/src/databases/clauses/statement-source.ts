import type { FilledTemplate } from '../sql/template.ts';
import { joinFilters, type AssembledText, type Mark, type Marks, type Part } from './parts.ts';

/** The statement around the author's, by which it is ordered and paged. */
export const QUERY_NAME = 'svc_q';
/** A numbered placeholder. Where placeholders have no numbers they stay among the texts. */
const PLACEHOLDER = /^(?:\$\d+|\?\d+)/;

/** Where the SELECT begins after its WITH queries; undefined if it has none. Tokens have no comments. */
export function startOfMain(
  tokens: readonly { readonly text: string; readonly start: number }[],
): number | undefined {
  if (tokens[0]?.text.toLowerCase() !== 'with') return undefined;
  let depth = 0;
  let isClosed = false;
  for (const [at, { text, start }] of tokens.entries()) {
    const word = text.toLowerCase();
    if (depth === 0 && isClosed && !AFTER_QUERY.has(word)) {
      // SEARCH and CYCLE have words, but no parentheses, up to the next query or the SELECT.
      if (BEGINS_SELECT.has(word)) return start;
      if (word === '(' && tokens[at - 1]?.text === ')') return start;
    }
    if (word === '(') depth += 1;
    if (word !== ')') continue;
    depth -= 1;
    if (depth === 0) isClosed = true;
  }
  return undefined;
}

const AFTER_QUERY = new Set([',', 'as', 'search', 'cycle']);
const BEGINS_SELECT = new Set(['select', 'values', 'table', 'from']);

/** The parts of a capability's statement, whose parameters have their casts. */
export interface StatementSource {
  /** WITH queries, which stand before what is put around the rest. */
  readonly head: readonly Part[];
  readonly main: readonly Part[];
  readonly filters: readonly (readonly Part[])[];
}

/** Stands among the parts where the filters do. */
const FILTERS = -1;

/** `text` has all filters, and marks. */
export function sourceOf({ text, places }: FilledTemplate, marks: Marks): StatementSource {
  const bytes = Buffer.from(text);
  let marked = '';
  let at = 0;
  for (const { offset, number } of places) {
    marked += bytes.subarray(at, offset).toString() + marks.of('parameter', number - 1);
    at = offset;
  }
  const cut = cutAtMarks(marked + bytes.subarray(at).toString(), marks);
  const before = cut.before.indexOf(MAIN);
  const between = cut.between.indexOf(MAIN);
  const place = cut.hasFilters ? [FILTERS] : [];
  const all = [...cut.before, ...place, ...cut.between];
  const first = before >= 0 ? before : between >= 0 ? cut.before.length + place.length + between : -1;
  return {
    head: first < 0 ? [] : all.slice(0, first),
    main: all.slice(first + 1),
    filters: cut.filters,
  };
}

const MAIN = '\0main';

interface Cut {
  readonly before: readonly Part[];
  readonly hasFilters: boolean;
  readonly filters: readonly (readonly Part[])[];
  readonly between: readonly Part[];
  readonly page: readonly Part[] | undefined;
  readonly after: readonly Part[];
}

/** The parts of a text that has all filters. */
function cutAtMarks(text: string, marks: Marks): Cut {
  const cut = {
    before: [] as Part[],
    hasFilters: false,
    filters: [] as Part[][],
    between: [] as Part[],
    page: undefined as Part[] | undefined,
    after: [] as Part[],
  };
  let current = cut.before;
  const openers: Readonly<Partial<Record<Mark, () => Part[]>>> = {
    filters: () => ((cut.hasFilters = true), []),
    filter: () => cut.filters[cut.filters.push([]) - 1] ?? [],
    filters_end: () => cut.between,
    page: () => (cut.page = []),
    page_end: () => cut.after,
  };
  for (const { mark, index, text: piece } of marks.split(text)) {
    if (mark === 'main') current.push(MAIN);
    const opened = mark === undefined ? undefined : openers[mark]?.();
    if (opened !== undefined) current = opened;
    if (mark === 'parameter') current.push(index);
    const rest = mark === 'parameter' ? piece.replace(PLACEHOLDER, '') : piece;
    if (rest !== '') current.push(rest);
  }
  const last = cut.filters.length - 1;
  const filters = cut.filters.map((filter, at) => (at === last ? filter : withoutAnd(filter)));
  return { ...cut, filters };
}

function withoutAnd(filter: readonly Part[]): readonly Part[] {
  const last = filter.at(-1);
  if (typeof last !== 'string' || !last.endsWith(' and ')) throw new Error('cannot find the end of a filter');
  return [...filter.slice(0, -1), last.slice(0, -' and '.length)];
}

export interface Clause {
  readonly orderBy: string;
  readonly page?: readonly Part[];
}

/** One of the statements, in which each part has its marks. */
export function markedStatement(
  { head, main, filters }: StatementSource,
  marks: Marks,
  chosen: readonly number[],
  clause?: Clause,
): readonly Part[] {
  const place: readonly Part[] = [
    marks.of('filters'),
    ...joinFilters(chosen.map((index) => [marks.of('filter', index), ...(filters[index] ?? [])])),
    marks.of('filters_end'),
  ];
  const fill = (parts: readonly Part[]): readonly Part[] =>
    parts.flatMap((part) => (part === FILTERS ? place : [part]));
  const statement = fill(main);
  if (clause === undefined) return [...fill(head), ...statement];
  const { page, orderBy } = clause;
  const condition =
    page === undefined ? [] : ['where ', marks.of('page'), ...page, marks.of('page_end'), ' '];
  return [
    ...fill(head),
    'select * from (\n',
    ...statement,
    `\n) ${QUERY_NAME} `,
    ...condition,
    `order by ${orderBy}`,
  ];
}

/** What is assembled at each call of a text with all filters. */
export function assembledText(text: string, marks: Marks): AssembledText & Pick<Cut, 'filters'> {
  const { before, between, page, after, filters } = cutAtMarks(text, marks);
  return { before, between, filters, ...(page === undefined ? {} : { after }) };
}
