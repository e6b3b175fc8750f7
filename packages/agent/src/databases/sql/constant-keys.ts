import type { Capability } from '../../capabilities/model.ts';
import type { Fault } from '../../capabilities/fault.ts';
import { faultAt } from './fault-at.ts';
import { betweenCommas, isOperator } from './places/tokens.ts';
import type { SqlToken } from './scanner.ts';
import { words } from './words.ts';

/** What begins a list of keys, as messages name it. */
export type KeyClause = 'ORDER BY' | 'GROUP BY' | 'PARTITION BY' | 'DISTINCT ON';

/** Functions whose result depends only on their arguments. */
export const PURE_FUNCTIONS: ReadonlySet<string> = words(
  'btrim coalesce concat format ifnull initcap lower ltrim nullif quote_ident replace rtrim trim upper',
);

/** Words of expressions that read no column. */
const WORDS = words('and asc between case desc else end false in is like not null nulls or then true when');
/** What ends a list of keys. */
const ENDS = words(`
  except fetch for group groups having intersect into limit lock offset order qualify range rows separator union using
  window with
`);

/** A caller's value is no column: such a key is the same for all rows. */
export function constantKey(capability: Capability, name: string, clause: KeyClause): Fault {
  const what = clause === 'ORDER BY' ? 'sorts nothing' : 'tells no rows apart';
  const message = `is a value, not a column, so as a key of ${clause} it ${what}: choose the column in the SQL, as in case when :${name} = 'name' then name end`;
  return faultAt(capability, { message }, name);
}

/** One warning for each parameter that is a key, alone or with constants, and for each clause. */
export function constantKeyWarnings(
  capabilities: readonly Capability[],
  /** The statement without its comments; empty for one that is at fault. */
  bodyOf: (capability: Capability) => readonly SqlToken[],
): readonly Fault[] {
  return capabilities.flatMap((capability) => {
    const body = bodyOf(capability);
    const warnings = new Map<string, Fault>();
    for (const [at] of body.entries()) {
      const clause = clauseAt(body, at);
      if (clause === undefined) continue;
      for (const key of keysFrom(body.slice(at + (clause === 'DISTINCT ON' ? 3 : 2)))) {
        const names = key.filter(({ kind }) => kind === 'parameter').map(({ text }) => text.slice(1));
        if (names.length === 0 || !key.every((_, index) => isConstant(key, index))) continue;
        for (const name of names) warnings.set(`${clause} ${name}`, constantKey(capability, name, clause));
      }
    }
    return [...warnings.values()];
  });
}

function clauseAt(body: readonly SqlToken[], at: number): KeyClause | undefined {
  const [first, second] = [wordAt(body, at), wordAt(body, at + 1)];
  if (first === 'distinct' && second === 'on' && body[at + 2]?.text === '(') return 'DISTINCT ON';
  if (second !== 'by') return undefined;
  if (first === 'order') return 'ORDER BY';
  if (first === 'group') return 'GROUP BY';
  return first === 'partition' ? 'PARTITION BY' : undefined;
}

function wordAt(tokens: readonly SqlToken[], at: number): string | undefined {
  const token = tokens[at];
  return token?.kind === 'word' ? token.text.toLowerCase() : undefined;
}

/** The keys at the beginning of `tokens`. */
function keysFrom(tokens: readonly SqlToken[]): readonly (readonly SqlToken[])[] {
  let depth = 0;
  const end = tokens.findIndex((token, at) => {
    if (isOperator(token, '(')) depth += 1;
    if (isOperator(token, ')')) depth -= 1;
    return depth < 0 || (depth === 0 && ENDS.has(wordAt(tokens, at) ?? ''));
  });
  return betweenCommas(end < 0 ? tokens : tokens.slice(0, end));
}

/** Whether the token certainly reads no column. */
function isConstant(key: readonly SqlToken[], at: number): boolean {
  const token = key[at];
  if (token?.kind === 'name' || token?.kind === 'variable') return false;
  const word = wordAt(key, at);
  if (word === undefined || WORDS.has(word)) return true;
  const before = wordAt(key, at - 1);
  if (key[at + 1]?.text === '(' && (word === 'cast' || PURE_FUNCTIONS.has(word))) return true;
  if (word === 'as' || word === 'collate') return true;
  // The type of a cast, a collation, or NULLS FIRST.
  if (before === 'as' || before === 'collate' || before === 'nulls') return true;
  return key[at - 1]?.kind === 'operator' && key[at - 1]?.text.endsWith(':') === true;
}
