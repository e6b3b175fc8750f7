import { counted } from '@svc/edge';
import type { AuditFinding } from '../../start-up/report.ts';
import type { Fault } from '../../capabilities/fault.ts';
import type { Proposal } from '../../proposals/model.ts';

/** What `svc-agent init` has done, as `--json` prints it. */
export interface InitReport {
  readonly ok: boolean;
  readonly dry_run: boolean;
  readonly dir: string;
  /** Paths below `dir`; the texts of those that hold no secret, where nothing was written. */
  readonly files: readonly { readonly path: string; readonly text?: string }[];
  readonly tables: number;
  readonly capabilities: readonly string[];
  readonly left_out: readonly LeftOutEntry[];
  /** Names of capabilities that were more than `--max`. */
  readonly beyond_max: readonly string[];
  /** Absent where the database knows none. */
  readonly account?: { readonly name: string; readonly created: boolean };
  /** What the agent's own checks say as that account; absent where it was not made. */
  readonly check?: {
    readonly faults: readonly Fault[];
    /** The file of `--log`, if the database says more of them. */
    readonly log?: string;
    /** How to see what more it says. */
    readonly details?: string;
    readonly findings: readonly Pick<AuditFinding, 'problem' | 'remedy'>[];
  };
}

interface LeftOutEntry {
  readonly table: string;
  /** With neither a column nor a capability the whole table is left out. */
  readonly column?: string;
  readonly capability?: string;
  /** The database itself cannot give its rows, or not without a risk. */
  readonly unreadable?: true;
  readonly reason: string;
}

export function leftOutOf({ tables }: Proposal): readonly LeftOutEntry[] {
  return tables.flatMap(({ table, hiddenColumns, nothing, leftOut }) => [
    ...(nothing === undefined
      ? []
      : [
          {
            table: table.sql,
            ...(table.unreadable === undefined ? {} : { unreadable: true as const }),
            reason: nothing,
          },
        ]),
    ...hiddenColumns.map(({ name, reason }) => ({ table: table.sql, column: name, reason })),
    ...leftOut.map(({ name, reason }) => ({ table: table.sql, capability: name, reason })),
  ]);
}

/** For people: what there is now, what was left out, and what to do next. */
export function initText(report: InitReport): string {
  const { dir, tables, capabilities, left_out, beyond_max: beyond, account, check } = report;
  const columns = left_out.filter(({ column }) => column !== undefined).length;
  const others = left_out.filter(({ capability }) => capability !== undefined).length;
  const unreadable = left_out.filter((entry) => entry.unreadable);
  const whole = left_out.length - columns - others - unreadable.length;
  const file = `${dir}/capability.yaml`;
  const lines = [
    `${file}: ${counted(capabilities.length, 'capability', 'capabilities')} over ${counted(tables, 'table or view', 'tables and views')}; no row was read`,
    ...(columns === 0
      ? []
      : [
          `left out: ${counted(columns, 'column', 'columns')}, most of them because they look personal or secret: a guess, so read the file`,
        ]),
    ...(whole === 0
      ? []
      : [
          `left out: ${counted(whole, 'table or view', 'tables and views')} of which nothing, or the key alone, is left to give: the file says why`,
        ]),
    ...unreadable.map(({ reason }) => `left out: a table or view, since ${reason}`),
    ...(others === 0
      ? []
      : [`left out: ${counted(others, 'capability', 'capabilities')}, each with its reason in the file`]),
    ...(beyond.length === 0
      ? []
      : [
          `left out: ${counted(beyond.length, 'capability', 'capabilities')} beyond --max, named at the end of the file`,
        ]),
  ];
  if (check !== undefined) {
    if (account !== undefined) lines.push(`account: ${account.name} was made`);
    if (check.faults.length === 0) {
      lines.push('database: answers that account; every capability only reads and yields what it declares');
    }
    for (const { problem, remedy } of check.findings) {
      lines.push(`account: ${problem}; to fix it: ${remedy}`);
    }
  }
  const isRefused = check !== undefined && check.faults.length > 0;
  if (isRefused) lines.push('check: fails; what is wrong is printed last');
  const steps = [
    ...(account === undefined || account.created
      ? []
      : [
          `read ${dir}/reader.sql and run it, then give ${account.name} the password in ${dir}/secrets/db-password`,
        ]),
    ...(isRefused ? [`correct ${file}; do not run init again: the files and the account stay`] : []),
    ...(account?.created === true && !isRefused ? [] : [`svc-agent check --config ${file}`]),
    `svc-agent dev --config ${file}`,
  ];
  return `${[...lines, '', 'Next:', ...steps.map((step) => `  ${step}`)].join('\n')}\n`;
}

/** The files that would be written, without those that are secret. */
export function dryRunText({ dir, files }: InitReport): string {
  return files
    .map(({ path, text }) => `==> ${dir}/${path} <==\n${text ?? '(secret: it is made when it is written)\n'}`)
    .join('\n');
}
