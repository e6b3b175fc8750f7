import { loadModule } from 'libpg-query';
import type { Capability } from '../../../../capabilities/model.ts';
import type { Fault } from '../../../../capabilities/fault.ts';
import { plainCapability } from '../../../clauses/compose.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { addsNulls, notNullStatement } from '../describe-statement.ts';
import { findsOneRow, type RelationKeys } from '../one-row.ts';
import { step } from '../plan-statement.ts';
import { relationKeys } from '../relation-keys.ts';
import { readStatement, type ReadStatement } from '../statement/read-statement.ts';
import { inside, listIn, namesIn, type TreeNode } from '../statement/tree.ts';

/** What pages may lose, as far as the database tells: rows that share the fields of `paging`, and nulls. */
export async function pagingWarnings(
  pool: SessionPool,
  capabilities: readonly Capability[],
): Promise<readonly Fault[]> {
  const paged = capabilities.filter(({ clauses }) => clauses?.hasPages === true);
  if (paged.length === 0) return [];
  await loadModule();
  const keys = await relationKeys(
    pool,
    paged.map((capability) => plainCapability(capability, [])),
  );
  const warnings: Fault[] = [];
  for (const capability of paged) {
    const plain = plainCapability(capability, []);
    const result = readStatement(plain);
    if (!result.ok) continue;
    warnings.push(...notUnique(capability, result.read, keys));
    warnings.push(...(await mayBeNull(pool, capability, result.read)));
  }
  return warnings;
}

function notUnique(
  { name, params, clauses }: Capability,
  { inspected }: ReadStatement,
  keys: RelationKeys,
): readonly Fault[] {
  const fields = clauses?.unique ?? [];
  if (isUnique(inspected.tree, fields, keys)) return [];
  const path = `capabilities.${name}.paging`;
  const message = `is not known to be unique: a page whose last row shares ${fields.map((field) => `\`${field}\``).join(', ')} with the next one fails; name the columns of a key, or make them unique`;
  const position = params.find(({ madeBy }) => madeBy === 'paging')?.position;
  return [{ path, message, ...(position === undefined ? {} : { position }) }];
}

/** Whether equality of these fields leaves one row at most. */
function isUnique(select: TreeNode, fields: readonly string[], keys: RelationKeys): boolean {
  const columns = fields.map((field) => columnOf(select, field));
  if (columns.includes(undefined)) return false;
  const groups = listIn(select['groupClause']);
  if (groups.length > 0) {
    return groups.every((group) =>
      columns.some((column) => isSameColumn(column, inside(group, 'ColumnRef'))),
    );
  }
  const given = columns.map((column) => ({
    A_Expr: {
      kind: 'AEXPR_OP',
      name: [{ String: { sval: '=' } }],
      lexpr: column,
      rexpr: { ParamRef: { number: 1 } },
    },
  }));
  const where = inside(select, 'whereClause');
  const args = where === undefined ? given : [where, ...given];
  return findsOneRow({ ...select, whereClause: { BoolExpr: { boolop: 'AND_EXPR', args } } }, keys);
}

/** A column may be written with its relation or without: PostgreSQL refuses a name that several relations have. */
function isSameColumn(one: TreeNode | undefined, other: TreeNode | undefined): boolean {
  const [names, others] = [namesIn(one), namesIn(other)];
  const length = Math.min(names.length, others.length);
  return length > 0 && names.slice(-length).join('.') === others.slice(-length).join('.');
}

/** The column of a relation that a field is; undefined for anything else. */
function columnOf(select: TreeNode, field: string): TreeNode | undefined {
  for (const item of listIn(select['targetList'])) {
    const target = inside(item, 'ResTarget');
    const value = inside(target, 'val');
    const column = inside(value, 'ColumnRef');
    if (column === undefined) continue;
    const parts = listIn(column['fields']);
    if (parts.some((part) => 'A_Star' in part)) {
      const relation = parts.find((part) => !('A_Star' in part));
      const name = { String: { sval: field } };
      return { ColumnRef: { fields: relation === undefined ? [name] : [relation, name] } };
    }
    if ((target?.['name'] ?? namesIn(parts).at(-1)) === field) return value;
  }
  return undefined;
}

/** Nulls of a field that is said to have none come last, where pages no longer find them. */
async function mayBeNull(
  pool: SessionPool,
  capability: Capability,
  { inspected, rewritten, template }: ReadStatement,
): Promise<readonly Fault[]> {
  const { name, result, clauses } = capability;
  const terms = new Set(clauses?.orders.flatMap((order) => order.terms.map(({ field }) => field)));
  const values = template.params.map(() => null);
  const described = await step(pool, capability, [
    { text: `select * from (\n${rewritten.text}\n) q limit 0`, values },
  ]);
  const columns = described.ok ? (described.output.results[0]?.fields ?? []) : [];
  const asked = columns.filter((column) => terms.has(column.name));
  const looked = await step(pool, capability, [notNullStatement(asked)]);
  if (!looked.ok) return [];
  const filled = new Set(looked.output.results[0]?.rows.map(([table, column]) => `${table}.${column}`));
  return asked.flatMap((column) => {
    const field = result.find((each) => each.name === column.name);
    const isFilled =
      (!addsNulls({ inspected }) || isOfInnerRelation(inspected.tree, column.name)) &&
      filled.has(`${column.tableID}.${column.columnID}`);
    const isKnown = column.tableID > 0;
    if (field === undefined || field.nullable || isFilled || !isKnown) return [];
    const path = `capabilities.${name}.result.${field.name}`;
    const message =
      'is `nullable: false`, but the database allows nulls in its column: pages would not find such rows';
    return [{ path, position: field.position, message }];
  });
}

/** Whether a field is a column of a relation whose rows no outer join fills with nulls. */
function isOfInnerRelation(select: TreeNode, field: string): boolean {
  if ('withClause' in select || listIn(select['groupClause']).some((group) => 'GroupingSet' in group))
    return false;
  const [, relation] = namesIn(columnOf(select, field)).toReversed();
  return relation !== undefined && listIn(select['fromClause']).flatMap(innerRelations).includes(relation);
}

/** The aliases of tables and views. */
function innerRelations(source: TreeNode): readonly string[] {
  const table = inside(source, 'RangeVar');
  if (table !== undefined) return [String(inside(table, 'alias')?.['aliasname'] ?? table['relname'])];
  const join = inside(source, 'JoinExpr');
  const type = join?.['jointype'];
  const sides = [
    ...(type === 'JOIN_INNER' || type === 'JOIN_LEFT' ? [join?.['larg']] : []),
    ...(type === 'JOIN_INNER' || type === 'JOIN_RIGHT' ? [join?.['rarg']] : []),
  ];
  return listIn(sides).flatMap(innerRelations);
}
