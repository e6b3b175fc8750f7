import { nearestWithin } from '@svc/edge';
import type { Capability } from '../capabilities/model.ts';
import type { Example } from '../capabilities/example.ts';
import { jsonText } from '../capabilities/values/json-text.ts';
import { databaseFault, type VerificationFault } from '../databases/driver/errors.ts';
import { junitReport } from '../examples/junit-report.ts';
import { failures, jsonReport, textReport, type ExamplesReport } from '../examples/report.ts';
import { runExamples, showKind, showValue } from '../examples/run-examples.ts';
import { createLocalCaller } from '../trial/local-caller.ts';
import { openTrial, type Answer, type Trial } from '../trial/open-trial.ts';
import { complain, EXIT, type CommandInput, type ExitCode } from './command.ts';
import { detailsFields, showFaults } from './command-log.ts';
import { withCheckedFile, type CheckedFile } from './with-checked-file.ts';

type Reporter = 'text' | 'junit' | 'json';

const PROGRESS_AFTER_MS = 1000;

/** `svc-agent test`: checks the file as at a start, makes the calls of its examples, and prints a report. */
export async function testCommand({ given, file, json, log }: CommandInput): Promise<ExitCode> {
  const format = given.value('reporter');
  if (format !== undefined && format !== 'text' && format !== 'junit')
    return complain('`--reporter` must be one of text, junit');
  if (json && format !== undefined)
    return complain('`--json` and `--reporter` exclude each other: give one of them');
  const reporter: Reporter = json ? 'json' : (format ?? 'text');
  return withCheckedFile(
    {
      file,
      openLog: () => log,
      showFaults(faults) {
        if (reporter !== 'json') showFaults(faults, file, log);
        if (reporter === 'text') return;
        const nothing = { file, results: [], ms: 0 };
        process.stdout.write(reportText(nothing, reporter, faults, detailsFields(faults, log)));
      },
    },
    (checked) => makeCalls(checked, file, given.operands, reporter),
  );
}

async function makeCalls(
  { outcome, log, refuse }: CheckedFile,
  file: string,
  names: readonly string[],
  reporter: Reporter,
): Promise<ExitCode> {
  if (outcome.step === 'readable') throw new Error('cannot test: the database has not been asked');
  const { verified } = outcome;
  const known = verified.config.capabilities.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const close = nearestWithin(unknown, known);
    const hint = close === undefined ? '' : `, did you mean \`${close}\`?`;
    return refuse([{ path: '', message: `there is no capability ${JSON.stringify(unknown)}${hint}` }]);
  }
  const chosen = verified.config.capabilities.filter(
    ({ name }) => names.length === 0 || names.includes(name),
  );
  let trial: Trial;
  try {
    trial = await openTrial(verified, { observe: log.observe });
  } catch (error) {
    return refuse([databaseFault(error)]);
  }
  try {
    const report = await runAll(file, chosen, trial, reporter);
    process.stdout.write(reportText(report, reporter));
    return failures(report).length === 0 ? EXIT.fine : EXIT.no;
  } finally {
    await trial.close();
  }
}

async function runAll(
  file: string,
  capabilities: readonly Capability[],
  trial: Trial,
  reporter: Reporter,
): Promise<ExamplesReport> {
  const began = performance.now();
  const isShown = process.stderr.isTTY;
  let isWritten = false;
  const results = await runExamples(capabilities, {
    call: (capability, example) => callExample(trial, capability, example),
    show: reporter === 'text' && process.stdout.isTTY ? showValue : showKind,
    now: () => performance.now(),
    onProgress(done, all) {
      if (!isShown || performance.now() - began < PROGRESS_AFTER_MS) return;
      isWritten = true;
      process.stderr.write(`\r${done} of ${all} examples`);
    },
  });
  if (isWritten) process.stderr.write('\r\u001b[K');
  return { file, results, ms: performance.now() - began };
}

async function callExample(
  trial: Trial,
  capability: Capability,
  { params, principal = {} }: Example,
): Promise<Answer> {
  const made = createLocalCaller(principal);
  if (!made.ok) throw new Error('cannot test: an example has claims that its checks should have refused');
  return trial.call({
    capability: capability.name,
    params: Buffer.from(jsonText(params)),
    caller: made.caller,
  });
}

function reportText(
  report: ExamplesReport,
  reporter: Reporter,
  faults: readonly VerificationFault[] = [],
  more: object = {},
): string {
  if (reporter === 'text') return textReport(report);
  return reporter === 'junit' ? junitReport(report, faults) : jsonReport(report, faults, more);
}
