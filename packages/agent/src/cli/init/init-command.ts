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
import { accountNameFor, CAPABILITY_FILE, composeFiles } from '../../proposals/compose-files.ts';
import { withoutFailing } from '../../proposals/without-failing.ts';
import { draftFolder, filesInTheWay, type FileToWrite } from '../../proposals/write-folder.ts';
import { checkInChildProcess } from '../../start-up/child-process.ts';
import { complain, crashDetail, EXIT, type CommandInput, type ExitCode } from '../command.ts';
import { makeProposal, namesOf, READ_TIMEOUT_MS, Refused, refusedBy, wantedOf } from './make-proposal.ts';
import { dryRunText, initText, leftOutOf, type InitReport } from './init-report.ts';
import { detailsFields, showFaults } from '../command-log.ts';
import { logFaults } from '../print-faults.ts';

const FOLDER = 'capability';
const GATEWAY_URL = 'ws://127.0.0.1:8080/ws/agent';
const PASSWORD_BYTES = 24;
/** What takes longer is announced on a terminal. */
const QUIET_MS = 1000;

/** `svc-agent init`: proposes capabilities for a database, and writes all files that serving them takes. */
export async function initCommand(input: CommandInput): Promise<ExitCode> {
  const { log } = input;
  try {
    return await init(input);
  } catch (error) {
    if (error instanceof Refused) return refuse(error, input);
    log.observe({ event: 'crashed', detail: crashDetail(error) });
    return EXIT.failure;
  } finally {
    await log.close();
  }
}

function refuse({ message, detail, exitCode }: Refused, { json, log }: CommandInput): ExitCode {
  const { stdout, stderr } = process;
  complain(message, exitCode);
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

async function init(input: CommandInput): Promise<ExitCode> {
  const { given, env, json, log } = input;
  const gatewayUrl = given.value('gateway-url') ?? GATEWAY_URL;
  const createAccount = given.has('create-account');
  const dryRun = given.has('dry-run');
  const yes = given.has('yes');
  const dir = normalize(given.value('dir') ?? FOLDER).replace(/(?<=.)\/$/, '');
  const wanted = wantedOf(given);
  const urlProblem = gatewayUrlProblem(gatewayUrl);
  if (urlProblem !== undefined) throw new Refused(`--gateway-url ${urlProblem}`);
  const mayAsk = process.stdin.isTTY && process.stdout.isTTY && !yes && !json;
  if (createAccount && !dryRun && !yes && !mayAsk) {
    throw new Refused(
      '--create-account asks before it changes the database: without a terminal it needs `--yes`',
    );
  }
  const source = await driverOfUrl(given.value('url') ?? env['DATABASE_URL']).loadCatalog();
  if (createAccount && source.accounts === undefined) {
    throw new Refused('--create-account: a database that is a file has no accounts; omit the flag');
  }
  const { catalog, target } = await readCatalog(source, targetFor(source, input), mayAsk);
  const proposal = makeProposal(source, catalog, wanted);
  const capabilities = namesOf(proposal);
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
    max: wanted.max,
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
      `nothing was written: ${inTheWay.join(', ')} already ${inTheWay.length === 1 ? 'exists' : 'exist'}; name another folder with \`--dir\``,
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
  const file = join(dir, CAPABILITY_FILE);
  let kept = proposal;
  let { faults, findings } = await checkFile(file, log);
  const passing = faults.length === 0 ? undefined : withoutFailing(proposal, faults);
  if (passing !== undefined) {
    kept = passing;
    // The privileges of the account stay as in reader.sql.
    for (const { path, text } of composeFiles({ ...composed, proposal: kept }).files)
      if (path === CAPABILITY_FILE) attempt(() => writeFileSync(file, text));
    ({ faults, findings } = await checkFile(file, log));
  }
  const passed = faults.length === 0;
  const check = {
    faults: faults.map(({ path, message }) => ({ path, message })),
    ...detailsFields(faults, log),
    findings,
  };
  print({ ...report, ok: passed, capabilities: namesOf(kept), left_out: leftOutOf(kept), check }, initText);
  if (passed) return EXIT.fine;
  showFaults(faults, file, log);
  return EXIT.usage;
}

/** A flag takes precedence over the environment. */
function targetFor(source: CatalogSource, { given, env }: CommandInput): CatalogTarget {
  const url = given.value('url');
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
  mayAsk: boolean,
): Promise<{ readonly catalog: Catalog; readonly target: CatalogTarget }> {
  try {
    const catalog = await told('Reading the catalogs ...', source.read(target, READ_TIMEOUT_MS));
    return { catalog, target };
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const password = mayAsk && !target.hasPassword ? await askSecret('Password for the database') : undefined;
    if (password === undefined) throw refusedBy(error, 'cannot read the catalogs');
    return readCatalog(source, target.withPassword(password), mayAsk);
  }
}

async function told<Result>(what: string, work: Promise<Result>): Promise<Result> {
  const tell = (): unknown => process.stderr.isTTY && process.stderr.write(`${what}\n`);
  const timer = setTimeout(tell, QUIET_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

/** Undefined when the user leaves. The library is loaded with the first question: only `init` asks any. */
async function askSecret(question: string): Promise<string | undefined> {
  const { password, isCancel } = await import('@clack/prompts');
  const answer = await password({ message: question });
  return isCancel(answer) ? undefined : answer;
}

async function confirm(files: readonly FileToWrite[]): Promise<void> {
  process.stdout.write(`${files.find(({ path }) => path === 'reader.sql')?.text ?? ''}\n`);
  const prompts = await import('@clack/prompts');
  const message = 'Run these statements now, and write the files?';
  if ((await prompts.confirm({ message, initialValue: false })) !== true) {
    throw new Refused('nothing was written, and the database was not changed', EXIT.failure);
  }
}

/** Writes all files or none, after `before` has succeeded. */
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
  {
    statements,
    name,
    password,
  }: { readonly statements: readonly string[]; readonly name: string; readonly password: string },
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
      `nothing was written: this account may not create ${accounts.noun} or grant what the new one needs; omit \`--create-account\`, and run reader.sql with an account that may`,
      EXIT.failure,
    );
  }
}

function alreadyThere(account: string): string {
  return `nothing was written: the account ${account} already exists; remove it, or omit \`--create-account\``;
}

async function checkFile(
  file: string,
  log: CommandInput['log'],
): Promise<{
  readonly faults: readonly VerificationFault[];
  readonly findings: NonNullable<InitReport['check']>['findings'];
}> {
  const checks = checkInChildProcess({ file, offline: false }, () => {});
  const outcome = await told('Checking every capability as the new account ...', checks);
  if (outcome.step === 'malformed' || outcome.step === 'refused') {
    logFaults(outcome.faults, log);
    return { faults: outcome.faults, findings: [] };
  }
  const findings = outcome.step === 'verified' ? outcome.findings : [];
  return { faults: [], findings: findings.map(({ problem, remedy }) => ({ problem, remedy })) };
}
