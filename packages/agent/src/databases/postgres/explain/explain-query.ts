import { DatabaseError } from '../../driver/errors.ts';
import type { Query } from '../../driver/driver.ts';
import { bindValue } from '../execute/bind-values.ts';
import { choose } from '../../clauses/choose.ts';
import { assembledQuery } from '../execute/assembled-queries.ts';
import type { PreparedQuery } from '../execute/prepared-query.ts';
import { runTransaction } from '../execute/transaction.ts';
import { kindOf, textOf } from '../connection/server-errors.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import type { PlanFinding, QueryPlan } from '../../driver/explain.ts';

/** Answers with its `QueryPlan`: it runs as for a call, and its rows are thrown away. */
export function createExplain(pool: SessionPool, verified: PreparedQuery): Query {
  const { capability, assembled } = verified;
  return {
    async run({ values, apiKeyName, requestId, caller, timeoutMs, signal }) {
      const chosen = assembled && choose(verified.capability, assembled, values);
      const query = assembled && chosen ? assembledQuery(verified, assembled, chosen) : verified;
      const { own, params } = query;
      const session = await pool.acquire({ signal, timeoutMs });
      const settings = { apiKeyName, capability, requestId, caller };
      const bound = params.map(({ param, ofCursor }) =>
        ofCursor === undefined
          ? bindValue(param.schema, values[param.name])
          : (chosen?.after?.[ofCursor] ?? null),
      );
      const text = `explain (analyze, buffers off, format json) ${own.prefix}`;
      const statements = [{ text, values: bound }];
      const done = await runTransaction(pool, session, { settings, statements }, { signal, timeoutMs });
      const { error } = done;
      if (error !== undefined) throw new DatabaseError(done.stopped ?? kindOf(error), textOf(error));
      const plan = done.results[0]?.rows[0]?.[0] ?? '[]';
      const rows = Buffer.from(JSON.stringify(readPlan(JSON.parse(plan))));
      return { rows, count: 0, truncated: false };
    },
  };
}

/** A scan is slow if it reads so many rows and throws some away. */
const MANY_ROWS = 10_000;
/** The planner may be wrong by this factor. */
const FAR_OFF = 100;

type Node = Readonly<Record<string, unknown>>;

/** Reads the answer of EXPLAIN (ANALYZE, FORMAT JSON). */
export function readPlan(answer: unknown): QueryPlan {
  const explained = nodesIn(answer)[0] ?? {};
  const findings: PlanFinding[] = [];
  const steps: string[] = [];
  const root = nodesIn([explained['Plan']])[0];
  if (root !== undefined) visit(root, { depth: 0, mayStopEarly: false }, findings, steps);
  const ms = numberOf(explained, 'Planning Time') + numberOf(explained, 'Execution Time');
  return { ms: Math.round(ms * 1000) / 1000, findings, steps };
}

interface Above {
  readonly depth: number;
  /** Whether a step above may not have asked for all rows. */
  readonly mayStopEarly: boolean;
}

/** Returns whether the estimate of this step, or of one below it, is far off. */
function visit(
  node: Node,
  { depth, mayStopEarly }: Above,
  findings: PlanFinding[],
  steps: string[],
): boolean {
  const [rows, planned, loops] = [
    numberOf(node, 'Actual Rows'),
    numberOf(node, 'Plan Rows'),
    numberOf(node, 'Actual Loops'),
  ];
  const ran = loops > 0 ? `${Math.round(rows)} rows, ${loops} times` : 'never run';
  const ms = (numberOf(node, 'Actual Total Time') * loops).toFixed(1);
  steps.push(`${'  '.repeat(depth)}${titleOf(node)}  (${planned} rows expected; ${ran}; ${ms} ms)`);
  const isBelow = nodesIn(node['Plans']).map((child) =>
    visit(
      child,
      { depth: depth + 1, mayStopEarly: mayStopEarly || asksForSome(node, child) },
      findings,
      steps,
    ),
  );
  if (loops === 0) return false;
  const scan = filteredScan(node);
  if (scan !== undefined) findings.push(scan);
  const spilled = spill(node);
  if (spilled !== undefined) findings.push(spilled);
  if (isBelow.includes(true)) return true;
  const isFarOff = rows >= planned * FAR_OFF || (!mayStopEarly && planned >= Math.max(rows, 1) * FAR_OFF);
  if (isFarOff) {
    findings.push({
      kind: 'estimate',
      message: `${typeOf(node)}: ${planned} rows expected, ${Math.round(rows)} came: run ANALYZE, or make statistics for columns that depend on each other (CREATE STATISTICS)`,
      ...detailOf(node),
    });
  }
  return isFarOff;
}

/** Whether a step may take only a part of the rows of the step below. */
function asksForSome(node: Node, child: Node): boolean {
  if (child['Parent Relationship'] === 'SubPlan' || child['Parent Relationship'] === 'InitPlan') return true;
  switch (node['Node Type']) {
    case 'Limit':
      return numberOf(node, 'Actual Rows') >= numberOf(node, 'Plan Rows');
    case 'Merge Join':
      return true;
    case 'Nested Loop':
      return (
        child['Parent Relationship'] === 'Inner' &&
        (node['Join Type'] === 'Semi' || node['Join Type'] === 'Anti')
      );
    case 'Hash Join':
      return nodesIn(node['Plans']).some(
        (hash) => hash['Node Type'] === 'Hash' && numberOf(hash, 'Actual Rows') === 0,
      );
    default:
      return false;
  }
}

function filteredScan(node: Node): PlanFinding | undefined {
  const removed = numberOf(node, 'Rows Removed by Filter') * numberOf(node, 'Actual Loops');
  const read = removed + numberOf(node, 'Actual Rows') * numberOf(node, 'Actual Loops');
  if (typeof node['Relation Name'] !== 'string' || removed === 0 || read <= MANY_ROWS) return undefined;
  return {
    kind: 'filtered_scan',
    message: `${typeOf(node)}: reads ${Math.round(read)} rows and leaves out ${Math.round(removed)} of them: an index on what it filters by would find the others`,
    ...detailOf(node),
  };
}

function spill(node: Node): PlanFinding | undefined {
  // An incremental sort has groups, and parallel workers have parts of their own.
  const parts = [
    node,
    ...nodesIn([node['Full-sort Groups'], node['Pre-sorted Groups']]),
    ...nodesIn(node['Workers']),
  ];
  if (!parts.some(isOnDisk)) return undefined;
  const kilobytes = parts.reduce((sum, part) => sum + kilobytesOnDisk(part), 0);
  const size = kilobytes === 0 ? '' : ` (${kilobytes} KB)`;
  return {
    kind: 'spill',
    message: `${typeOf(node)}: does not fit into work_mem and goes to disk${size}: let fewer rows come here, or give the account more work_mem`,
    ...detailOf(node),
  };
}

function isOnDisk(part: Node): boolean {
  return (
    part['Storage'] === 'Disk' ||
    numberOf(part, 'Hash Batches') > 1 ||
    numberOf(part, 'HashAgg Batches') > 1 ||
    kilobytesOnDisk(part) > 0
  );
}

function kilobytesOnDisk(part: Node): number {
  const sorted = part['Sort Space Type'] === 'Disk' ? numberOf(part, 'Sort Space Used') : 0;
  const [group = {}] = nodesIn([part['Sort Space Disk']]);
  return sorted + numberOf(group, 'Peak Sort Space Used') + numberOf(part, 'Disk Usage');
}

function typeOf(node: Node): string {
  return String(node['Node Type']);
}

function detailOf(node: Node): { readonly detail?: string } {
  const filter = node['Filter'];
  const said = [placeOf(node), ...(typeof filter === 'string' ? [`filter: ${filter}`] : [])].filter(
    (text) => text !== '',
  );
  return said.length === 0 ? {} : { detail: said.join('; ') };
}

/** `Seq Scan on film`, `Index Scan on film by film_title`. */
function titleOf(node: Node): string {
  return [typeOf(node), placeOf(node)].filter((text) => text !== '').join(' ');
}

function placeOf(node: Node): string {
  return [
    ['on', node['Relation Name'] ?? node['CTE Name']],
    ['by', node['Index Name']],
  ]
    .filter(([, name]) => typeof name === 'string')
    .map((words) => words.join(' '))
    .join(' ');
}

function numberOf(node: Node, key: string): number {
  const value = node[key];
  return typeof value === 'number' ? value : 0;
}

function nodesIn(value: unknown): readonly Node[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return items.filter((item): item is Node => typeof item === 'object' && item !== null);
}
