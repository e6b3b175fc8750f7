import type { PlanFinding, QueryPlan } from '../../explain.ts';

/** From how many rows on a scan that throws some of them away counts as slow. */
const MANY_ROWS = 10_000;
/** By how much the planner may be wrong before it matters. */
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

/** Returns whether the estimate of this step or of one below it is far off. */
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
  const stops =
    mayStopEarly || node['Node Type'] === 'Merge Join' || (node['Node Type'] === 'Limit' && rows >= planned);
  const children = nodesIn(node['Plans']);
  const isBelow = children.map((child) =>
    visit(child, { depth: depth + 1, mayStopEarly: stops }, findings, steps),
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
      message: `${titleOf(node)}: ${planned} rows expected, ${Math.round(rows)} came: run ANALYZE, or make statistics for columns that depend on each other (CREATE STATISTICS)`,
    });
  }
  return isFarOff;
}

function filteredScan(node: Node): PlanFinding | undefined {
  const removed = numberOf(node, 'Rows Removed by Filter') * numberOf(node, 'Actual Loops');
  const read = removed + numberOf(node, 'Actual Rows') * numberOf(node, 'Actual Loops');
  const filter = node['Filter'];
  if (typeof node['Relation Name'] !== 'string' || removed === 0 || read <= MANY_ROWS) return undefined;
  return {
    kind: 'filtered_scan',
    message: `${titleOf(node)}: reads ${Math.round(read)} rows and leaves out ${Math.round(removed)} of them: an index on what it filters by would find the others`,
    ...(typeof filter === 'string' ? { detail: `filter: ${filter}` } : {}),
  };
}

function spill(node: Node): PlanFinding | undefined {
  const isOnDisk =
    node['Sort Space Type'] === 'Disk' ||
    node['Storage'] === 'Disk' ||
    numberOf(node, 'Hash Batches') > 1 ||
    numberOf(node, 'HashAgg Batches') > 1 ||
    numberOf(node, 'Disk Usage') > 0;
  if (!isOnDisk) return undefined;
  const kilobytes = [
    node['Sort Space Type'] === 'Disk' ? numberOf(node, 'Sort Space Used') : 0,
    numberOf(node, 'Disk Usage'),
  ].find((size) => size > 0);
  const size = kilobytes === undefined ? '' : ` (${kilobytes} KB)`;
  return {
    kind: 'spill',
    message: `${titleOf(node)}: does not fit into work_mem and goes to disk${size}: let fewer rows come here, or give the account more work_mem`,
  };
}

/** `Seq Scan on film`, `Index Scan on film by film_title`. */
function titleOf(node: Node): string {
  const text = (key: string, before: string): string => {
    const value = node[key];
    return typeof value === 'string' ? `${before}${value}` : '';
  };
  return [
    text('Node Type', ''),
    text('Relation Name', ' on '),
    text('CTE Name', ' on '),
    text('Index Name', ' by '),
  ].join('');
}

function numberOf(node: Node, key: string): number {
  const value = node[key];
  return typeof value === 'number' ? value : 0;
}

function nodesIn(value: unknown): readonly Node[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return items.filter((item): item is Node => typeof item === 'object' && item !== null);
}
