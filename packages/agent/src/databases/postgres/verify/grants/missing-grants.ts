import { parseSync } from 'libpg-query';
import { DatabaseError, withRemedy } from '../../../driver/errors.ts';
import type { Statement } from '../../connection/statement.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { CATALOG_GRANTS, grantsStatement } from './grants-query.ts';
import { neededObjects, together, type NeededObject } from './needed-objects.ts';
import { PIN_SEARCH_PATH, runOwnStatements } from '../../execute/own-statements.ts';
import { INSUFFICIENT_PRIVILEGE } from '../../connection/server-errors.ts';
import { refusalMessage, type Refusal } from '../plan-statement.ts';

export interface MissingGrants {
  readonly sure: readonly string[];
  /** For a function that several have the name of. */
  readonly oneOf: readonly string[];
}

/** undefined_table, undefined_function, undefined_object: a schema that the account may not use is passed over. */
const UNDEFINED = new Set(['42P01', '42883', '42704']);
const HIDDEN = refusalMessage('what it names is in a schema that the account may not use');
const UNKNOWN = refusalMessage('the account lacks a privilege, and it is not known which');
const AMBIGUOUS = refusalMessage('the account may not execute the one of several functions that it calls');
const TIMEOUT_MS = 10_000;
const PATH: Statement = {
  text: "select pg_catalog.current_setting('search_path'), current_user::pg_catalog.text",
};

/** Adds to a refusal the statements that grant what the account lacks, if they are known. */
export async function withGrants(pool: SessionPool, refusal: Refusal, tree: unknown): Promise<Refusal> {
  const { sqlState = '', faults } = refusal;
  const isDenied = sqlState === INSUFFICIENT_PRIVILEGE;
  if (!isDenied && !UNDEFINED.has(sqlState)) return refusal;
  const { sure, oneOf } = await missingGrants(pool, tree);
  const isHidden = sure.some((grant) => grant.startsWith('GRANT USAGE ON SCHEMA '));
  if (!isDenied && !isHidden) return refusal;
  const told = sure.length > 0 ? sure.join('; ') : `one of: ${oneOf.join('; ')}`;
  return {
    ok: false,
    faults: faults.map((fault) => {
      if (sure.length === 0 && oneOf.length === 0) return { ...fault, message: UNKNOWN };
      const message = isDenied ? (sure.length > 0 ? fault.message : AMBIGUOUS) : HIDDEN;
      return withRemedy({ ...fault, message }, told);
    }),
  };
}

/** What the account lacks to run a statement; nothing if that cannot be told. */
export async function missingGrants(pool: SessionPool, tree: unknown): Promise<MissingGrants> {
  const found = chosen((await askOfNeeded(pool, [tree], grantsStatement)) ?? []);
  if (found.sure.length + found.oneOf.length > 0) return found;
  // The server may have refused the question of a check.
  return chosen((await ask(pool, [PIN_SEARCH_PATH, CATALOG_GRANTS])) ?? []);
}

/**
 * Asks about all that statements need, with what functions of SQL name: `question` gives a row of `BODIES` for each of
 * those. Undefined if the database does not say.
 */
export async function askOfNeeded(
  pool: SessionPool,
  trees: readonly unknown[],
  question: (needed: readonly NeededObject[]) => Statement,
): Promise<readonly Row[] | undefined> {
  const [[path, user] = []] = (await ask(pool, [PATH])) ?? [];
  const schemas = schemasOf(path ?? '', user ?? '');
  let needed = together(trees.flatMap((tree) => neededObjects(tree, schemas)));
  const bodies = new Set<string>();
  for (;;) {
    const rows = await ask(pool, [PIN_SEARCH_PATH, question(needed)]);
    const added = (rows ?? []).flatMap(([what, text, own]) => {
      if (what !== 'body' || bodies.has(text ?? '')) return [];
      bodies.add(text ?? '');
      return neededOfBody(text ?? '', schemasOf(own ?? path ?? '', user ?? ''));
    });
    if (added.length === 0) return rows;
    needed = together([...needed, ...added]);
  }
}

export type Row = readonly (string | null)[];

/** The rows of the last statement; undefined if the database does not say. */
async function ask(pool: SessionPool, statements: readonly Statement[]): Promise<readonly Row[] | undefined> {
  try {
    const { results } = await runOwnStatements(pool, { statements, timeoutMs: TIMEOUT_MS });
    return results.at(-1)?.rows ?? [];
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.kind === 'unavailable') throw error;
    return undefined;
  }
}

function chosen(rows: readonly Row[]): MissingGrants {
  const of = (kind: string): readonly string[] =>
    rows.flatMap(([what, text]) => (what === kind && typeof text === 'string' ? [text] : []));
  const [sure, maybe] = [of('sure'), of('maybe')];
  if (sure.length > 0) return { sure, oneOf: [] };
  return maybe.length === 1 ? { sure: maybe, oneOf: [] } : { sure: [], oneOf: maybe };
}

function neededOfBody(text: string, path: readonly string[]): readonly NeededObject[] {
  try {
    return neededObjects(parseSync(text), path);
  } catch {
    return [];
  }
}

/** With what is searched first although it is not written. */
function schemasOf(setting: string, user: string): readonly string[] {
  const written = setting.split(',').map((part) => {
    const schema = part.trim().replaceAll(/^"|"$/g, '').replaceAll('""', '"');
    return schema === '$user' ? user : schema;
  });
  return [...(written.includes('pg_catalog') ? [] : ['pg_catalog']), ...written];
}
