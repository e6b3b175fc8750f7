import { pageOf, type Chosen } from '../../clauses/choose.ts';
import { probesWith } from '../../sql/probes/value-probes.ts';
import { assemble, join } from './assemble.ts';
import {
  FEW_ROWS,
  type PreparedForms,
  type AssembledOrder,
  type AssembledQuery,
  type AssembledStatements,
  type PreparedQuery,
  type Statements,
} from './prepared-query.ts';

/** The one of the verified statements, as if the capability had no other. */
export function assembledQuery(
  verified: PreparedQuery,
  { filters, rows }: AssembledQuery,
  choice: Chosen<AssembledOrder>,
): PreparedQuery {
  const { filters: chosen } = choice;
  const [statements, page] = [statementsOf(choice), pageOf(choice)];
  const expected = Math.min(rows, ...chosen.map((index) => filters[index]?.rows ?? rows));
  const textsOf = (forms: PreparedForms): Statements & { readonly params: readonly number[] } => {
    const whole = assemble(forms, 'whole', chosen, page);
    const prefix = assemble(forms, 'prefix', chosen, page);
    const few = expected <= FEW_ROWS ? assemble(forms, 'few', chosen, page) : undefined;
    if (whole === undefined || prefix === undefined) throw new Error('cannot assemble a statement');
    return {
      whole: whole.text,
      prefix: prefix.text,
      params: whole.params,
      ...(few === undefined ? {} : { few: few.text }),
    };
  };
  const { params, ...own } = textsOf(statements.own);
  const { assembled: _assembled, shared, ...rest } = verified;
  const bound = params.flatMap((index) => verified.params[index] ?? []);
  return {
    ...rest,
    own,
    ...(shared === undefined || statements.shared === undefined
      ? {}
      : { shared: sharedOf(shared, textsOf(statements.shared)) }),
    params: bound,
    probes: probesWith(verified.probes, params),
  };
}

/**
 * Whether the server should plan it for its values. A plan for any values guesses well what part of a table a comparison
 * with one column finds, but takes a range with two ends, and what it cannot look into, for a very small one.
 */
export function plansEach({ filters }: AssembledQuery, { filters: chosen }: Chosen<AssembledOrder>): boolean {
  const ranges = new Set<string>();
  return chosen.some((index) => {
    const { compares } = filters[index] ?? {};
    if (compares === undefined) return true;
    if (!compares.isRange) return false;
    const isSecond = ranges.has(compares.column);
    ranges.add(compares.column);
    return isSecond;
  });
}

/** The text of the statement alone, with `$1`, `$2`, ... */
export function statementText(choice: Chosen<AssembledOrder>): string {
  const statements = statementsOf(choice);
  const made = join(statements.statement, statements.own, choice.filters, pageOf(choice));
  if (made === undefined) throw new Error('cannot assemble a statement');
  return made.text;
}

function statementsOf({ order: { first, pages }, after }: Chosen<AssembledOrder>): AssembledStatements {
  return after === undefined || pages === undefined ? first : pages.next;
}

function sharedOf(
  { relations, searchPath }: NonNullable<PreparedQuery['shared']>,
  { params: _params, ...statements }: Statements & { readonly params: readonly number[] },
): NonNullable<PreparedQuery['shared']> {
  return { ...statements, relations, searchPath };
}
