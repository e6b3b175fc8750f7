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
import { proposeInChildProcess } from '../start-up/child-process.ts';
import type { AdditionReport } from '../start-up/report.ts';
import { detailsFields, showFaults, type CommandLog } from './command-log.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { flatFault, logFaults, printFaults } from './print-faults.ts';

export interface AddOptions {
  /** The capability file. */
  readonly file: string;
  readonly log: CommandLog;
  readonly name: string;
  /** `-` for standard input. */
  readonly sqlFile: string;
  /** One of the file's; absent: that of its defaults, or the only one. */
  readonly database?: string | undefined;
  readonly print: boolean;
  readonly json: boolean;
}

/** `svc-agent add`: adds a capability to the file, all of which is verified before it is written. */
export async function addCommand(options: AddOptions): Promise<ExitCode> {
  const { file, log, name, sqlFile } = options;
  if (!new RegExp(CAPABILITY_NAME_PATTERN).test(name)) {
    return misused(
      'this is no capability name: use 1 to 48 lower-case letters, digits and `_`, beginning with a letter',
    );
  }
  let sql: string;
  try {
    sql = decode(readFileSync(sqlFile === '-' ? 0 : sqlFile))
      .replaceAll('\r\n', '\n')
      .trim();
  } catch (error) {
    return misused(`cannot read the SQL: ${readProblem(error)}; name its file with \`--sql-file\``);
  }
  if (sql === '') return misused('there is no SQL: give one SELECT by `--sql-file`');
  let content: Buffer;
  try {
    content = readFileSync(file);
  } catch (error) {
    const message = `cannot read the file: ${readProblem(error)}; ${nameAnother(file)}`;
    return tell(options, { step: 'refused', faults: [{ path: '', message }] }, false);
  }
  let report: AdditionReport;
  try {
    report = await proposeInChildProcess({
      addTo: file,
      content,
      name,
      sql,
      database: options.database,
    });
  } catch (error) {
    log.observe({ event: 'crashed', detail: String(error) });
    await log.close();
    return EXIT.failure;
  }
  if (report.step === 'refused') {
    logFaults(report.faults, log);
    await log.close();
    return tell(options, report, false);
  }
  if (options.print) return tell(options, report, false);
  const problem = replace(file, content, report.content);
  if (problem === undefined) return tell(options, report, true);
  process.stderr.write(`svc-agent: cannot write ${file}: ${problem}\n`);
  return EXIT.failure;
}

function tell(
  { file, log, name, print, json }: AddOptions,
  report: AdditionReport,
  written: boolean,
): ExitCode {
  const { stdout, stderr } = process;
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
  printFaults(
    warnings.filter(({ path }) => path.startsWith(`capabilities.${name}`)),
    stderr,
    file,
    {
      kind: 'warning: ',
    },
  );
  if (print && section !== undefined) stdout.write(section);
  else if (written) stdout.write(`${file}: added ${name}; try it: svc-agent try ${name} --config ${file}\n`);
  return code;
}

/** All of the new file takes the place of the old one at once, unless that has changed; returns why it cannot. */
function replace(file: string, before: Uint8Array, content: Uint8Array): string | undefined {
  let draft: string | undefined;
  try {
    // A link stays one.
    const real = realpathSync(file);
    draft = `${real}.${randomBytes(6).toString('hex')}.tmp`;
    const stats = statSync(real);
    const mode = stats.mode & 0o777;
    writeFileSync(draft, content, { mode, flag: 'wx' });
    keepOwner(draft, stats);
    // After the owner, whose change clears bits.
    chmodSync(draft, mode);
    if (!readFileSync(real).equals(before)) {
      rmSync(draft);
      return 'it has changed meanwhile; try again';
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
    // Only root may give a file away. Anyone else who may write the folder takes the file over, as with an editor.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) throw error;
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

function misused(message: string): ExitCode {
  process.stderr.write(`svc-agent: ${message}\n`);
  return EXIT.usage;
}
