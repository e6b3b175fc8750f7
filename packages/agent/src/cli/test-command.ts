import { nearestWithin } from '@svc/edge';
import type { Capability } from '../capabilities/model.ts';
import type { Example } from '../capabilities/example.ts';
import { jsonText } from '../capabilities/values/json-text.ts';
import { databaseFault } from '../databases/driver/errors.ts';
import { junitReport } from '../examples/junit-report.ts';
import { failures, jsonReport, textReport, type ExamplesReport } from '../examples/report.ts';
import { runExamples, showKind, showValue } from '../examples/run-examples.ts';
import type { VerifiedAgent } from '../start-up/report.ts';
import type { Observe } from '../telemetry/events.ts';
import { createLocalCaller } from '../trial/local-caller.ts';
import { openTrial, type Answer, type Trial } from '../trial/open-trial.ts';
import { detailsFields, showFaults, type CommandLog } from './command-log.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { withCheckedFile, type CheckedFile } from './with-checked-file.ts';

export interface TestOptions {
  /** The capability file. */
  readonly file: string;
  /** Of the capabilities whose examples are to be run; none for all. */
  readonly names: readonly string[];
  readonly reporter: 'text' | 'junit' | 'json';
  readonly log: CommandLog;
}

const PROGRESS_AFTER_MS = 1000;

/** `svc-agent test`: checks the file as at a start, makes the calls of its examples, and prints a report. */
export async function testCommand(options: TestOptions): Promise<ExitCode> {
  const { file, reporter, log } = options;
  return withCheckedFile(
    {
      file,
      offline: false,
      openLog: () => log,
      onWellFormed: () => {},
      showFaults(faults) {
        const nothing = { file, results: [], ms: 0 };
        if (reporter === 'json')
          process.stdout.write(jsonReport(nothing, faults, detailsFields(faults, log)));
        else showFaults(faults, file, log);
        if (reporter === 'junit') process.stdout.write(junitReport(nothing, faults));
      },
    },
    (checked) => makeCalls(checked, options),
  );
}

async function makeCalls(
  { outcome, log, refuse }: CheckedFile,
  { file, names, reporter }: TestOptions,
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
  const trial = await open(verified, log.observe);
  if ('fault' in trial) return refuse([trial.fault]);
  try {
    const report = await runAll(file, chosen, trial, reporter);
    process.stdout.write(reportText(report, reporter));
    return failures(report).length === 0 ? EXIT.fine : EXIT.no;
  } finally {
    await trial.close();
  }
}

async function open(
  verified: VerifiedAgent,
  observe: Observe,
): Promise<Trial | { readonly fault: ReturnType<typeof databaseFault> }> {
  try {
    return await openTrial(verified, { observe });
  } catch (error) {
    return { fault: databaseFault(error) };
  }
}

async function runAll(
  file: string,
  capabilities: readonly Capability[],
  trial: Trial,
  reporter: TestOptions['reporter'],
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

function reportText(report: ExamplesReport, reporter: TestOptions['reporter']): string {
  switch (reporter) {
    case 'text':
      return textReport(report);
    case 'junit':
      return junitReport(report, []);
    case 'json':
      return jsonReport(report, []);
  }
}
