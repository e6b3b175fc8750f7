// The first import: the others run after it.
import { giveOutputBack } from './stdio/own-output.ts';
import './ignored-signals.ts';
import type { ChildProcess } from 'node:child_process';
import {
  limitYoungGeneration,
  parseCommandLine,
  renderCompletion,
  renderHelp,
  tolerateClosedOutput,
  type Given,
} from '@svc/edge';
import { PROGRAM } from './cli/program.ts';

declare const __SVC_VERSION__: string;
/** The code of a bcrypt thread. */
declare const SVC_VERIFIER: string;
/** The pages of the console, which the build writes in place of the name. */
declare const SVC_CONSOLE: string;
/** The process of the checks, which the first code of the executable starts for `svc stdio`. */
declare const SVC_STARTED_CHECKS: ChildProcess | undefined;

const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

void main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<void> {
  const parsed = parseCommandLine(PROGRAM, argv);
  if (parsed.kind !== 'command' || parsed.name !== 'stdio') {
    SVC_STARTED_CHECKS?.kill('SIGKILL');
    giveOutputBack();
    tolerateClosedOutput('svc', EXIT_FAILURE);
  }
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
      process.stderr.write(`svc: ${parsed.message}\n`);
      process.exitCode = EXIT_USAGE;
      return;
    case 'command':
      await run(parsed.name, parsed.given);
  }
}

async function run(name: string | undefined, given: Given): Promise<void> {
  const { env } = process;
  const input = { given, env, version: __SVC_VERSION__ };
  limitYoungGeneration(env['NODE_OPTIONS'], name === 'serve' ? 2 : 1);
  switch (name) {
    // Each loads only what it needs.
    case 'stdio':
      (await import('./stdio/run-stdio.ts')).runStdio({ ...input, startedChecks: SVC_STARTED_CHECKS });
      return;
    case 'serve': {
      const { runServe } = await import('./serve/run-serve.ts');
      process.exit(
        await runServe({ ...input, verifierCode: SVC_VERIFIER, consoleAssets: () => SVC_CONSOLE }),
      );
    }
    default:
      process.stderr.write(renderHelp(PROGRAM, undefined));
      process.exitCode = EXIT_USAGE;
  }
}
