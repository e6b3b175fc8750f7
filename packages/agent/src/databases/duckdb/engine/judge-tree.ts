import { resolve } from 'node:path';
import { words } from '../../sql/words.ts';
import { knownFunctions, knownTableFunctions, readingFunctions, readingOptions } from './known-functions.ts';
import { foldName } from './names.ts';

/** A part of the tree that DuckDB's own parser makes of a statement. */
export type Tree = Readonly<Record<string, unknown>>;

/** A name in lower case; `schema` and `catalog` are empty if they are not written. */
export interface TreeName {
  readonly catalog: string;
  readonly schema: string;
  readonly name: string;
}

/** What a tree names, to be looked up in the database. */
interface TreeNames {
  readonly relations: readonly TreeName[];
  /** Functions that are called for a value. */
  readonly functions: readonly TreeName[];
  readonly tableFunctions: readonly TreeName[];
  /** In lower case. */
  readonly commonTables: ReadonlySet<string>;
  readonly parameters: ReadonlySet<string>;
}

export type TreeResult =
  | { readonly ok: true; readonly names: TreeNames }
  | { readonly ok: false; readonly problem: string };

const NODES = words('SELECT_NODE SET_OPERATION_NODE RECURSIVE_CTE_NODE CTE_NODE');
const RELATIONS = words('EMPTY BASE_TABLE SUBQUERY JOIN TABLE_FUNCTION EXPRESSION_LIST');
const MODIFIERS = words(`
  ORDER_MODIFIER LIMIT_MODIFIER LIMIT_PERCENT_MODIFIER DISTINCT_MODIFIER ORDER_DEFAULT ASCENDING DESCENDING
`);
/** Classes of expressions. Any other is refused, including those of later releases. */
const EXPRESSIONS = words(`
  BETWEEN CASE CAST COLLATE COLUMN_REF COMPARISON CONJUNCTION CONSTANT FUNCTION LAMBDA OPERATOR PARAMETER
  POSITIONAL_REFERENCE STAR SUBQUERY WINDOW
`);
/** The key under which an expression of that class has a value or the name of a type, which need not be judged. */
const PLAIN_KEYS: Readonly<Record<string, string>> = { CONSTANT: 'value', CAST: 'cast_type' };

class Refused extends Error {}

/** Judges every part of a tree by closed lists, and collects what it names. */
export function judgeTree(root: unknown, files: ReadFiles): TreeResult {
  const relations: TreeName[] = [];
  const functions: TreeName[] = [];
  const tableFunctions: TreeName[] = [];
  const commonTables = new Set<string>();
  const parameters = new Set<string>();

  function walk(part: unknown): void {
    if (Array.isArray(part)) {
      for (const each of part) walk(each);
      return;
    }
    if (!isTree(part)) return;
    if (typeof part['class'] === 'string') expression(part, part['class']);
    else if (typeof part['type'] === 'string') node(part, part['type']);
    if (isTree(part['cte_map']) && Array.isArray(part['cte_map']['map'])) {
      for (const each of part['cte_map']['map']) if (isTree(each)) commonTables.add(foldName(each['key']));
    }
    for (const [key, value] of Object.entries(part)) {
      if (key !== PLAIN_KEYS[String(part['class'])]) walk(value);
    }
  }

  function expression(part: Tree, kind: string): void {
    if (!EXPRESSIONS.has(kind)) throw new Refused(`uses ${spaced(kind)}, which is not allowed: remove it`);
    if (kind === 'PARAMETER') parameters.add(String(part['identifier']));
    if (kind === 'FUNCTION' || kind === 'WINDOW') functions.push(nameOf(part, 'function_name'));
  }

  function node(part: Tree, kind: string): void {
    if (kind === 'BASE_TABLE') relations.push(nameOf(part, 'table_name'));
    if (kind === 'TABLE_FUNCTION') {
      const called = part['function'];
      if (!isTree(called)) throw new Refused('reads by something that is no function');
      const name = nameOf(called, 'function_name');
      tableFunctions.push(name);
      if (readingFunctions.has(name.name)) judgeReading(name.name, called, files);
    }
    if (!NODES.has(kind) && !RELATIONS.has(kind) && !MODIFIERS.has(kind)) {
      throw new Refused(`uses ${spaced(kind)}, which is not allowed: remove it`);
    }
  }

  try {
    walk(root);
  } catch (error) {
    if (error instanceof Refused) return { ok: false, problem: error.message };
    throw error;
  }
  const called = new Set(tableFunctions.map(({ name }) => name));
  return {
    ok: true,
    names: {
      relations,
      // A function in FROM is also an expression of the tree.
      functions: functions.filter(({ name }) => !called.has(name)),
      tableFunctions,
      commonTables,
      parameters,
    },
  };
}

/** What SQL may read beside the database. */
export interface ReadFiles {
  readonly folder: string;
  /** Absolute; folders end with a slash. */
  readonly paths: readonly string[];
}

function judgeReading(name: string, called: Tree, files: ReadFiles): void {
  const [paths, ...options] = Array.isArray(called['children']) ? called['children'].filter(isTree) : [];
  if (paths === undefined) throw new Refused(`calls ${name} without a path`);
  for (const path of literalsOf(paths) ?? refusePath(name)) {
    if (!isWithin(path, files)) {
      throw new Refused(
        `reads a file by ${name} that is not below read_files of the database: add its folder there, or remove it`,
      );
    }
  }
  for (const option of options) {
    const title = optionName(option);
    if (!readingOptions.has(title))
      throw new Refused(`gives ${name} the option ${title || 'without a name'}, which is not allowed`);
  }
}

function refusePath(name: string): never {
  throw new Refused(`calls ${name} with a path that is not written out: write it as a text`);
}

/** Options are written `name = value` or `name := value`. */
function optionName(option: Tree): string {
  const { left } = option;
  if (option['class'] === 'COMPARISON' && isTree(left) && Array.isArray(left['column_names']))
    return left['column_names'].map(foldName).join('.');
  return foldName(option['alias'] ?? '');
}

/** The texts of a literal or of a list of literals; else undefined. */
function literalsOf(part: Tree): readonly string[] | undefined {
  if (part['class'] === 'CONSTANT') {
    const { value } = part;
    return isTree(value) && typeof value['value'] === 'string' ? [value['value']] : undefined;
  }
  if (part['class'] !== 'FUNCTION' || part['function_name'] !== 'list_value') return undefined;
  const items = Array.isArray(part['children']) ? part['children'].filter(isTree).map(literalsOf) : [];
  const known = items.flatMap((each) => each ?? []);
  return items.every((each) => each !== undefined) && known.length > 0 ? known : undefined;
}

/** Refuses paths with `..`, URLs, drives and `~` before they are resolved. */
function isWithin(path: string, { folder, paths }: ReadFiles): boolean {
  if (/(?:^|\/)\.\.(?:\/|$)/.test(path) || /^[A-Za-z][A-Za-z0-9+.-]*:/.test(path) || path.startsWith('~'))
    return false;
  const whole = resolve(folder, path);
  return paths.some((each) => (each.endsWith('/') ? whole.startsWith(each) : whole === each));
}

/** What is wrong with a function that is no macro of the database. */
export function problemOfFunction(
  { catalog, schema, name }: TreeName,
  allowed: readonly string[],
): string | undefined {
  const isBuiltIn = (catalog === '' || catalog === 'system') && (schema === '' || schema === 'main');
  if (isBuiltIn && (knownFunctions.has(name) || allowed.includes(name))) return undefined;
  return `calls ${name}, which is not known to only read: remove it`;
}

export function problemOfTableFunction({ name }: TreeName): string | undefined {
  if (knownTableFunctions.has(name) || readingFunctions.has(name)) return undefined;
  return `reads by ${name}, which is not allowed: remove it`;
}

export function isTree(part: unknown): part is Tree {
  return typeof part === 'object' && part !== null && !Array.isArray(part);
}

function nameOf(part: Tree, key: string): TreeName {
  return {
    catalog: foldName(part['catalog'] ?? part['catalog_name'] ?? ''),
    schema: foldName(part['schema'] ?? part['schema_name'] ?? ''),
    name: foldName(part[key]),
  };
}

function spaced(name: string): string {
  return name.replaceAll('_', ' ');
}
