import type { Param } from '../../../capabilities/model.ts';
import { choose, cursorOf, foreignCursor, tied, type Chosen, type Texts } from '../../clauses/choose.ts';
import { LruMap } from '../../clauses/lru-map.ts';
import type { NumberedText } from '../../clauses/parts.ts';
import {
  partsOf,
  type AssembledOrder,
  type AssembledStatements,
  type StatementForm,
} from '../../clauses/tokens/assembled.ts';
import type { Query, QueryCall, QueryResult } from '../../driver/driver.ts';
import { probesWith } from '../../sql/probes/value-probes.ts';
import { placeholders } from '../dialect/placeholders.ts';
import { CURSOR_TYPES, isCursorKind } from './cursor-values.ts';
import { mayBeTied } from './page-keys.ts';
import type { KeyKind, PlacedParam, PreparedQuery } from './prepared-query.ts';

/** So many statements of a capability are kept assembled. */
const ASSEMBLED_MAX = 64;
/** The prefix is reserved: no caller sends such a parameter. */
const VALUE = 'svc_cursor_';

export type RunQuery = (
  verified: PreparedQuery,
  call: QueryCall,
) => Promise<{ readonly result: QueryResult; readonly border?: PageBorder | undefined }>;

interface PageBorder {
  readonly last: Texts;
  readonly next: Texts;
}

/** Any value of a cursor. */
export const CURSOR_VALUE: PlacedParam = cursorParam(0);

export function createAssembledQuery(
  run: RunQuery,
  verified: PreparedQuery,
  assembled: AssembledStatements,
): Query {
  const kept = new LruMap<string, PreparedQuery>(ASSEMBLED_MAX);
  const { capability } = verified;
  return {
    async run(call) {
      const startedAt = performance.now();
      const chosen = choose(capability, assembled, call.values);
      const query = kept.get(chosen.key) ?? assembledQuery(verified, assembled, chosen);
      kept.set(chosen.key, query);
      const { after = [] } = chosen;
      const { keys = [] } = query;
      if (!keys.every(({ type }, at) => isValueOf(type, after[at]))) throw foreignCursor();
      const values = { ...call.values, ...valuesOf(VALUE, after) };
      const { result, border } = await run(query, { ...call, values });
      if (border === undefined) return result;
      const left = { ...call, timeoutMs: call.timeoutMs - (performance.now() - startedAt) };
      if (mayBeTied(keys, border.last, border.next) && (await areEqual(run, query, left, border)))
        throw tied(chosen);
      const cursor = cursorOf(chosen, border.last);
      return cursor === undefined ? result : { ...result, cursor };
    },
    statementOf: (values) => textOf(choose(capability, assembled, values), 'statement').text,
  };
}

/** One of the verified statements, as if the capability had no other. */
function assembledQuery(
  { assembled: _assembled, ...verified }: PreparedQuery,
  { firstValue }: AssembledStatements,
  chosen: Chosen<AssembledOrder>,
): PreparedQuery {
  const { text, params } = textOf(chosen, 'run');
  const { pages } = chosen.order;
  return {
    ...verified,
    text,
    params: params.map((index) => verified.params[index] ?? cursorParam(index - firstValue)),
    probes: probesWith(verified.probes, params),
    searches: verified.searches.map((index) => params.indexOf(index)).filter((at) => at >= 0),
    ...(pages === undefined ? {} : { keys: keysOf(pages.terms) }),
  };
}

function textOf(chosen: Chosen<AssembledOrder>, form: StatementForm): NumberedText {
  return placeholders(partsOf(chosen, form));
}

/** See `PageOrder`. */
function keysOf(terms: string): readonly KeyKind[] {
  const read: readonly (readonly unknown[])[] = JSON.parse(terms);
  return read.map((term) => ({ field: String(term[0]), type: String(term.at(-1)) }));
}

function cursorParam(at: number, prefix: string = VALUE): PlacedParam {
  const position: Param['position'] = { line: 1, column: 1 };
  return { name: `${prefix}${at}`, required: false, schema: { type: 'string' }, position };
}

function valuesOf(prefix: string, texts: Texts): Readonly<Record<string, string | null>> {
  return Object.fromEntries(texts.map((text, at) => [`${prefix}${at}`, text]));
}

function isValueOf(type: string, text: string | null | undefined): boolean {
  const [kind = ''] = type.split(' ');
  if (text === null || text === undefined) return true;
  return isCursorKind(kind) && CURSOR_TYPES[kind](text);
}

/** Whether the collations of the texts of two rows hold them for equal. */
async function areEqual(
  run: RunQuery,
  { keys = [], ...query }: PreparedQuery,
  call: QueryCall,
  { last, next }: PageBorder,
): Promise<boolean> {
  const texts = [...keys.entries()].filter(([, { type }]) => type.startsWith('text'));
  if (texts.length === 0) return true;
  const equal = texts.map(([, { type }]) => {
    const [, set, collation] = type.split(' ');
    const value = `convert(? using ${set}) collate ${collation}`;
    return `${value} <=> ${value}`;
  });
  const params = texts.flatMap(([at]) => [cursorParam(at, 'svc_last_'), cursorParam(at, 'svc_next_')]);
  const values = { ...valuesOf('svc_last_', last), ...valuesOf('svc_next_', next) };
  const asked: PreparedQuery = {
    ...query,
    text: `select cast(if(${equal.join(' and ')}, 1, 0) as binary)`,
    params,
    probes: [],
    searches: [],
    required: [],
    hasFloats: false,
    callsOwn: false,
    setsCaller: false,
  };
  const { result } = await run(asked, { ...call, values });
  return Buffer.from(result.rows).toString() === '[1]';
}
