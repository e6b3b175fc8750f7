import type { Capability } from '../../../../capabilities/model.ts';
import { mayFallAway } from '../../../../capabilities/clauses.ts';
import type { VerificationFault } from '../../../driver/errors.ts';
import { atFilter, filterFault, filtersOf, MAY_DIFFER } from '../../../clauses/compose.ts';
import { pageConditions } from '../../../clauses/page-condition.ts';
import { numbered, type Marks, type Part } from '../../../clauses/parts.ts';
import { assembledText, markedStatement, sourceOf, type Clause } from '../../../clauses/statement-source.ts';
import { faultAt, type CheckResult } from '../../../sql/fault-at.ts';
import {
  FEW_ROWS,
  type PreparedForms,
  type AssembledOrder,
  type AssembledPages,
  type AssembledStatements,
  type BoundParam,
  type PreparedQuery,
  type ResultForm,
  type Statements,
} from '../../execute/prepared-query.ts';
import { assemble } from '../../execute/assemble.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { checkTyped, typeStatement, type Known, type WrappingOf } from '../check-statement.ts';
import { readPlan } from '../functions/known-functions.ts';
import { askVolatile, step } from '../plan-statement.ts';
import { inspectSelect } from '../statement/inspect.ts';
import { sameParameters, type ReadStatement } from '../statement/read-statement.ts';
import { inside, isSameTree, listIn, type TreeNode } from '../statement/tree.ts';
import { planStatement, type TypedStatement } from '../types/choose-types.ts';
import type { ReadAssembled } from './read-assembled.ts';
import { comparedColumn } from './read-clauses.ts';
import { faultsOfFilters } from './faults-of-filters.ts';
import { PAGE_DIALECT, sqlOrders, type SqlOrder } from './sort-orders.ts';

const FORMS: readonly ResultForm[] = ['few', 'whole', 'prefix'];

/**
 * Proves every statement of a capability that is assembled at each call. In full: that with no filter, and that with all in
 * each order, on the first page and the next. Each filter alone by its plan. All others are made of the same parts.
 */
export async function checkAssembled(
  pool: SessionPool,
  capability: Capability,
  statement: ReadAssembled,
  known: Known,
): Promise<CheckResult<PreparedQuery>> {
  const typed = await typeStatement(pool, statement.plain, statement, known);
  if (!typed.ok) return { ...typed, faults: await faultsOfFilters(pool, capability, known, typed.faults) };
  const sorted = await sqlOrders(pool, capability, typed.plan.columns);
  if (!sorted.ok) return { ok: false, faults: sorted.faults };
  return new Assembly(pool, { capability, statement, known, typed, orders: sorted.orders }).check();
}

interface Subject {
  readonly capability: Capability;
  readonly statement: ReadAssembled;
  readonly known: Known;
  readonly typed: TypedStatement & { readonly ok: true };
  readonly orders: readonly SqlOrder[];
}

/** A statement of the capability that was verified, in which each part has its marks. */
interface Verified {
  readonly query: PreparedQuery;
  readonly capability: Capability;
  readonly chosen: readonly number[];
  /** The indices of the parameters of `$1`, `$2`, ... */
  readonly params: readonly number[];
  readonly text: string;
}

type Checked = { readonly ok: true; readonly verified: Verified } | Refused;
interface Refused {
  readonly ok: false;
  readonly faults: readonly VerificationFault[];
}

class Assembly {
  readonly #pool: SessionPool;
  readonly #subject: Subject;
  readonly #marks: Marks;
  readonly #source: ReturnType<typeof sourceOf>;
  readonly #all: readonly number[];
  /** Those of the statement, then one for each value of a cursor. */
  readonly #params: readonly BoundParam[];
  readonly #hasPages: boolean;

  constructor(pool: SessionPool, subject: Subject) {
    const { capability, statement, typed, orders } = subject;
    this.#pool = pool;
    this.#subject = subject;
    this.#marks = statement.marks;
    this.#source = sourceOf(typed.read.rewritten, statement.marks);
    this.#all = [...filtersOf(capability).keys()];
    this.#hasPages = capability.clauses?.hasPages === true;
    const cursor = capability.params.find(({ madeBy }) => madeBy === 'paging');
    const values = cursor === undefined ? [] : orders.flatMap(({ casts }) => [...casts.entries()]);
    this.#params = [
      ...typed.params,
      ...values.flatMap(([ofCursor, cast]) =>
        cursor === undefined ? [] : [{ param: cursor, casts: [cast], written: [], ofCursor }],
      ),
    ];
  }

  async check(): Promise<CheckResult<PreparedQuery>> {
    const { capability, typed, orders, statement, known } = this.#subject;
    const estimates = await this.#estimate();
    if (!estimates.ok) return estimates;
    const fewRows = [estimates.rows, ...estimates.ofFilters].some((rows) => rows <= FEW_ROWS);
    const wrapping: WrappingOf = { isAssembled: true, fewRows };
    const borderOf = (order: SqlOrder | undefined): WrappingOf =>
      this.#hasPages && order !== undefined ? { ...wrapping, border: order.border } : wrapping;
    const [standard] = orders;
    const none =
      this.#all.length === 0
        ? undefined
        : await this.#verify(NONE, standard && { orderBy: standard.orderBy }, borderOf(standard));
    if (none?.ok === false) return none;
    const assembled: AssembledOrder[] = [];
    const verified: Verified[] = none === undefined ? [] : [none.verified];
    let whole: Verified | undefined;
    let firstValue = typed.params.length;
    for (const order of orders.length > 0 ? orders : [undefined]) {
      const clause = order && { orderBy: order.orderBy };
      const first = await this.#verify(this.#all, clause, borderOf(order));
      if (!first.ok)
        return { ok: false, faults: await faultsOfFilters(this.#pool, capability, known, first.faults) };
      verified.push(first.verified);
      whole ??= first.verified;
      let pages: { readonly next: Verified; readonly conditions: AssembledPages['conditions'] } | undefined;
      if (this.#hasPages && order !== undefined && clause !== undefined) {
        const conditions = pageConditions(order.pageTerms(firstValue), PAGE_DIALECT);
        const next = await this.#verify(
          this.#all,
          { ...clause, page: conditions['v'.repeat(order.casts.length)] ?? [] },
          borderOf(order),
        );
        if (!next.ok) return next;
        verified.push(next.verified);
        pages = { next: next.verified, conditions };
        firstValue += order.casts.length;
      }
      assembled.push({
        name: order?.name ?? '',
        first: this.#statementsOf(first.verified),
        ...(pages === undefined || order === undefined
          ? {}
          : {
              pages: {
                next: this.#statementsOf(pages.next),
                conditions: pages.conditions,
                fields: order.border.map(({ name }) => name),
                terms: order.terms,
              },
            }),
      });
    }
    if (whole === undefined) throw new Error('verified no statement with all filters');
    const own = verified.find(({ query }) => query.transaction?.form === 'own');
    const sharing = (own ?? whole).query.transaction;
    const filters = filtersOf(capability).map((param, index) => {
      const compares = comparedColumn(param.filter?.sql ?? '');
      return {
        name: param.name,
        stands: !mayFallAway(param),
        rows: estimates.ofFilters[index] ?? Number.POSITIVE_INFINITY,
        ...(compares === undefined ? {} : { compares }),
      };
    });
    const { shared, ...unshared } = whole.query;
    const isShared = own === undefined && shared !== undefined;
    const query: PreparedQuery = {
      ...unshared,
      own: this.#stripped(whole.query.own),
      ...(sharing === undefined ? {} : { transaction: sharing }),
      ...(isShared ? { shared: { ...shared, ...this.#stripped(shared) } } : {}),
      params: this.#params,
      assembled: {
        filters,
        rows: estimates.rows,
        orders: isShared ? assembled : assembled.map(withoutShared),
      },
    };
    const differing = verified.find((each) => !this.#isAsAssembled(each, query));
    if (differing !== undefined) {
      const message = 'is not assembled as it was verified: write one plain SELECT';
      return { ok: false, faults: [faultAt(statement.plain, { message })] };
    }
    return { ok: true, query, capability: this.#narrowed(whole.capability) };
  }

  /** Plans the statement with no filter, and with each filter alone. */
  async #estimate(): Promise<
    { readonly ok: true; readonly rows: number; readonly ofFilters: readonly number[] } | Refused
  > {
    const { capability } = this.#subject;
    const base = await this.#plan(NONE);
    if (!base.ok) return base;
    const ofFilters: number[] = [];
    const faults: VerificationFault[] = [];
    for (const [index, param] of filtersOf(capability).entries()) {
      const alone = await this.#plan([index]);
      if (!alone.ok) faults.push(...alone.faults.map((fault) => atFilter(capability, param, fault)));
      else if (base.isVolatile ? this.#namesVolatile(index) : alone.isVolatile) {
        const message = `calls something that ${MAY_DIFFER}`;
        faults.push(filterFault(capability, param, { message }));
      } else ofFilters.push(alone.rows);
    }
    return faults.length > 0 ? { ok: false, faults } : { ok: true, rows: base.rows, ofFilters };
  }

  /** Only its names tell, where the statement around it is volatile in any case. */
  #namesVolatile(index: number): boolean {
    const { text } = numbered(this.#source.filters[index] ?? []);
    const read = inspectSelect(`select 1 where ${this.#marks.strip(text)}`);
    const named = read.ok ? read.inspected.functions : [];
    return this.#subject.known.dependencies.functionsNamed(named).some(({ isVolatile }) => isVolatile);
  }

  async #plan(
    chosen: readonly number[],
  ): Promise<{ readonly ok: true; readonly rows: number; readonly isVolatile: boolean } | Refused> {
    const { plain } = this.#subject.statement;
    const { text, params } = numbered(markedStatement(this.#source, this.#marks, chosen));
    const { statements, isVolatile } = askVolatile(this.#marks.strip(text), params.length);
    const planned = await step(this.#pool, plain, statements);
    if (!planned.ok) return planned;
    const { results } = planned.output;
    const plan = readPlan(JSON.parse(results[2]?.rows[0]?.[0] ?? 'null'));
    return { ok: true, rows: plan.rows, isVolatile: isVolatile(results) };
  }

  async #verify(
    chosen: readonly number[],
    clause: Clause | undefined,
    wrapping: WrappingOf,
  ): Promise<Checked> {
    const { statement, known } = this.#subject;
    const { plain } = statement;
    const read = this.#read(chosen, clause);
    if (!read.ok) return read;
    const planned = await planStatement(this.#pool, plain, read.read);
    if (!planned.ok) return planned;
    const params = read.params.map((index) => this.#params[index]).filter((param) => param !== undefined);
    const typed = { read: read.read, plan: planned.plan, params };
    const checked = await checkTyped(this.#pool, plain, typed, known, wrapping);
    if (!checked.ok) return checked;
    const { query, capability } = checked;
    const { text } = read.read.rewritten;
    return { ok: true, verified: { query, capability, chosen, params: read.params, text } };
  }

  /** Reads one of the statements as PostgreSQL does, and proves that it holds the author's in its place. */
  #read(
    chosen: readonly number[],
    clause: Clause | undefined,
  ): { readonly ok: true; readonly read: ReadStatement; readonly params: readonly number[] } | Refused {
    const { typed, statement } = this.#subject;
    const { plain } = statement;
    const places: { number: number; offset: number }[] = [];
    const parts = markedStatement(this.#source, this.#marks, chosen, clause);
    const { text, params } = this.#numbered(parts, places);
    const result = inspectSelect(text);
    if (!result.ok) return { ok: false, faults: result.faults.map((fault) => faultAt(plain, fault)) };
    const { inspected } = result;
    const isWhole = chosen.length === this.#all.length;
    const expected = typed.read.inspected.tree;
    const rewritten = { text, places };
    if (
      !sameParameters(rewritten, inspected) ||
      (isWhole && clause !== undefined && !holds(inspected.tree, expected))
    ) {
      const message = 'reaches out of its place in the statement around it: write one plain SELECT';
      return { ok: false, faults: [faultAt(plain, { message })] };
    }
    const used = params.map((index) => this.#params[index]?.param).filter((param) => param !== undefined);
    const template = { pieces: [], references: places.map(({ number }) => number - 1), params: used };
    return { ok: true, read: { template, rewritten, inspected }, params };
  }

  #numbered(
    parts: readonly Part[],
    places: { number: number; offset: number }[],
  ): ReturnType<typeof numbered> {
    const params: number[] = [];
    let text = '';
    let bytes = 0;
    const push = (piece: string): void => {
      text += piece;
      bytes += Buffer.byteLength(piece);
    };
    for (const part of parts) {
      if (typeof part === 'string') {
        push(part);
        continue;
      }
      push(this.#marks.of('parameter', part));
      const at = params.indexOf(part);
      const number = at < 0 ? params.push(part) : at + 1;
      places.push({ number, offset: bytes });
      push(`$${number}`);
    }
    return { text, params };
  }

  #statementsOf({ query, text }: Verified): AssembledStatements {
    const { filters: _filters, ...statement } = assembledText(text, this.#marks);
    return {
      statement,
      own: this.#formsOf(query.own),
      ...(query.shared === undefined ? {} : { shared: this.#formsOf(query.shared) }),
    };
  }

  #formsOf(statements: Statements): PreparedForms {
    const forms: Partial<Record<ResultForm, ReturnType<typeof assembledText>>> = {};
    for (const form of FORMS) {
      const text = statements[form];
      if (text !== undefined) forms[form] = assembledText(text, this.#marks);
    }
    const filters = forms.whole?.filters ?? [];
    return {
      filters,
      forms: Object.fromEntries(
        Object.entries(forms).map(([form, { filters: _filters, ...text }]) => [form, text]),
      ),
    };
  }

  #stripped({ few, whole, prefix }: Statements): Statements {
    const strip = (text: string): string => this.#marks.strip(text);
    return {
      ...(few === undefined ? {} : { few: strip(few) }),
      whole: strip(whole),
      prefix: strip(prefix),
    };
  }

  /** Whether what is assembled for a call is, to the byte, what was verified. */
  #isAsAssembled({ query: verified, chosen, params }: Verified, query: PreparedQuery): boolean {
    const { orders } = query.assembled ?? { orders: [] };
    const candidates = orders.flatMap(({ first, pages }) => [
      { statements: first, page: undefined },
      ...(pages === undefined
        ? []
        : [{ statements: pages.next, page: pages.conditions['v'.repeat(pages.fields.length)] }]),
    ]);
    const isSame = (kind: 'own' | 'shared', wanted: Statements | undefined): boolean =>
      wanted === undefined ||
      candidates.some(({ statements, page }) =>
        FORMS.every((form) => {
          const text = wanted[form];
          const made = assemble(statements[kind], form, chosen, page);
          if (text === undefined || made === undefined) return text === made;
          return made.text === this.#marks.strip(text) && made.params.join() === params.join();
        }),
      );
    return isSame('own', verified.own) && isSame('shared', query.shared && verified.shared);
  }

  /** With its own keys, and its parameters narrowed to what the database takes. */
  #narrowed({ params }: Capability): Capability {
    const { capability } = this.#subject;
    const byName = new Map(params.map((param) => [param.name, param]));
    return { ...capability, params: capability.params.map((param) => byName.get(param.name) ?? param) };
  }
}

const NONE: readonly number[] = [];

function withoutShared({ name, first, pages }: AssembledOrder): AssembledOrder {
  const unshared = ({ shared: _shared, ...rest }: AssembledStatements): AssembledStatements => rest;
  if (pages === undefined) return { name, first: unshared(first) };
  return { name, first: unshared(first), pages: { ...pages, next: unshared(pages.next) } };
}

/** Whether the one source of `outer` is `inner`, whose WITH queries stand before `outer`. */
function holds(outer: TreeNode, inner: TreeNode): boolean {
  const source = inside(listIn(outer['fromClause'])[0], 'RangeSubselect', 'subquery', 'SelectStmt');
  const { withClause, ...rest } = inner;
  return isSameTree(source, rest) && isSameTree(outer['withClause'], withClause);
}
