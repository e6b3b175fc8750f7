import type pg from 'pg';
import type { OwnReason } from '../../../driver/driver.ts';
import type { SessionFacts } from '../../connection/database-session.ts';
import { FIRST_USER_OID } from '../../dialect/type-oids.ts';
import { quoteIdentifier } from '../../dialect/quote-identifier.ts';
import type { GuardedRelation } from '../../connection/unit.ts';
import { neededObjects } from '../grants/needed-objects.ts';
import { schemasOf } from '../functions/dependency-catalog.ts';
import { tooDeep, type QualifiedName } from '../statement/inspect.ts';
import { namedObjects, type NamedObjects } from '../statement/named-objects.ts';
import type { TreeNode } from '../statement/tree.ts';
import type { BlindCatalog, FunctionFacts, OperatorFacts, RelationFacts } from './blind-catalog.ts';
import { CLOCK_KEYWORDS, isHarmless, reachesOut, TEXT_SEARCH_OPERATORS } from './harmless-functions.ts';
import { qualify, type QualifiedText } from './qualify.ts';
import { usesOf, type Call, type OperatorUse, type Uses } from './uses.ts';

export interface Judged {
  readonly text: string;
  readonly tree: TreeNode;
  /** What the plan names, beside the statement itself. */
  readonly plan: Pick<NamedObjects, 'functions' | 'operators' | 'types'>;
  /** Whether the planner finds anything volatile. */
  readonly isVolatile: boolean;
  readonly columns: readonly pg.FieldDef[];
  readonly facts: SessionFacts;
}

const OWN_SCHEMA = 'pg_catalog';
/** The only volatile function that statements may call and yet be blind. */
const VOLATILE_CLOCK = 'clock_timestamp';

export type Judgement =
  | { readonly own: OwnReason }
  | {
      readonly qualified: QualifiedText;
      readonly relations: readonly GuardedRelation[];
      readonly searchPath: string;
    };

/**
 * Judges whether a statement is blind: whether it cannot see who calls, and means the same on the pinned search path of a
 * shared transaction once its relations have their schema. What the names can stand for decides, so that in doubt it has
 * its own transaction. That its plan is the same is left to be proved.
 */
export function judge(statement: Judged, catalog: BlindCatalog): Judgement {
  const { facts, tree } = statement;
  const { forAll } = catalog;
  if (!facts.keepsSettings || facts.backend === undefined) return { own: 'pooler' };
  if (forAll === undefined) return { own: 'function' };
  if (!forAll.isReadCommitted) return { own: 'isolation' };
  const named = namedObjects(tree);
  const found = relationsOf(named, catalog);
  if (found === undefined || [...found.values()].some(({ isPlain }) => !isPlain)) return { own: 'relation' };
  const relations = [...found.values()];
  if (relations.some(({ hasRowSecurity }) => hasRowSecurity)) return { own: 'row_security' };
  const uses = usesOf(tree);
  if (!forAll.mayGuard || forAll.extendsTypes || !callsAreBlind(uses, statement, catalog)) {
    return { own: 'function' };
  }
  const areRowsServed = relations.some(({ isRowServed }) => isRowServed);
  if (areRowsServed || !typesAreBlind(uses, statement, catalog) || readsOtherTypes(uses, tree, found)) {
    return { own: 'type' };
  }
  const inSchemas = meansTheSame(uses, statement, catalog) ? qualified(uses, statement, found) : undefined;
  if (inSchemas === undefined) return { own: 'names' };
  if (relations.some(({ callsOwn }) => callsOwn)) return { own: 'index' };
  const { searchPath } = facts;
  const unqualified = new Set(
    named.relations.flatMap(({ schema, name }) => (schema === undefined ? [name] : [])),
  );
  const guarded = new Map(
    relations.map(({ oid, schema, name }) => {
      const nameIn = (each: string): string => [each, name].map(quoteIdentifier).join('.');
      const before = unqualified.has(name) ? schemasBefore(schema, searchPath, forAll.user) : [];
      return [oid, { oid, name: nameIn(schema), earlier: before.map(nameIn) }];
    }),
  );
  return { qualified: inSchemas, relations: [...guarded.values()], searchPath };
}

/** Where a relation would be found before one of `schema`, whether or not there is such a schema. */
function schemasBefore(schema: string, searchPath: string, user: string): readonly string[] {
  const path = schemasOf(searchPath).map((each) => (each === '$user' ? user : each));
  return path.slice(0, Math.max(0, path.indexOf(schema)));
}

/** By their names as the statement has them; undefined if one cannot be found. */
function relationsOf(
  { relations }: NamedObjects,
  catalog: BlindCatalog,
): ReadonlyMap<string, RelationFacts> | undefined {
  const found = new Map<string, RelationFacts>();
  for (const relation of relations) {
    const [facts, ...others] = catalog.relations(relation);
    if (facts === undefined || others.length > 0) return undefined;
    found.set(keyOf(relation), facts);
  }
  return found;
}

/** What has to be learnt of a statement beside what it names, for what it calls on the pinned path. */
export function otherNames(named: NamedObjects): NamedObjects {
  const called = [...named.functions, ...named.attributes].map(({ name }) => name);
  const parts = called.includes('extract') ? ['date_part'] : [];
  return {
    functions: [
      ...[...called, ...parts].map((name) => ({ schema: OWN_SCHEMA, name })),
      // A column may be a call of the function of its name.
      ...named.attributes,
    ],
    attributes: [],
    types: [],
    operators: [],
    relations: [],
    buildsJson: false,
    makesElements: false,
  };
}

function keyOf({ schema, name }: QualifiedName): string {
  return JSON.stringify([schema ?? null, name]);
}

function callsAreBlind(uses: Uses, { plan, isVolatile }: Judged, catalog: BlindCatalog): boolean {
  const called = new Set(uses.calls.map(({ name }) => name));
  if (isVolatile && !called.has(VOLATILE_CLOCK)) return false;
  // The plan has calls that are not written, such as those of casts, and what looks like a call but is none.
  const implied = plan.functions.filter(({ name }) => !called.has(name));
  return (
    uses.calls.every((call) => callIsBlind(call, catalog)) &&
    uses.attributes.every((name) => ownFunctions(name, catalog, 1).every((facts) => isBlind(name, facts))) &&
    implied.every((name) => catalog.functions(name).every((facts) => isOwn(facts) && isBlind(name, facts))) &&
    uses.operators.every((use) => operatorIsBlind(use, catalog)) &&
    plan.operators.every((name) => isWholeRow(name) || operatorIsBlind(operandsUnknown(name), catalog)) &&
    uses.keywords.every((keyword) => CLOCK_KEYWORDS.has(keyword))
  );
}

function callIsBlind(call: Call, catalog: BlindCatalog): boolean {
  if (!isOfCatalog(call)) return false;
  const functions = ownFunctions(call, catalog, call.count);
  // What the parser reads as `extract` is `date_part` on PostgreSQL 13.
  if (functions.length === 0 && call.name === 'extract')
    return callIsBlind({ ...call, name: 'date_part' }, catalog);
  // Without a function it is a cast, if there is a type of that name.
  if (functions.length === 0) return call.count === 1 && catalog.types(call).length > 0;
  const areForTexts = functions.every(({ searchesText }) => searchesText);
  return !areForTexts && functions.every((facts) => isBlind(call, facts));
}

/** In a plan `b.*` looks like an operator of a schema `b`. */
function isWholeRow({ schema, name }: QualifiedName): boolean {
  return schema !== undefined && name === '*';
}

function isOfCatalog({ schema }: QualifiedName): boolean {
  return schema === undefined || schema === OWN_SCHEMA;
}

function isOwn({ schema }: Pick<FunctionFacts, 'schema'>): boolean {
  return schema === OWN_SCHEMA;
}

/** Those of pg_catalog that take so many arguments. */
function ownFunctions(name: QualifiedName, catalog: BlindCatalog, count: number): readonly FunctionFacts[] {
  return catalog.functions({ schema: OWN_SCHEMA, name: name.name }).filter((facts) => takes(facts, count));
}

function takes({ fewest, most }: FunctionFacts, count: number): boolean {
  return fewest <= count && count <= most;
}

function isBlind({ name }: QualifiedName, facts: FunctionFacts): boolean {
  if (!facts.isInitial || facts.namesObjects || reachesOut(name)) return false;
  return facts.isSteady || isHarmless(name);
}

function operatorIsBlind(use: OperatorUse, catalog: BlindCatalog): boolean {
  if (!isOfCatalog(use) || TEXT_SEARCH_OPERATORS.has(use.name)) return false;
  const isKnown = catalog.forAll?.operators.has(use.name) === true;
  return catalog.operators(use).every((facts) => !mayApply(use, facts) || (isKnown && !isOwn(facts)));
}

function typesAreBlind(uses: Uses, { plan, columns }: Judged, catalog: BlindCatalog): boolean {
  const casts = uses.calls.filter(({ count }) => count === 1);
  return (
    uses.types.every((name) => {
      const types = catalog.types(name);
      return types.length > 0 && types.every(({ isBlind: blind }) => blind);
    }) &&
    [...casts, ...plan.types].every((name) => catalog.types(name).every(({ isBlind: blind }) => blind)) &&
    columns.every(({ dataTypeID }) => dataTypeID < FIRST_USER_OID)
  );
}

/** Whether the statement may read a column whose type is not blind. */
function readsOtherTypes(
  { namesJoin }: Uses,
  tree: TreeNode,
  found: ReadonlyMap<string, RelationFacts>,
): boolean {
  return neededObjects(tree, []).some(({ kind, schemas, isQualified, name, columns, isWhole, rowName }) => {
    if (kind !== 'relation') return false;
    const [schema] = isQualified ? schemas : [];
    const others =
      found.get(keyOf({ name, ...(schema === undefined ? {} : { schema }) }))?.otherColumns ?? [];
    const isAll = isWhole || namesJoin || rowName !== undefined;
    return others.some((column) => isAll || columns.includes(column));
  });
}

/** Whether nothing on the account's path can be meant in place of PostgreSQL's own. */
function meansTheSame(uses: Uses, { plan }: Judged, catalog: BlindCatalog): boolean {
  const written = new Set(uses.operators.map(({ name }) => name));
  const implied = plan.operators.filter(({ name }) => !written.has(name)).map(operandsUnknown);
  const operators = [...uses.operators, ...implied];
  return (
    uses.calls.every(
      (call) =>
        !catalog.functions(call).some((facts) => !isOwn(facts) && mayMean(call, facts)) &&
        (call.count !== 1 || catalog.types(call).every(isOwn)),
    ) &&
    // Without a function of PostgreSQL's own, it can only be a column on the pinned path.
    uses.attributes.every(
      (name) =>
        ownFunctions(name, catalog, 1).length === 0 ||
        catalog.functions(name).every((facts) => isOwn(facts) || !takes(facts, 1)),
    ) &&
    !operators.some((use) => catalog.operators(use).some((facts) => mayApply(use, facts))) &&
    uses.types.every((name) => name.schema !== undefined || catalog.types(name).every(isOwn)) &&
    uses.collations.every(
      ({ schema, name }) => schema !== undefined || catalog.forAll?.collations.has(name) === false,
    )
  );
}

function mayMean({ count, untyped }: Call, facts: FunctionFacts): boolean {
  if (!takes(facts, count)) return false;
  if (untyped === undefined || facts.most === Number.POSITIVE_INFINITY) return true;
  return untyped.every((isUntyped, at) => isUntyped || facts.takesOwn[at] !== false);
}

/** An operator that only the plan shows was chosen for operands that have types. */
function operandsUnknown(name: QualifiedName): OperatorUse {
  return { ...name, left: false, right: false };
}

function mayApply({ left, right, isPrefix }: OperatorUse, facts: OperatorFacts): boolean {
  if (isPrefix !== undefined && isPrefix !== facts.isPrefix) return false;
  const [untypedLeft, untypedRight] = facts.givesWay ? [false, false] : [left, right];
  return (facts.isPrefix || untypedLeft || facts.leftTakesOwn) && (untypedRight || facts.rightTakesOwn);
}

function qualified(
  { queries }: Uses,
  { text, tree }: Judged,
  found: ReadonlyMap<string, RelationFacts>,
): QualifiedText | undefined {
  if ([...found.values()].some(({ name }) => queries.has(name))) return undefined;
  try {
    return qualify(text, tree, (name) => found.get(keyOf({ name }))?.schema);
  } catch (error) {
    // Reading the qualified text may take a little more of the stack than reading the author's has taken.
    if (tooDeep(error) === undefined) throw error;
    return undefined;
  }
}
