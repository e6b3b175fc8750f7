import type { Capability } from '../../../capabilities/model.ts';
import type { EngineParam } from '../../engine-process/engine-queries.ts';
import { callerParams, reservedNames } from '../../sql/caller-variables.ts';
import { refused, type ReadResult } from '../../sql/fault-at.ts';
import { fillTemplate, type FilledTemplate } from '../../sql/template.ts';
import { cutAtParameters, namesOfParameters } from '../../sql/named-parameters.ts';
import { oneSelect, type CalledFunction, type OneSelect } from '../../sql/one-select.ts';
import { markLists, misplacedLists } from '../../sql/places/list-places.ts';
import { misplacedScalars } from '../../sql/places/misplaced-scalars.ts';
import { scanSql, type SqlToken } from '../../sql/scanner.ts';
import { presetsBeyond } from '../../sql/signed-integer.ts';
import { knownTableFunctions, problemOfFunction } from '../engine/known-functions.ts';
import { lexicon } from './lexicon.ts';
import { listPlaces } from './list-places.ts';
import { rewriteStatement } from './rewrite-statement.ts';
import { vocabulary } from '../dialect/vocabulary.ts';

export interface ReadStatement {
  readonly select: OneSelect;
  /** With ?1, ?2 and so on as placeholders. */
  readonly filled: FilledTemplate;
  readonly params: readonly EngineParam[];
  /** The parameters that name the caller and that the capability does not declare. */
  readonly callerParams: readonly string[];
  /** Whether a LIMIT may be appended. */
  readonly takesLimit: boolean;
}

/** Checks a capability's SQL without a database. */
export function readStatement(capability: Capability): ReadResult<ReadStatement> {
  const { sql } = capability;
  const scanned = scanSql(sql, lexicon);
  if (!scanned.ok) return refused(capability, { message: scanned.problem });
  const { tokens } = scanned;
  const problem = problemOfTokens(tokens);
  if (problem !== undefined) return refused(capability, { message: problem });
  const judged = oneSelect(tokens, vocabulary);
  if (!judged.ok) return refused(capability, { message: judged.problem });
  const { select } = judged;
  const own = callerParams(namesOfParameters(select.body), capability);
  const text = rewriteStatement(sql, select.body, capability);
  const rewritten = bodyOf(text);
  if (rewritten === undefined)
    return refused(capability, { message: 'cannot be read once its parameters are put in' });
  const cut = cutAtParameters(text, tokens, rewritten, [...capability.params, ...own]);
  const faults = [
    ...problemsOfFunctions(select.functions, capability.allowFunctions).map((message) => ({ message })),
    ...reservedNames(capability),
    ...presetsBeyond(capability),
    ...misplacedLists(select.body, capability, listPlaces),
    ...misplacedScalars(select.body, capability),
    ...(cut.ok ? [] : cut.faults),
  ];
  if (!cut.ok || faults.length > 0) return refused(capability, ...faults);
  const { template } = cut;
  const placeholders = template.references.map((index) => ({ number: index + 1 }));
  return {
    ok: true,
    read: {
      select,
      filled: fillTemplate(template, placeholders, ({ number }) => ({ text: `?${number}` })),
      params: markLists(template.params, select.body, capability),
      callerParams: own.map(({ name }) => name),
      takesLimit: !select.isLimited && !endsWithValues(select.body),
    },
  };
}

function bodyOf(text: string): readonly SqlToken[] | undefined {
  const scanned = scanSql(text, lexicon);
  const judged = scanned.ok ? oneSelect(scanned.tokens, vocabulary) : undefined;
  return judged?.ok === true ? judged.select.body : undefined;
}

/** What SQLite reads differently from the scanner: variables of another language, and a byte order mark, which it skips. */
function problemOfTokens(tokens: readonly SqlToken[]): string | undefined {
  const words = tokens.filter(({ kind }) => kind === 'word');
  if (words.some(({ text }) => text.startsWith('$'))) return 'uses $: write parameters as :name';
  if (words.some(({ text }) => text.includes('\uFEFF')))
    return 'contains a byte order mark outside of quotes: remove it';
  return undefined;
}

/** SQLite accepts no LIMIT after the VALUES of a compound. */
function endsWithValues(body: readonly SqlToken[]): boolean {
  return body.some(({ kind, text }) => kind === 'word' && /^values$/i.test(text));
}

function problemsOfFunctions(
  functions: readonly CalledFunction[],
  allowed: readonly string[],
): readonly string[] {
  const problems = functions.flatMap(({ name }) =>
    knownTableFunctions.has(name) ? [] : (problemOfFunction(name, allowed) ?? []),
  );
  return [...new Set(problems)];
}
