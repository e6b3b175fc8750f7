import './ignored-signals.ts';
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  limitYoungGeneration,
  parseCommandLine,
  renderCompletion,
  renderHelp,
  runOwnCode,
  tolerateClosedOutput,
  type Given,
} from '@svc/edge';
import { checkCommand } from './cli/check/check-command.ts';
import { complain, EXIT, type CommandInput, type ExitCode } from './cli/command.ts';
import { NOBODY, openCommandLog } from './cli/command-log.ts';
import { workerCode } from './cli/open-database.ts';
import { PROGRAM } from './cli/program.ts';
import { runCommand } from './cli/run/run-command.ts';
import { editorSchema } from './config/schema/editor-schema.ts';
import { engineCodes } from './databases/drivers.ts';
import { checksCode } from './start-up/child-process.ts';

declare const __SVC_VERSION__: string;
/** The pages of the console. The build replaces the name with them. */
declare const SVC_CONSOLE: string;

/** The folder of the real file, symbolic links resolved. */
const home = dirname(realpathSync(__filename));

if (!runOwnCode(() => [checksCode(), workerCode(), ...engineCodes()])) void main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<void> {
  tolerateClosedOutput('svc-agent', EXIT.failure);
  const parsed = parseCommandLine(PROGRAM, argv);
  switch (parsed.kind) {
    case 'help':
      process.stdout.write(renderHelp(PROGRAM, parsed.command));
      return;
    case 'version':
      process.stdout.write(`${__SVC_VERSION__}\n`);
      return;
    case 'completion':
      process.stdout.write(renderCompletion(PROGRAM, parsed.shell));
      return;
    case 'usage_error':
      process.exitCode = complain(parsed.message);
      return;
    case 'command':
      await runNamed(parsed.name, parsed.given);
  }
}

async function runNamed(name: string | undefined, given: Given): Promise<void> {
  const json = given.has('json');
  const isForPeople = !json && given.value('reporter') !== 'junit';
  const log = openCommandLog(
    { file: given.value('log'), isShown: process.stdout.isTTY && isForPeople },
    // `dev` has a display of its own, which shows what is useful.
    name === 'dev' ? NOBODY : process.stderr,
  );
  if ('problem' in log) {
    process.exitCode = complain(log.problem);
    return;
  }
  const { env } = process;
  const file = given.value('config') ?? env['AGENT_CAPABILITY_FILE'] ?? join(home, 'capability.yaml');
  const input = { given, file, home, version: __SVC_VERSION__, env, json, log };
  // `dev` and the agent itself leave timers and sockets: only `process.exit` ends them.
  if (name === undefined) {
    limitYoungGeneration(env['NODE_OPTIONS']);
    process.exit(await runCommand(input));
  }
  if (name === 'dev') {
    const { devCommand } = await import('./cli/dev/dev-command.ts');
    process.exit(await devCommand(input, () => SVC_CONSOLE));
  }
  process.exitCode = await runToItsEnd(name, input);
}

/** Each command is loaded only when it runs, except the check, which the agent itself also needs. */
async function runToItsEnd(name: string, input: CommandInput): Promise<ExitCode> {
  switch (name) {
    case 'check':
      return checkCommand(input);
    case 'try':
      return (await import('./cli/try-command.ts')).tryCommand(input);
    case 'add':
      return (await import('./cli/add-command.ts')).addCommand(input);
    case 'test':
      return (await import('./cli/test-command.ts')).testCommand(input);
    case 'lint':
      return (await import('./cli/lint-command.ts')).lintCommand(input);
    case 'diff':
      return (await import('./cli/diff-command.ts')).diffCommand(input);
    case 'init':
      return (await import('./cli/init/init-command.ts')).initCommand(input);
    case 'schema':
      process.stdout.write(`${JSON.stringify(editorSchema(), undefined, 2)}\n`);
      return EXIT.fine;
    default:
      throw new Error(`there is no command ${name}`);
  }
}
