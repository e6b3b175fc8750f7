import { parseSync } from 'libpg-query';
import { DatabaseError } from '../../../driver/errors.ts';
import type { Statement } from '../../connection/pipeline.ts';
import { runOwnStatements } from '../../execute/own-statements.ts';
import { PIN_SEARCH_PATH } from '../../execute/pin-search-path.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { CATALOG_GRANTS, grantsStatement } from './grants-query.ts';
import { neededObjects, together, type NeededObject } from './needed-objects.ts';

export interface MissingGrants {
  /** Statements that are known to be needed. */
  readonly sure: readonly string[];
  /** One of these is needed, for a function that several have the name of. */
  readonly oneOf: readonly string[];
}

const TIMEOUT_MS = 10_000;
const PATH: Statement = {
  text: "select pg_catalog.current_setting('search_path'), current_user::pg_catalog.text",
};

/** What an account lacks to run a statement that the server refuses, by its parse tree. Nothing where that cannot be told. */
export async function missingGrants(pool: SessionPool, tree: unknown): Promise<MissingGrants> {
  const found = chosen((await askOfNeeded(pool, [tree], grantsStatement)) ?? []);
  if (found.sure.length + found.oneOf.length > 0) return found;
  // What was refused may be the question of a check.
  return chosen((await ask(pool, [PIN_SEARCH_PATH, CATALOG_GRANTS])) ?? []);
}

/**
 * Asks what is to be known of all that statements need, what functions of SQL name included: the question gives a row
 * of `BODIES` for each of those. Undefined where the database does not say.
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

/** The rows of the last statement; undefined where the database does not say. */
async function ask(pool: SessionPool, statements: readonly Statement[]): Promise<readonly Row[] | undefined> {
  try {
    const { results } = await runOwnStatements(pool, { statements, capability: '', timeoutMs: TIMEOUT_MS });
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

/** Of a setting of search_path, with what is searched first although it is not written. */
function schemasOf(setting: string, user: string): readonly string[] {
  const written = setting.split(',').map((part) => {
    const schema = part.trim().replaceAll(/^"|"$/g, '').replaceAll('""', '"');
    return schema === '$user' ? user : schema;
  });
  return [...(written.includes('pg_catalog') ? [] : ['pg_catalog']), ...written];
}
