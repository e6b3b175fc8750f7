import type { Capability } from '../../../capabilities/model.ts';
import { fillTemplate, type FilledTemplate, type Template } from '../../sql/template.ts';
import { callerParams, reservedNames } from '../../sql/caller-variables.ts';
import { refused, type ReadResult } from '../../sql/fault-at.ts';
import { cutAtParameters } from '../../sql/named-parameters.ts';
import {
  oneSelect,
  type CalledFunction,
  type OneSelect,
  type OneSelectResult,
} from '../../sql/one-select.ts';
import { listParameters, misplacedLists, type ListPlaces } from '../../sql/places/list-places.ts';
import { misplacedScalars } from '../../sql/places/misplaced-scalars.ts';
import { loneParameter, rowCounts } from '../../sql/places/row-counts.ts';
import { isWord, parameterIndexes } from '../../sql/places/tokens.ts';
import { scanSql, type SqlToken } from '../../sql/scanner.ts';
import { LIST } from '../execute/expand-lists.ts';
import type { PlacedParam } from '../execute/prepared-query.ts';
import { forbiddenFunctions, unknownFunctions } from './known-functions.ts';
import { lexicon } from './lexicon.ts';
import { listPlaces } from './places/list-places.ts';
import { placeholderFor } from './places/text-places.ts';
import { vocabulary } from '../dialect/vocabulary.ts';

export interface ReadStatement {
  readonly select: OneSelect;
  /** With a `?` for each of its parameters, or a `LIST`. */
  readonly text: string;
  /** The same, with the place of each. */
  readonly filled: FilledTemplate;
  readonly params: readonly PlacedParam[];
  /** The text with something else for each parameter. */
  readonly textWith: (written: (param: PlacedParam, number: number) => string) => string;
  /** Whether it reads the caller. */
  readonly asksCaller: boolean;
}

/** MariaDB accepts these before the names of its own functions. */
const OWN_SCHEMAS = /^(?:mariadb|oracle|maxdb)_schema\./i;

/** Checks a capability's SQL without a database. The text is for a server of that kind. */
export function readStatement(capability: Capability, isMariaDb = true): ReadResult<ReadStatement> {
  const { sql } = capability;
  const scanned = scanSql(sql, lexicon);
  if (!scanned.ok) return refused(capability, { message: scanned.problem });
  const judged = judgeTokens(scanned.tokens);
  if (!judged.ok) return refused(capability, { message: judged.problem });
  const { select } = judged;
  const variables = new Set(
    select.body.flatMap(({ kind, text }) => (kind === 'variable' ? [text.slice(1)] : [])),
  );
  const cut = cutAtParameters(sql, scanned.tokens, select.body, [
    ...capability.params,
    ...callerParams([...variables], capability),
  ]);
  const faults = [
    ...problemsOfFunctions(select.functions, capability.allowFunctions).map((message) => ({ message })),
    ...reservedNames(capability),
    ...misplacedLists(select.body, capability, listPlacesOf(capability)),
    ...misplacedScalars(select.body, capability),
    ...(cut.ok ? [] : cut.faults),
  ];
  if (!cut.ok || faults.length > 0) return refused(capability, ...faults);
  const params = placedParams(cut.template, select.body, capability);
  const indexes = parameterIndexes(select.body);
  const placeholders = params.map((param, index) => ({ number: index + 1, param }));
  const fill = (written: (param: PlacedParam, index: number) => string): FilledTemplate =>
    fillTemplate(cut.template, placeholders, ({ param, number }) => {
      const text = written(param, number - 1);
      return { text, offset: Math.max(0, text.indexOf(param.isList ? LIST : '?')) };
    });
  const textWith: ReadStatement['textWith'] = (written) => fill(written).text;
  const filled = fill((param, number) => {
    if (param.isList) return LIST;
    // A variable would bring its own collation, and the server refuses to compare that with most columns.
    if (variables.has(param.name)) return "concat('', ?)";
    return isMariaDb ? '?' : placeholderFor(select.body, indexes[number] ?? -1, param);
  });
  const { text } = filled;
  return { ok: true, read: { select, text, filled, params, textWith, asksCaller: variables.size > 0 } };
}

/** Stored functions may take JSON text. */
function listPlacesOf({ allowFunctions }: Capability): ListPlaces {
  const any = Array.from({ length: 20 }, (_, index) => index);
  const own = allowFunctions.map((name) => [name.split('.').at(-1) ?? name, any] as const);
  return { ...listPlaces, functions: { ...Object.fromEntries(own), ...listPlaces.functions } };
}

/** In LIMIT the servers read null as 0, and accept no expression. */
const NO_LIMIT = String(2n ** 63n - 1n);

function placedParams(
  { params, references }: Template,
  body: readonly SqlToken[],
  capability: Capability,
): readonly PlacedParam[] {
  const lists = new Set(listParameters(body, capability).map(({ index }) => index));
  const counts = new Map(rowCounts(body).map((count) => [loneParameter(body, count), count.of]));
  const tokens = parameterIndexes(body);
  return references.flatMap((reference, at): readonly PlacedParam[] => {
    const [param, token] = [params[reference], tokens[at] ?? -1];
    if (param === undefined) return [];
    if (lists.has(token)) return [{ ...param, isList: true }];
    const counted = counts.get(token);
    return [counted === undefined ? param : { ...param, ifNull: counted === 'limit' ? NO_LIMIT : '0' }];
  });
}

/** The same rules for the text of a view, which a statement runs when it reads the view. */
export function judgeText(sql: string, allowFunctions: readonly string[]): OneSelectResult {
  const scanned = scanSql(sql, lexicon);
  if (!scanned.ok) return scanned;
  if (scanned.tokens.some(({ kind }) => kind === 'parameter' || kind === 'variable'))
    return { ok: false, problem: 'has a parameter' };
  const judged = judgeTokens(scanned.tokens);
  if (!judged.ok) return judged;
  const [problem] = problemsOfFunctions(judged.select.functions, allowFunctions);
  return problem === undefined ? judged : { ok: false, problem };
}

function judgeTokens(tokens: readonly SqlToken[]): OneSelectResult {
  const judged = oneSelect(tokens, vocabulary);
  if (!judged.ok) return judged;
  const { body } = judged.select;
  if (body.some((token, index) => isWord(token, /^rows$/i) && isWord(body[index + 1], /^examined$/i))) {
    return {
      ok: false,
      problem: 'uses LIMIT ROWS EXAMINED, which gives some rows as if they were all: remove it',
    };
  }
  return judged;
}

function problemsOfFunctions(
  functions: readonly CalledFunction[],
  allowed: readonly string[],
): readonly string[] {
  return unknownFunctions(functions).flatMap((name) => {
    // The servers take these names for their own functions even if a stored function has the name.
    if (forbiddenFunctions.has(name.replace(OWN_SCHEMAS, ''))) {
      return [`calls ${name}, which does more than read and is never allowed: remove it`];
    }
    const [title = ''] = name.split('.').slice(-1);
    if (allowed.includes(name) || allowed.includes(title)) return [];
    return [
      `calls ${name}, which is not known to only read: remove it, or, if it is your own function and only reads, add it to allow_functions`,
    ];
  });
}
