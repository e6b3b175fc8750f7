import { counted, printable } from '@svc/edge';
import type { StatementCounts } from '../../capabilities/clauses.ts';
import type { Fault } from '../../capabilities/fault.ts';
import type { PreparedCapability, TransactionForm } from '../../databases/driver/driver.ts';
import type { VerificationFault } from '../../databases/driver/errors.ts';
import type { IdentitySummary, WellFormed } from '../../start-up/report.ts';
import { detailsFields, detailsOf, type WordsPlace } from '../command-log.ts';
import { flatFault, printFaults } from '../print-faults.ts';

/** What the account may do beyond reading, and the statement that fixes it. */
interface Finding {
  /** Absent if the file names no database. */
  readonly database?: string;
  readonly problem: string;
  readonly remedy: string;
  /** Database text. */
  readonly detail?: string;
}

/** Something else that the account may do, which is no fault. */
type Note = Pick<Finding, 'database'> & {
  readonly note: string;
  /** The statement that revokes it. */
  readonly remedy?: string;
};

/** How the calls of a capability run. */
type Transaction = { readonly capability: string } & TransactionForm;

/** By the names of the capabilities. */
type Statements = Readonly<Record<string, StatementCounts>>;

export interface CheckReport {
  wellFormed(file: Pick<WellFormed, 'capabilities' | 'identity' | 'workers' | 'databases'>): void;
  /** The database answers, and every capability has passed. */
  verified(
    findings: readonly Finding[],
    notes?: readonly Note[],
    transactions?: readonly Transaction[],
    statements?: Statements,
  ): void;
  warned(warnings: readonly Fault[]): void;
  refused(faults: readonly VerificationFault[]): void;
  /** To be called last. */
  end(): void;
}

interface Output {
  write(text: string): unknown;
}

const NO_PLACE: WordsPlace = { file: undefined, isShown: false };

/** Prints lines for people, as results come in. */
export function textReport(
  file: string,
  offline: boolean,
  output: Output,
  words: WordsPlace = NO_PLACE,
): CheckReport {
  let names: readonly string[] | undefined;
  const said: Pick<VerificationFault, 'detail' | 'hint'>[] = [];
  return {
    wellFormed({ capabilities, identity, workers, databases }) {
      names = databases;
      output.write(`${file}: well formed, ${counted(capabilities, 'capability', 'capabilities')}\n`);
      if (identity !== undefined) output.write(`identity: ${meaningOf(identity)}\n`);
      if (workers !== undefined) {
        output.write(`runtime: ${workers} workers run the calls and share the database connections\n`);
      }
      if (offline) {
        output.write('offline: tables, columns, types and functions are checked with the database only\n');
      }
    },
    verified(findings, notes = [], transactions, statements = {}) {
      said.push(...findings);
      const who = names === undefined ? 'database: answers' : `databases: ${names.join(', ')} answer`;
      output.write(`${who}; every capability only reads and yields what it declares\n`);
      if (transactions !== undefined) output.write(`transactions: ${meaningOfTransactions(transactions)}\n`);
      for (const [name, counts] of Object.entries(statements))
        output.write(`${name}: ${meaningOfCounts(counts)}\n`);
      for (const { database, problem, remedy, detail } of findings) {
        const whose = database === undefined ? 'account' : `account of ${database}`;
        output.write(`${whose}: ${problem}; to fix it: ${remedy}\n`);
        if (words.isShown && detail !== undefined) output.write(`    ${printable(detail)}\n`);
      }
      for (const { database, note, remedy } of notes) {
        const how = remedy === undefined ? '' : `; to take it away: ${remedy}`;
        output.write(`note: ${database === undefined ? '' : `database ${database}: `}${note}${how}\n`);
      }
    },
    warned(warnings) {
      printFaults(warnings, output, file, { kind: 'warning: ' });
    },
    refused(faults) {
      said.push(...faults);
      printFaults(faults, output, file, { details: words.isShown });
    },
    end() {
      const details = detailsOf(said, words);
      if (details !== undefined) output.write(`Details: ${details}\n`);
    },
  };
}

/** Prints one JSON object for programs, at the end. */
export function jsonReport(
  file: string,
  offline: boolean,
  output: Output,
  words: WordsPlace = NO_PLACE,
): CheckReport {
  /** Empty if the file could not be understood. */
  let known = {};
  let account: readonly Finding[] = [];
  let notes: readonly Note[] | undefined;
  let transactions: readonly Transaction[] | undefined;
  let statements: Statements | undefined;
  let warnings: readonly Fault[] = [];
  let faults: readonly VerificationFault[] = [];
  return {
    wellFormed({ capabilities, identity, workers, databases }) {
      known = { capabilities, identity, workers, databases };
    },
    verified(findings, told, forms, counts) {
      account = findings;
      notes = told;
      transactions = forms;
      statements = counts;
    },
    warned(found) {
      warnings = found;
    },
    refused(found) {
      faults = found;
    },
    end() {
      const report = {
        ok: faults.length === 0,
        file,
        offline,
        ...known,
        faults: faults.map(flatFault),
        warnings: warnings.map(flatFault),
        ...detailsFields([...account, ...faults], words),
        account: account.map(({ database, problem, remedy }) => ({ database, problem, remedy })),
        notes,
        transactions,
        statements,
      };
      output.write(`${JSON.stringify(report)}\n`);
    },
  };
}

function meaningOf({ trust, accepts_keys, max_age_s, issuers, capabilities }: IdentitySummary): string {
  const keys = accepts_keys ? 'API keys as the gateway tells' : 'no API keys';
  return [
    trust === 'token'
      ? `tokens of ${issuers.join(', ')}, verified here; ${keys}`
      : 'the gateway tells who calls, for tokens and API keys',
    ...(max_age_s === undefined ? [] : [`tokens are at most ${max_age_s} s old`]),
    `${counted(capabilities, 'capability takes', 'capabilities take')} something from the caller`,
  ].join('; ');
}

/** In the order of the file; undefined if no capability is on an engine with shared transactions. */
export function transactionsOf({
  config,
  prepared,
}: {
  readonly config: { readonly capabilities: readonly { readonly name: string }[] };
  readonly prepared: readonly PreparedCapability[];
}): readonly Transaction[] | undefined {
  const forms = new Map(prepared.map(({ capability, transaction }) => [capability, transaction]));
  const found = config.capabilities.flatMap(({ name }): Transaction[] => {
    const form = forms.get(name);
    return form === undefined ? [] : [{ capability: name, ...form }];
  });
  return found.length === 0 ? undefined : found;
}

function meaningOfCounts({ filters, orders, statements, planned }: StatementCounts): string {
  return [
    counted(filters, 'filter', 'filters'),
    counted(orders, 'order', 'orders'),
    counted(statements, 'statement', 'statements'),
    `${planned} planned`,
  ].join(', ');
}

const OWN_NAMED_MAX = 10;

function meaningOfTransactions(transactions: readonly Transaction[]): string {
  const own = transactions.flatMap((each) => (each.form === 'own' ? [each] : []));
  const shared = transactions.length - own.length;
  // Their names would tell nothing.
  if (own.length === transactions.length && own.every(({ reason }) => reason === 'off'))
    return `all ${own.length} are their own, as the file says by \`transactions: own\``;
  const may = `${shared} may be shared`;
  if (own.length === 0) return may;
  const named = own.slice(0, OWN_NAMED_MAX).map(({ capability, reason }) => `${capability} (${reason})`);
  const more = own.length - named.length;
  const names = `${named.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
  return `${may}, ${own.length} ${own.length === 1 ? 'is its' : 'are their'} own: ${names}`;
}
