import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { printable } from '@svc/edge';
import { createRawKeyPair } from '@svc/protocol';
import { gatewayUrlProblem } from '../../config/gateway-url.ts';
import type {
  Catalog,
  CatalogAccounts,
  CatalogSource,
  CatalogTarget,
} from '../../databases/driver/catalog.ts';
import { driverOfUrl } from '../../databases/drivers.ts';
import { DatabaseError, type VerificationFault } from '../../databases/driver/errors.ts';
import { chooseTables, type TableChoice } from '../../proposals/choose-tables.ts';
import { accountNameFor, CAPABILITY_FILE, composeFiles } from '../../proposals/compose-files.ts';
import type { Proposal } from '../../proposals/model.ts';
import { propose } from '../../proposals/propose.ts';
import { withoutFailing } from '../../proposals/without-failing.ts';
import { draftFolder, filesInTheWay, type FileToWrite } from '../../proposals/write-folder.ts';
import { checkInChildProcess } from '../../start-up/child-process.ts';
import { askSecret, askYesNo } from './ask.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { dryRunText, initText, leftOutOf, type InitReport } from './init-report.ts';
import { detailsFields, showFaults, type CommandLog } from '../command-log.ts';
import { logFaults } from '../print-faults.ts';

export interface InitOptions extends TableChoice {
  /** Where the database is; else DATABASE_URL. */
  readonly url: string | undefined;
  /** How many capabilities at most, as it was typed. */
  readonly max: string | undefined;
  readonly dir: string | undefined;
  readonly gatewayUrl: string | undefined;
  readonly createAccount: boolean;
  readonly dryRun: boolean;
  /** Answers every question. */
  readonly yes: boolean;
  readonly json: boolean;
  readonly log: CommandLog;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const READ_TIMEOUT_MS = 60_000;
const MAX_CAPABILITIES = 40;
const FOLDER = 'capability';
const GATEWAY_URL = 'ws://127.0.0.1:8080/ws/agent';
const PASSWORD_BYTES = 24;
/** Progress is told of what takes longer. */
const QUIET_MS = 1000;

/** Ends the command with a message for standard error. */
class Refused extends Error {
  readonly exitCode: ExitCode;
  /** What the database says; it does not stand on standard error. */
  readonly detail: string | undefined;
  constructor(message: string, exitCode: ExitCode = EXIT.usage, detail?: string) {
    super(message);
    this.exitCode = exitCode;
    this.detail = detail;
  }
}

/** `svc-agent init`: proposes capabilities for a database, and writes them with all that it takes to serve them. */
export async function initCommand(options: InitOptions): Promise<ExitCode> {
  const { log } = options;
  try {
    return await init(options);
  } catch (error) {
    if (error instanceof Refused) return refuse(error, options);
    // A stack trace may quote the database; it goes to the log only.
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log.observe({ event: 'crashed', detail });
    return EXIT.failure;
  } finally {
    await log.close();
  }
}

function refuse({ message, detail, exitCode }: Refused, { json, log }: InitOptions): ExitCode {
  const { stdout, stderr } = process;
  stderr.write(`svc-agent: ${message}\n`);
  const said = detail === undefined ? [] : [{ path: 'database', message, detail }];
  logFaults(said, log);
  const more = detailsFields(said, log);
  if (json) stdout.write(`${JSON.stringify({ ok: false, error: message, ...more })}\n`);
  if (json || detail === undefined) return exitCode;
  if (log.isShown) stdout.write(`    ${printable(detail)}\n`);
  const where = more.log ?? more.details;
  if (where !== undefined) (log.isShown ? stdout : stderr).write(`Details: ${where}\n`);
  return exitCode;
}

async function init(options: InitOptions): Promise<ExitCode> {
  const { gatewayUrl = GATEWAY_URL, createAccount, dryRun, yes, json, log } = options;
  const dir = normalize(options.dir ?? FOLDER).replace(/(?<=.)\/$/, '');
  const max = maxOf(options.max);
  const urlProblem = gatewayUrlProblem(gatewayUrl);
  if (urlProblem !== undefined) throw new Refused(`--gateway-url ${urlProblem}`);
  const mayAsk = process.stdin.isTTY && process.stdout.isTTY && !yes && !json;
  if (createAccount && !dryRun && !yes && !mayAsk) {
    throw new Refused(
      '--create-account asks before it changes the database: without a terminal it needs `--yes`',
    );
  }
  const source = await driverOfUrl(options.url ?? options.env['DATABASE_URL']).loadCatalog();
  if (createAccount && source.accounts === undefined) {
    throw new Refused('--create-account: a database that is a file has no accounts; leave it out');
  }
  const { catalog, target } = await readCatalog(source, targetFor(source, options), { ...options, mayAsk });
  const choice = chooseTables(catalog, options);
  if (!choice.ok) throw new Refused(choice.problem);
  const proposal = propose(catalog, { ...choice, max, contains: source.contains });
  const capabilities = namesOf(proposal);
  if (catalog.tables.length === 0) {
    throw new Refused(
      'the database has no table and no view: check its name, the last part of the URL or PGDATABASE',
    );
  }
  if (capabilities.length === 0) {
    const reasons = catalog.tables.filter(choice.chosen).flatMap(({ unreadable = [] }) => unreadable);
    const others = 'of the chosen tables and views none has a key, or few rows and texts to search';
    throw new Refused(`nothing can be proposed: ${reasons[0] ?? others}`);
  }
  const account =
    source.accounts === undefined
      ? undefined
      : {
          name: accountNameFor(catalog, source.accounts),
          password: randomBytes(PASSWORD_BYTES).toString('base64url'),
        };
  const composed = {
    source,
    target,
    catalog,
    ...(account === undefined ? {} : { account }),
    gatewayUrl,
    max,
    agentKey: createRawKeyPair(),
  };
  const { files, statements } = composeFiles({ ...composed, proposal });
  const report: InitReport = {
    ok: true,
    dry_run: dryRun,
    dir,
    files: files.map(({ path, text, isSecret }) => (dryRun && !isSecret ? { path, text } : { path })),
    tables: proposal.tables.length,
    capabilities,
    left_out: leftOutOf(proposal),
    beyond_max: proposal.beyondMax,
    ...(account === undefined ? {} : { account: { name: account.name, created: createAccount && !dryRun } }),
  };
  const print = (done: InitReport, text: (done: InitReport) => string): void => {
    process.stdout.write(json ? `${JSON.stringify(done)}\n` : text(done));
  };
  if (dryRun) {
    print(report, dryRunText);
    return EXIT.fine;
  }
  const inTheWay = filesInTheWay(dir, files);
  if (inTheWay.length > 0) {
    throw new Refused(
      `nothing was written: there is already ${inTheWay.join(', ')}; name another folder with \`--dir\``,
    );
  }
  if (!createAccount || account === undefined || source.accounts === undefined) {
    await writeFiles(dir, files, async () => {});
    print(report, initText);
    return EXIT.fine;
  }
  const { accounts } = source;
  if (catalog.accounts.has(account.name)) throw new Refused(alreadyThere(account.name));
  if (!yes) await confirm(files);
  await writeFiles(dir, files, () => makeAccount(accounts, target, { ...account, statements }));
  const first = await checkFile(join(dir, CAPABILITY_FILE));
  logFaults(first.faults, log);
  const passing = first.faults.length === 0 ? undefined : withoutFailing(proposal, first.faults);
  let last = first;
  if (passing !== undefined) {
    // What the account may read stays as reader.sql says.
    const { files: again } = composeFiles({ ...composed, proposal: passing });
    for (const { path, text } of again)
      if (path === CAPABILITY_FILE) attempt(() => writeFileSync(join(dir, path), text));
    last = await checkFile(join(dir, CAPABILITY_FILE));
    logFaults(last.faults, log);
  }
  const kept = passing ?? proposal;
  const { faults, findings } = last;
  const passed = faults.length === 0;
  const check = {
    faults: faults.map(({ path, message }) => ({ path, message })),
    ...detailsFields(faults, log),
    findings,
  };
  print({ ...report, ok: passed, capabilities: namesOf(kept), left_out: leftOutOf(kept), check }, initText);
  if (passed) return EXIT.fine;
  showFaults(faults, join(dir, CAPABILITY_FILE), log);
  return EXIT.usage;
}

function namesOf({ tables }: Proposal): readonly string[] {
  return tables.flatMap(({ capabilities }) => capabilities.map(({ name }) => name));
}

function maxOf(typed: string | undefined): number {
  const max = Number(typed ?? MAX_CAPABILITIES);
  if (Number.isSafeInteger(max) && max >= 1) return max;
  throw new Refused('--max must be a whole number from 1 on');
}

/** A flag goes before the environment: whoever types it means it. */
function targetFor(source: CatalogSource, { url, env }: InitOptions): CatalogTarget {
  if (url !== undefined) {
    process.stderr.write(
      'svc-agent: warning: other accounts of this machine can read --url in its list of processes: set DATABASE_URL instead\n',
    );
  }
  const result = source.target(url ?? env['DATABASE_URL'], env);
  if (!result.ok) throw new Refused(result.problem);
  return result.target;
}

async function readCatalog(
  source: CatalogSource,
  target: CatalogTarget,
  { mayAsk }: { readonly mayAsk: boolean },
): Promise<{ readonly catalog: Catalog; readonly target: CatalogTarget }> {
  try {
    const catalog = await told('Reading the catalogs ...', source.read(target, READ_TIMEOUT_MS));
    return { catalog, target };
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const password = mayAsk && !target.hasPassword ? await askSecret('Password for the database') : undefined;
    if (password === undefined) throw refusedBy(error, 'cannot read the catalogs');
    return readCatalog(source, target.withPassword(password), { mayAsk });
  }
}

/** Says on a terminal what takes long. */
async function told<Result>(what: string, work: Promise<Result>): Promise<Result> {
  const tell = (): unknown => process.stderr.isTTY && process.stderr.write(`${what}\n`);
  const timer = setTimeout(tell, QUIET_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

function refusedBy(error: DatabaseError, what: string, exitCode: ExitCode = EXIT.usage): Refused {
  const message = `${what}: ${error.advice ?? 'the database does not answer as it should'}`;
  return new Refused(message, exitCode, error.message);
}

async function confirm(files: readonly FileToWrite[]): Promise<void> {
  process.stdout.write(`${files.find(({ path }) => path === 'reader.sql')?.text ?? ''}\n`);
  if ((await askYesNo('Run these statements now, and write the files?')) !== true) {
    throw new Refused('nothing was written, and the database was not changed', EXIT.failure);
  }
}

/** All files or none: they are put in place when `before` has worked. */
async function writeFiles(
  dir: string,
  files: readonly FileToWrite[],
  before: () => Promise<void>,
): Promise<void> {
  const draft = attempt(() => draftFolder(dir, files));
  try {
    await before();
    attempt(() => draft.commit());
  } catch (error) {
    draft.discard();
    throw error;
  }
}

function attempt<Result>(write: () => Result): Result {
  try {
    return write();
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'a file is in the way';
    throw new Refused(`nothing was written: the folder cannot be written (${reason})`, EXIT.failure);
  }
}

async function makeAccount(
  accounts: CatalogAccounts,
  target: CatalogTarget,
  { statements, name, password }: AccountToMake,
): Promise<void> {
  let outcome;
  try {
    outcome = await accounts.create(target, statements, password);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    throw refusedBy(error, 'cannot make the account', EXIT.failure);
  }
  if (outcome === 'exists') throw new Refused(alreadyThere(name));
  if (outcome === 'not_allowed') {
    throw new Refused(
      `nothing was written: this account may not create ${accounts.noun} or grant what the new one needs; leave \`--create-account\` out, and have reader.sql run by one that may`,
      EXIT.failure,
    );
  }
}

interface AccountToMake {
  readonly statements: readonly string[];
  readonly name: string;
  readonly password: string;
}

function alreadyThere(account: string): string {
  return `nothing was written: the account ${account} is there already; remove it, or leave \`--create-account\` out`;
}

async function checkFile(file: string): Promise<{
  readonly faults: readonly VerificationFault[];
  readonly findings: NonNullable<InitReport['check']>['findings'];
}> {
  const checks = checkInChildProcess({ file, offline: false }, () => {});
  const outcome = await told('Checking every capability as the new account ...', checks);
  if (outcome.step === 'malformed' || outcome.step === 'refused') {
    return { faults: outcome.faults, findings: [] };
  }
  const findings = outcome.step === 'verified' ? outcome.findings : [];
  return { faults: [], findings: findings.map(({ problem, remedy }) => ({ problem, remedy })) };
}
