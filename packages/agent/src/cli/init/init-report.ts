import { counted } from '@svc/edge';
import type { AuditFinding } from '../../start-up/report.ts';
import type { Fault } from '../../capabilities/fault.ts';
import type { Proposal } from '../../proposals/model.ts';

/** As `svc-agent init --json` prints it. */
export interface InitReport {
  readonly ok: boolean;
  readonly dry_run: boolean;
  readonly dir: string;
  /** Paths below `dir`; after a dry run with the texts of those that hold no secret. */
  readonly files: readonly { readonly path: string; readonly text?: string }[];
  readonly tables: number;
  readonly capabilities: readonly string[];
  readonly left_out: readonly LeftOutEntry[];
  /** Names of the capabilities beyond `--max`. */
  readonly beyond_max: readonly string[];
  /** Absent if the database has no accounts. */
  readonly account?: { readonly name: string; readonly created: boolean };
  /** What the agent's own checks say as that account; absent if it was not made. */
  readonly check?: {
    readonly faults: readonly Fault[];
    /** As in `detailsFields`. */
    readonly log?: string;
    readonly details?: string;
    readonly findings: readonly Pick<AuditFinding, 'problem' | 'remedy'>[];
  };
}

interface LeftOutEntry {
  readonly table: string;
  /** Without a column and a capability, the whole table is left out. */
  readonly column?: string;
  readonly capability?: string;
  /** The database itself cannot give its rows, or not without a risk. */
  readonly unreadable?: true | undefined;
  readonly reason: string;
}

export function leftOutOf({ tables }: Proposal): readonly LeftOutEntry[] {
  return tables.flatMap(({ table, hiddenColumns, nothing, leftOut }) => [
    ...(nothing === undefined
      ? []
      : [
          {
            table: table.sql,
            unreadable: table.unreadable === undefined ? undefined : (true as const),
            reason: nothing,
          },
        ]),
    ...hiddenColumns.map(({ name, reason }) => ({ table: table.sql, column: name, reason })),
    ...leftOut.map(({ name, reason }) => ({ table: table.sql, capability: name, reason })),
  ]);
}

export function initText(report: InitReport): string {
  const { dir, tables, capabilities, left_out, beyond_max: beyond, account, check } = report;
  const columns = left_out.filter(({ column }) => column !== undefined).length;
  const others = left_out.filter(({ capability }) => capability !== undefined).length;
  const unreadable = left_out.filter((entry) => entry.unreadable);
  const whole = left_out.length - columns - others - unreadable.length;
  const file = `${dir}/capability.yaml`;
  const named = (count: number): string => counted(count, 'capability', 'capabilities');
  const tablesOf = (count: number): string => counted(count, 'table or view', 'tables and views');
  const lines = [`${file}: ${named(capabilities.length)} over ${tablesOf(tables)}; no row was read`];
  if (columns > 0)
    lines.push(
      `left out: ${counted(columns, 'column', 'columns')}, most of them because they look personal or secret: this is a guess, so read the file`,
    );
  if (whole > 0)
    lines.push(
      `left out: ${tablesOf(whole)} without columns that can be shown, or with only their key: the file says why`,
    );
  for (const { reason } of unreadable) lines.push(`left out: a table or view, since ${reason}`);
  if (others > 0) lines.push(`left out: ${named(others)}, each with its reason in the file`);
  if (beyond.length > 0)
    lines.push(`left out: ${named(beyond.length)} beyond --max, named at the end of the file`);
  if (check !== undefined) {
    if (account !== undefined) lines.push(`account: ${account.name} was created`);
    if (check.faults.length === 0)
      lines.push('database: answers that account; every capability only reads and yields what it declares');
    for (const { problem, remedy } of check.findings) lines.push(`account: ${problem}; to fix it: ${remedy}`);
  }
  const isRefused = check !== undefined && check.faults.length > 0;
  if (isRefused) lines.push('check: fails; the faults are printed below');
  const steps: string[] = [];
  if (account?.created === false)
    steps.push(
      `read ${dir}/reader.sql and run it, then give ${account.name} the password in ${dir}/secrets/db-password`,
    );
  if (isRefused) steps.push(`correct ${file}; do not run init again: the files and the account stay`);
  if (account?.created !== true || isRefused) steps.push(`svc-agent check --config ${file}`);
  steps.push(`svc-agent dev --config ${file}`);
  return `${[...lines, '', 'Next:', ...steps.map((step) => `  ${step}`)].join('\n')}\n`;
}

/** The files that would be written, without those that are secret. */
export function dryRunText({ dir, files }: InitReport): string {
  return files
    .map(({ path, text }) => `==> ${dir}/${path} <==\n${text ?? '(secret: made when the file is written)\n'}`)
    .join('\n');
}
