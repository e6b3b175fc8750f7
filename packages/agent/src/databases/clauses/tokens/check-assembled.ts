import type { Capability } from '../../../capabilities/model.ts';
import { mayFallAway } from '../../../capabilities/clauses.ts';
import type { PreparedCapability } from '../../driver/driver.ts';
import type { VerificationFault } from '../../driver/errors.ts';
import { faultAt, type Refusal } from '../../sql/fault-at.ts';
import type { FilledTemplate } from '../../sql/template.ts';
import { atFilter, filterFault, filtersOf, MAY_DIFFER, plainCapability } from '../compose.ts';
import { pageConditions, type PageDialect } from '../page-condition.ts';
import { joinParts, type AssembledForms, type NumberedText, type Part } from '../parts.ts';
import { assembledText, markedStatement, sourceOf } from '../statement-source.ts';
import type { AssembledOrder, AssembledStatements, StatementForm } from './assembled.ts';
import { clauseFaults, type ClauseLanguage } from './clause-faults.ts';
import { markedCapability } from './marked-capability.ts';
import {
  pageOrders,
  type KeptColumn,
  type UnkeptColumn,
  type OrderLanguage,
  type PageOrder,
} from './page-orders.ts';

const FORMS: readonly StatementForm[] = ['statement', 'run'];

/** What the clauses of an engine are written in. */
export interface ClauseDialect extends ClauseLanguage, OrderLanguage {
  readonly page: PageDialect;
  /** Writes the placeholders of parameters, each after the text that `before` gives for it. */
  number(parts: readonly Part[], before?: (param: number) => string): NumberedText;
}

/** A plain capability that has passed every check of its engine. */
export interface CheckedWhole<Query extends PreparedCapability> {
  readonly ok: true;
  readonly query: Query;
  readonly capability: Capability;
  readonly whole: Whole;
}

/** The statement with all filters. */
interface Whole {
  /** Without what makes the answer of it. */
  readonly filled: FilledTemplate;
  /** The number of its parameters. */
  readonly params: number;
  /** How a cursor keeps each column. */
  keep(): Promise<(field: string) => KeptColumn | UnkeptColumn>;
  /**
   * Proves that the database takes a statement of its parts, with the same columns, and tells what is sent of it.
   */
  prove(statement: ProvedStatement): Promise<Proven | Refusal>;
}

interface ProvedStatement {
  readonly text: string;
  readonly params: readonly number[];
  readonly isOrdered: boolean;
  /** Those of a cursor. */
  readonly fields: readonly string[];
}

interface Proven {
  readonly ok: true;
  readonly forms: Readonly<Record<StatementForm, string>>;
  /** Whether it reaches a function whose answer may differ, be it in a view; not every database tells. */
  readonly mayDiffer?: boolean;
}

export type CheckedAssembled<Query extends PreparedCapability> =
  | {
      readonly ok: true;
      readonly query: Query;
      readonly capability: Capability;
      readonly assembled: AssembledStatements;
    }
  | Refusal;

/** A proven statement: its filters, its page, and what is sent of it. */
interface ProvenText {
  readonly chosen: readonly number[];
  readonly page: readonly Part[] | undefined;
  readonly forms: Readonly<Record<StatementForm, string>>;
  readonly mayDiffer: boolean;
}

/**
 * Proves every statement of a capability that is assembled at each call. The statement with all filters by every check of
 * the engine; in each order, on the first page and the next, with no filter and with each alone by the database itself. All
 * others are made of the same parts.
 */
export async function checkAssembled<Query extends PreparedCapability>(
  capability: Capability,
  dialect: ClauseDialect,
  checkPlain: (plain: Capability) => Promise<CheckedWhole<Query> | Refusal>,
): Promise<CheckedAssembled<Query>> {
  const read = clauseFaults(capability, dialect);
  if (read.length > 0) return { ok: false, faults: read };
  const { plain, marks } = markedCapability(capability, dialect.lexicon);
  const checked = await checkPlain(plain);
  if (!checked.ok) return faultsOfFilters(capability, checkPlain);
  const { whole } = checked;
  const sorted = pageOrders(capability, dialect, await whole.keep());
  if (!sorted.ok) return sorted;
  const hasPages = capability.clauses?.hasPages === true;
  const source = sourceOf(whole.filled, marks);
  const filters = filtersOf(capability);
  const all = [...filters.keys()];

  const prove = async (
    chosen: readonly number[],
    order: PageOrder | undefined,
    page?: readonly Part[],
  ): Promise<(ProvenText & { readonly ok: true }) | Refusal> => {
    const clause = order && { orderBy: order.orderBy, ...(page === undefined ? {} : { page }) };
    const written = dialect.number(markedStatement(source, marks, chosen, clause), (param) =>
      marks.of('parameter', param),
    );
    const fields = hasPages && order !== undefined ? order.fields : [];
    const proven = await whole.prove({ ...written, isOrdered: order !== undefined, fields });
    if (proven.ok)
      return { ok: true, chosen, page, forms: proven.forms, mayDiffer: proven.mayDiffer === true };
    const faults = proven.faults.map((fault) =>
      fault.detail === undefined ? fault : { ...fault, detail: marks.hide(fault.detail) },
    );
    return { ok: false, faults };
  };
  const formsOf = ({ forms }: ProvenText): AssembledForms<StatementForm> => {
    const { filters: parts, ...run } = assembledText(forms.run, marks);
    const { filters: _parts, ...statement } = assembledText(forms.statement, marks);
    return { filters: parts, forms: { run, statement } };
  };

  const orders: AssembledOrder[] = [];
  const parted: { readonly proven: ProvenText; readonly parts: AssembledForms<StatementForm> }[] = [];
  for (const order of sorted.orders.length > 0 ? sorted.orders : [undefined]) {
    const first = await prove(all, order);
    if (!first.ok) return first;
    const made: AssembledOrder = { name: order?.name ?? '', first: formsOf(first) };
    parted.push({ proven: first, parts: made.first });
    if (!hasPages || order === undefined) {
      orders.push(made);
      continue;
    }
    const conditions = pageConditions(order.pageTerms(whole.params), dialect.page);
    const next = await prove(all, order, conditions['v'.repeat(order.fields.length)] ?? []);
    if (!next.ok) return next;
    const { fields, terms } = order;
    const pages = { conditions, fields, terms, next: formsOf(next) };
    orders.push({ ...made, pages });
    parted.push({ proven: next, parts: pages.next });
  }
  const [standard] = sorted.orders;
  const [ofStandard] = orders;
  if (filters.length > 0 && ofStandard !== undefined) {
    const none = await prove([], standard);
    if (!none.ok) return none;
    parted.push({ proven: none, parts: ofStandard.first });
    const faults: VerificationFault[] = [];
    for (const [index, param] of filters.entries()) {
      const alone = await prove([index], standard);
      if (!alone.ok) faults.push(...alone.faults.map((fault) => atFilter(capability, param, fault)));
      // If the statement around it reaches one in any case, only the names in the filter tell.
      else if (alone.mayDiffer && !none.mayDiffer) {
        const message = `calls something that ${MAY_DIFFER}`;
        faults.push(filterFault(capability, param, { message }));
      } else parted.push({ proven: alone, parts: ofStandard.first });
    }
    if (faults.length > 0) return { ok: false, faults };
  }
  const isAsAssembled = parted.every(({ proven: { chosen, page, forms }, parts }) =>
    FORMS.every((form) => {
      const joined = joinParts(parts.forms[form], parts.filters, chosen, page);
      return joined !== undefined && dialect.number(joined).text === marks.strip(forms[form]);
    }),
  );
  if (!isAsAssembled) {
    const message = 'is not assembled as it was verified: write one plain SELECT';
    return { ok: false, faults: [faultAt(capability, { message })] };
  }
  const byName = new Map(checked.capability.params.map((param) => [param.name, param]));
  return {
    ok: true,
    query: checked.query,
    // With its own keys, and its parameters narrowed to what the database takes.
    capability: { ...capability, params: capability.params.map((param) => byName.get(param.name) ?? param) },
    assembled: {
      filters: filters.map((param) => ({ name: param.name, stands: !mayFallAway(param) })),
      orders,
      firstValue: whole.params,
    },
  };
}

/** Names the filters without which the statement would have no fault; else the faults of the whole. */
async function faultsOfFilters<Query extends PreparedCapability>(
  capability: Capability,
  checkPlain: (plain: Capability) => Promise<CheckedWhole<Query> | Refusal>,
): Promise<Refusal> {
  const none = await checkPlain(plainCapability(capability, []));
  if (!none.ok) return none;
  const ofFilters = [];
  for (const param of filtersOf(capability)) {
    const alone = await checkPlain(plainCapability(capability, [param]));
    if (!alone.ok) ofFilters.push(...alone.faults.map((fault) => atFilter(capability, param, fault)));
  }
  if (ofFilters.length > 0) return { ok: false, faults: ofFilters };
  // Without marks, which no fault should show.
  const whole = await checkPlain(plainCapability(capability));
  return whole.ok
    ? { ok: false, faults: [faultAt(capability, { message: 'cannot be assembled: write one plain SELECT' })] }
    : whole;
}
