import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  type Stats,
} from 'node:fs';
import { readProblem } from '@svc/edge';
import { CAPABILITY_NAME_PATTERN } from '@svc/protocol';
import { nameAnother } from '../config/load.ts';
import { askChildProcess } from '../start-up/child-process.ts';
import type { AdditionReport } from '../start-up/report.ts';
import { complain, EXIT, type CommandInput, type ExitCode } from './command.ts';
import { detailsFields, showFaults } from './command-log.ts';
import { flatFault, logFaults, printFaults } from './print-faults.ts';

/** `svc-agent add`: adds a capability to the file, all of which is verified before it is written. */
export async function addCommand(input: CommandInput): Promise<ExitCode> {
  const { given, file, log } = input;
  const [name = ''] = given.operands;
  const sqlFile = given.value('sql-file') ?? '';
  if (!new RegExp(CAPABILITY_NAME_PATTERN).test(name)) {
    return complain(
      'this is no capability name: use 1 to 48 lower-case letters, digits and `_`, beginning with a letter',
    );
  }
  let sql: string;
  try {
    sql = new TextDecoder('utf-8', { fatal: true })
      .decode(readFileSync(sqlFile === '-' ? 0 : sqlFile))
      .replaceAll('\r\n', '\n')
      .trim();
  } catch (error) {
    return complain(`cannot read the SQL: ${readProblem(error)}; name its file with \`--sql-file\``);
  }
  if (sql === '') return complain('there is no SQL: give one SELECT with `--sql-file`');
  let content: Buffer;
  try {
    content = readFileSync(file);
  } catch (error) {
    const message = `cannot read the file: ${readProblem(error)}; ${nameAnother(file)}`;
    return tell(input, { step: 'refused', faults: [{ path: '', message }] }, false);
  }
  let report: AdditionReport;
  try {
    report = await askChildProcess({ addTo: file, content, name, sql, database: given.value('database') });
  } catch (error) {
    log.observe({ event: 'crashed', detail: String(error) });
    await log.close();
    return EXIT.failure;
  }
  if (report.step === 'refused') {
    logFaults(report.faults, log);
    await log.close();
    return tell(input, report, false);
  }
  if (given.has('print')) return tell(input, report, false);
  const problem = replace(file, content, report.content);
  if (problem === undefined) return tell(input, report, true);
  return complain(`cannot write ${file}: ${problem}`, EXIT.failure);
}

function tell({ given, file, log, json }: CommandInput, report: AdditionReport, written: boolean): ExitCode {
  const { stdout, stderr } = process;
  const [name = ''] = given.operands;
  const faults = report.step === 'refused' ? report.faults : [];
  const warnings = report.step === 'proposed' ? report.warnings : [];
  const section = report.step === 'proposed' ? report.section : undefined;
  const code = report.step === 'refused' ? EXIT.usage : EXIT.fine;
  if (json) {
    const common = { ok: code === EXIT.fine, file, capability: name, written, section };
    const found = { warnings: warnings.map(flatFault), faults: faults.map(flatFault) };
    stdout.write(`${JSON.stringify({ ...common, ...found, ...detailsFields(faults, log) })}\n`);
    return code;
  }
  showFaults(faults, file, log);
  const own = warnings.filter(({ path }) => path.startsWith(`capabilities.${name}`));
  printFaults(own, stderr, file, { kind: 'warning: ' });
  if (given.has('print') && section !== undefined) stdout.write(section);
  else if (written) stdout.write(`${file}: added ${name}; try it: svc-agent try ${name} --config ${file}\n`);
  return code;
}

/** Replaces the file atomically, unless it has changed. Returns why it could not. */
function replace(file: string, before: Uint8Array, content: Uint8Array): string | undefined {
  let draft: string | undefined;
  try {
    // A symbolic link stays one.
    const real = realpathSync(file);
    draft = `${real}.${randomBytes(6).toString('hex')}.tmp`;
    const stats = statSync(real);
    const mode = stats.mode & 0o777;
    writeFileSync(draft, content, { mode, flag: 'wx' });
    keepOwner(draft, stats);
    // After chown, which clears bits of the mode.
    chmodSync(draft, mode);
    if (!readFileSync(real).equals(before)) {
      rmSync(draft);
      return 'it has changed since it was read; try again';
    }
    renameSync(draft, real);
    return undefined;
  } catch (error) {
    if (draft !== undefined) rmSync(draft, { force: true });
    return readProblem(error);
  }
}

/** An agent that runs as another user than root must be able to read what root has replaced. */
function keepOwner(draft: string, { uid, gid }: Stats): void {
  const made = statSync(draft);
  if (made.uid === uid && made.gid === gid) return;
  try {
    chownSync(draft, uid, gid);
  } catch (error) {
    // Only root may give a file away. Another user who may write the folder becomes its owner, as with an editor.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) throw error;
  }
}
