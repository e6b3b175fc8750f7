import { hasSqlDetails, parseSync } from 'libpg-query';
import { textOf } from '../../connection/server-errors.ts';
import { inside, isNode, namesIn, walk, type TreeNode } from './tree.ts';
import { writtenCasts, type WrittenType } from './written-casts.ts';

export interface QualifiedName {
  readonly schema?: string;
  readonly name: string;
}

export interface Inspected {
  /** The one SelectStmt. */
  readonly tree: TreeNode;
  readonly functions: readonly QualifiedName[];
  readonly operators: readonly string[];
  readonly parameters: readonly { readonly number: number; readonly offset: number }[];
  /** The offsets of those, cast once, that are only asked whether they are null: they may be of any type. */
  readonly nullTested: readonly number[];
  /** See `writtenCasts`; the casts of this service are among them. */
  readonly casts: ReadonlyMap<number, readonly (WrittenType | undefined)[]>;
}

interface InspectFault {
  readonly message: string;
  readonly detail?: string;
}

export type InspectResult =
  | { readonly ok: true; readonly inspected: Inspected }
  | { readonly ok: false; readonly faults: readonly InspectFault[] };

const ONE_SELECT = 'must be one SELECT, VALUES or WITH ... SELECT';

/** Accepts exactly one reading statement, by PostgreSQL's own parser. The module must have been loaded. */
export function inspectSelect(text: string): InspectResult {
  let parsed: unknown;
  try {
    parsed = parseSync(text);
  } catch (error) {
    return { ok: false, faults: [tooDeep(error) ?? syntaxFault(error, text)] };
  }
  const statements = isNode(parsed) && Array.isArray(parsed['stmts']) ? parsed['stmts'] : [];
  const statement: unknown = statements.length === 1 ? statements[0] : undefined;
  const root = isNode(statement) && isNode(statement['stmt']) ? statement['stmt'] : {};
  const tree = root['SelectStmt'];
  if (!isNode(tree)) return { ok: false, faults: [{ message: ONE_SELECT }] };

  const messages = new Set<string>();
  const functions: QualifiedName[] = [];
  const operators = new Set<string>();
  const parameters: { number: number; offset: number }[] = [];
  const nullTested: number[] = [];
  walk(root, (key, child) => {
    const refusal = refusalOf(key);
    if (refusal !== undefined) messages.add(refusal);
    if (!isNode(child)) return;
    if (key === 'FuncCall') functions.push(qualifiedName(namesIn(child['funcname'])));
    for (const { name } of operatorsOf(key, child)) operators.add(name);
    if (key === 'NullTest') {
      const tested = inside(child, 'arg', 'TypeCast', 'arg', 'ParamRef');
      if (tested !== undefined) nullTested.push(Number(tested['location'] ?? 0));
    }
    if (key === 'ParamRef') {
      parameters.push({ number: Number(child['number'] ?? 0), offset: Number(child['location'] ?? 0) });
    }
  });
  if (messages.size > 0) return { ok: false, faults: [...messages].map((message) => ({ message })) };
  const casts = writtenCasts(tree);
  return {
    ok: true,
    inspected: { tree, functions, operators: [...operators], parameters, nullTested, casts },
  };
}

/** The operators that a node uses itself: those of its text, and those that it implies, as BETWEEN does. */
export function operatorsOf(key: string, node: TreeNode): readonly QualifiedName[] {
  const written = OPERATOR_FIELDS[key];
  const names = written === undefined ? [] : namesIn(node[written]);
  return [
    ...(names.length === 0 ? [] : [qualifiedName(names)]),
    ...impliedOperators(key, node).map((name) => ({ name })),
  ];
}

const OPERATOR_FIELDS: Readonly<Record<string, string>> = {
  A_Expr: 'name',
  SubLink: 'operName',
  SortBy: 'useOp',
};

function impliedOperators(key: string, node: TreeNode): readonly string[] {
  switch (key) {
    case 'A_Expr':
      return String(node['kind']).includes('BETWEEN') ? ['<', '<=', '>', '>='] : [];
    case 'CaseExpr':
      return 'arg' in node ? ['='] : [];
    case 'JoinExpr':
      return 'usingClause' in node || node['isNatural'] === true ? ['='] : [];
    case 'SubLink':
      return node['subLinkType'] === 'ANY_SUBLINK' ? ['='] : [];
    default:
      return [];
  }
}

/** The numbers of the parameters in the outermost expression that begins, or has its operator, at a byte offset. */
export function parametersAt(tree: TreeNode, offset: number): readonly number[] {
  let found: readonly number[] | undefined;
  walk(tree, (key, child) => {
    if (found !== undefined || !isNode(child) || child['location'] !== offset) return;
    const numbers: number[] = [];
    walk({ [key]: child }, (inner, node) => {
      if (inner === 'ParamRef' && isNode(node)) numbers.push(Number(node['number'] ?? 0));
    });
    if (numbers.length > 0) found = numbers;
  });
  return found ?? [];
}

function refusalOf(key: string): string | undefined {
  if (key === 'intoClause') return `${ONE_SELECT}: remove INTO`;
  if (key === 'lockingClause') return `${ONE_SELECT}: remove FOR UPDATE or FOR SHARE, which lock rows`;
  if (key.endsWith('Stmt') && key !== 'SelectStmt')
    return `${ONE_SELECT}: it contains a statement that does not only read`;
  return undefined;
}

/** The last two parts: a database name before them can only be the current one. */
export function qualifiedName(names: readonly string[]): QualifiedName {
  const name = names.at(-1) ?? '';
  const schema = names.at(-2);
  return schema === undefined ? { name } : { schema, name };
}

function syntaxFault(error: unknown, text: string): InspectFault {
  const position = hasSqlDetails(error) ? error.sqlDetails?.cursorPosition : undefined;
  const where = position === undefined ? '' : ` in its line ${lineAt(text, position)}`;
  return {
    message: `is not valid SQL${where}`,
    detail: textOf(error),
  };
}

/** The parser counts characters, not UTF-16 units. */
function lineAt(text: string, position: number): number {
  return Array.from(text).slice(0, position).join('').split('\n').length;
}

/**
 * The fault of SQL that nests deeper than the stack of the parser, of WebAssembly or of this process; undefined for
 * another error. Such an error leaves nothing behind: what reads SQL only reads.
 */
export function tooDeep(error: unknown): { readonly message: string; readonly detail: string } | undefined {
  const detail = textOf(error);
  if (!(error instanceof RangeError) && !detail.startsWith('memory exhausted')) return undefined;
  const message =
    'nests too deep to be checked: put fewer subselects, calls, parentheses or operators inside each other, for example by WITH, a join or = any (array[...])';
  return { message, detail };
}
