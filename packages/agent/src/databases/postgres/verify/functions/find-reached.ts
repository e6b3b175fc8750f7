import { isAllowed, isForbidden } from './known-functions.ts';
import {
  nameOf,
  PSEUDO_TYPES,
  type CatalogObject,
  type DependencyCatalog,
  type Edge,
  type ForeignTable,
  type FunctionFacts,
  type Kind,
} from './dependency-catalog.ts';
import { FIRST_USER_OID } from '../../dialect/type-oids.ts';
import type { NamedObjects } from '../statement/named-objects.ts';

/**
 * What a statement can run without naming it. The planner finds what is volatile in the expressions of a statement, of
 * its views and of row-level security. It does not look into aggregates, checks of domains, functions of types, operator
 * classes and bodies of functions, so these are followed in the catalog from the names in the statement and its plan.
 * Every object that a name can stand for counts, every field of a row, and every operator and cast between types that
 * were met: more than what runs, but only of what users have defined. A check of a domain counts only if values of the
 * domain can be made, since reading a column runs none.
 */
export interface Reached {
  readonly functions: readonly ReachedFunction[];
  readonly foreignTables: readonly ReachedTable[];
}

export interface ReachedFunction {
  readonly facts: FunctionFacts;
  readonly problem: 'volatile' | 'forbidden' | 'unreadable';
  /** For people. */
  readonly way: string;
}

export interface ReachedTable extends ForeignTable {
  readonly way: string;
}

interface Visit extends CatalogObject {
  readonly isHidden: boolean;
  readonly way: string;
  readonly from?: Visit;
}

/** The ways to a type's functions, which may be PostgreSQL's own, as `array_in` is for arrays. */
const READS_OR_WRITES = /^its (?:input|output|receive|send) function$/;
/** They make values of a type that an argument decides, as array_agg does with the states of parallel workers. */
const MAKERS = /^(?:jsonb?_populate_record(?:set|_valid)?|array_agg)$/;
/** They make JSON of values of any type. */
const WRITERS = /^(?:to_jsonb?|(?:row|array)_to_json|jsonb?_(?:build|agg|object_agg)[a-z_]*)$/;

/** `output` are the types of the result's columns, which become JSON or text. Allowed functions are not looked into. */
export function findReached(
  catalog: DependencyCatalog,
  named: NamedObjects,
  output: readonly string[],
  allowFunctions: readonly string[],
): Reached {
  const visits = new Map<string, Visit>();
  const queue: Visit[] = [];
  const functions = new Map<string, ReachedFunction>();
  const foreignTables = new Map<string, ReachedTable>();
  /** Those of the statement and of bodies: which of them is meant depends on the types. */
  const operators = new Map<string, { readonly object: CatalogObject; readonly user?: Visit }>();
  let firstBody: Visit | undefined;
  let makesAny = named.makesElements;
  let writesAny = false;

  const push = (object: CatalogObject, way: string, isHidden: boolean, from?: Visit): void => {
    const { kind, oid } = object;
    const key = `${kind} ${oid} ${isHidden}`;
    if (visits.has(key)) return;
    const visit: Visit = { kind, oid, way, isHidden, ...(from === undefined ? {} : { from }) };
    visits.set(key, visit);
    queue.push(visit);
  };
  const has = (kind: Kind, oid: string): boolean =>
    visits.has(`${kind} ${oid} true`) || visits.has(`${kind} ${oid} false`);

  const visitFunction = (visit: Visit): readonly Edge[] => {
    const edges = catalog.edgesOf(visit);
    const facts = catalog.functions.get(visit.oid);
    if (facts === undefined) return edges;
    const { name, schema, extension, isCode, body } = facts;
    const isOwn = Number(visit.oid) < FIRST_USER_OID;
    // PostgreSQL's own functions run what the type leads to, which is followed by itself.
    if (isOwn && READS_OR_WRITES.test(visit.way)) return [];
    if (isOwn ? schema === 'pg_catalog' && MAKERS.test(name) : isCode && facts.isPolymorphic) makesAny = true;
    if (isOwn && WRITERS.test(name)) writesAny = true;
    const report = (problem: ReachedFunction['problem']): readonly Edge[] => {
      functions.set(visit.oid, { facts, problem, way: wayTo(catalog, visit) });
      return [];
    };
    if ((visit.isHidden && isForbidden(name)) || isForbidden(facts.symbol)) {
      return report('forbidden');
    }
    if (isAllowed({ schema, name, extension }, allowFunctions)) {
      return edges.filter(({ way }) => way === 'its arguments and result' || way === 'a default');
    }
    // Extensions do not say how volatile the functions are that only the server can call.
    const isSupport = extension !== undefined && isCode && facts.isInternal;
    if (visit.isHidden && facts.isVolatile && !isSupport) return report('volatile');
    if (body === 'unreadable') return report('unreadable');
    if (body !== undefined) {
      firstBody ??= visit;
      if (body.makesElements) makesAny = true;
      for (const object of catalog.operatorsOf(body, facts.schemas)) {
        operators.set(`${object.oid} in a body`, { object, user: visit });
      }
    }
    return edges;
  };
  const isMet = (type: string): boolean => Number(type) < FIRST_USER_OID || has('type', type);
  /** What only names and types tell. Returns whether anything is new. */
  const pushImplied = (): boolean => {
    for (const { kind, oid } of visits.values()) {
      if (!isType(kind)) continue;
      if (makesAny) push({ kind: 'made', oid }, 'its rows', true, visits.get(`${kind} ${oid} true`));
      if (writesAny) push({ kind: 'written', oid }, 'its rows', true, visits.get(`${kind} ${oid} true`));
    }
    for (const { object, user } of operators.values()) {
      const operands = catalog.edgesOf(object).filter(({ way }) => way === 'its operand');
      if (operands.every(({ oid }) => isMet(oid))) push(object, 'in its body', user !== undefined, user);
    }
    for (const { source, target, function: oid, isImplicit } of catalog.casts) {
      if (!(isImplicit || has('made', target)) || !isMet(source) || !isMet(target)) continue;
      const from = visits.get(`type ${source} true`) ?? visits.get(`type ${target} true`);
      push({ kind: 'function', oid }, 'a cast', firstBody !== undefined, from);
    }
    return queue.length > 0;
  };

  for (const object of catalog.seeds(named)) push(object, '', false);
  for (const oid of PSEUDO_TYPES) push({ kind: 'type', oid }, '', true);
  for (const oid of output) push({ kind: 'written', oid }, '', true);
  for (const object of catalog.operatorsOf(named)) operators.set(object.oid, { object });
  do {
    for (let visit = queue.shift(); visit !== undefined; visit = queue.shift()) {
      const { kind, oid } = visit;
      if (kind === 'json') writesAny = true;
      if (kind === 'made' || kind === 'written') push({ kind: 'type', oid }, visit.way, true, visit);
      const table = kind === 'relation' ? catalog.foreignTables.get(oid) : undefined;
      if (table !== undefined) foreignTables.set(oid, { ...table, way: wayTo(catalog, visit) });
      const edges = kind === 'function' ? visitFunction(visit) : catalog.edgesOf(visit);
      for (const edge of edges) push(edge, edge.way, isHiddenBehind(visit, edge), visit);
    }
  } while (pushImplied());
  return { functions: [...functions.values()], foreignTables: [...foreignTables.values()] };
}

function isType(kind: Kind): boolean {
  return kind === 'type' || kind === 'made' || kind === 'written';
}

/** The planner sees what stands in expressions, and the functions of operators. */
function isHiddenBehind(visit: Visit, { kind, way }: Edge): boolean {
  if (isType(kind) || isType(visit.kind) || visit.isHidden) return true;
  if (visit.kind === 'function') return way !== 'a default';
  return visit.kind === 'operator' && way !== 'its function';
}

/** As in `view shop.v leads to aggregate shop.total, which runs shop.log_it (its state function)`. */
function wayTo(catalog: DependencyCatalog, visit: Visit): string {
  const titles: string[] = [];
  for (let { from } = visit; from !== undefined; { from } = from) {
    const title = catalog.titleOf(from);
    if (titles[0] !== title) titles.unshift(title);
  }
  const facts = visit.kind === 'function' ? catalog.functions.get(visit.oid) : undefined;
  const [first, ...others] = titles;
  if (first === undefined) {
    const symbol = facts?.symbol ?? '';
    return `${catalog.titleOf(visit)}${symbol === '' ? '' : ` (its code is ${symbol})`}`;
  }
  const last =
    facts === undefined ? `reads ${catalog.titleOf(visit)}` : `runs ${nameOf(facts)} (${visit.way})`;
  return [first, ...others.map((title, at) => `${at === 0 ? ' leads' : ', which leads'} to ${title}`)]
    .concat(`${others.length === 0 ? ' ' : ', which '}${last}`)
    .join('');
}
