import './ignored-signals.ts';
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  firstSignal,
  limitYoungGeneration,
  parseCommandLine,
  renderCompletion,
  renderHelp,
  runOwnCode,
  tolerateClosedOutput,
  type Given,
} from '@svc/edge';
import { checkCommand } from './cli/check/check-command.ts';
import { NOBODY, openCommandLog, type CommandLog } from './cli/command-log.ts';
import { EXIT, type ExitCode } from './cli/exit-code.ts';
import { workerCode } from './cli/open-database.ts';
import { PROGRAM } from './cli/program.ts';
import { runCommand } from './cli/run/run-command.ts';
import { schemaCommand } from './cli/schema-command.ts';
import { engineCodes } from './databases/drivers.ts';
import { isLevel, LEVELS } from './lint/finding.ts';
import { checksCode } from './start-up/spawn-checks.ts';

declare const __SVC_VERSION__: string;
/** The pages of the console, which the build writes in place of the name. */
declare const SVC_CONSOLE: string;

/** The folder of the real file, symbolic links resolved: where `capability.yaml` and the log of a running agent live. */
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
      usageError(parsed.message);
      return;
    case 'command':
      await runNamed(parsed.name, parsed.given);
  }
}

async function runNamed(name: string | undefined, given: Given): Promise<void> {
  const file = capabilityFile(given.value('config'));
  const isForPeople = !given.has('json') && given.value('reporter') !== 'junit';
  const log = openCommandLog(
    { file: given.value('log'), isShown: process.stdout.isTTY && isForPeople },
    // The display of `dev` shows what is of use.
    name === 'dev' ? NOBODY : process.stderr,
  );
  if ('problem' in log) return usageError(log.problem);
  switch (name) {
    case 'schema':
      schemaCommand(process.stdout);
      return;
    case 'check':
      process.exitCode = await checkCommand({
        file,
        offline: given.has('offline'),
        json: given.has('json'),
        log,
      });
      return;
    case 'try': {
      const { tryCommand } = await import('./cli/try-command.ts');
      process.exitCode = await tryCommand({
        file,
        log,
        capability: given.operands[0] ?? '',
        params: given.values('param'),
        paramsJson: given.value('params'),
        keyName: given.value('as'),
        claims: given.values('claim'),
        subject: given.value('subject'),
        issuer: given.value('issuer'),
        explain: given.has('explain'),
        json: given.has('json'),
      });
      return;
    }
    case 'add': {
      const { addCommand } = await import('./cli/add-command.ts');
      process.exitCode = await addCommand({
        file,
        log,
        name: given.operands[0] ?? '',
        sqlFile: given.value('sql-file') ?? '',
        database: given.value('database'),
        print: given.has('print'),
        json: given.has('json'),
      });
      return;
    }
    case 'test': {
      const reporter = given.value('reporter') ?? 'text';
      if (reporter !== 'text' && reporter !== 'junit') {
        return usageError('`--reporter` must be one of text, junit');
      }
      if (given.has('json') && given.value('reporter') !== undefined) {
        return usageError('`--json` and `--reporter` do not go together: give one of them');
      }
      const { testCommand } = await import('./cli/test-command.ts');
      process.exitCode = await testCommand({
        file,
        names: given.operands,
        reporter: given.has('json') ? 'json' : reporter,
        log,
      });
      return;
    }
    case 'lint': {
      const failOn = given.value('fail-on') ?? 'error';
      if (!isLevel(failOn)) return usageError(`\`--fail-on\` must be one of ${LEVELS.join(', ')}`);
      const { lintCommand } = await import('./cli/lint-command.ts');
      process.exitCode = await lintCommand({
        file,
        failOn,
        offline: given.has('offline'),
        json: given.has('json'),
        log,
      });
      return;
    }
    case 'diff': {
      const { diffCommand } = await import('./cli/diff-command.ts');
      const [old = '', now = ''] = given.operands;
      process.exitCode = await diffCommand({
        old,
        now,
        failOn: given.value('fail-on') ?? 'breaking',
        json: given.has('json'),
        apiKey: process.env['SVC_API_KEY'],
      });
      return;
    }
    case 'init':
      process.exitCode = await init(given, log);
      return;
    case 'dev': {
      const { devCommand } = await import('./cli/dev/dev-command.ts');
      process.exit(
        await devCommand({
          file,
          home,
          log,
          version: __SVC_VERSION__,
          env: process.env,
          port: given.value('port'),
          claims: given.values('claim'),
          gateway: !given.has('no-gateway'),
          json: given.has('json'),
          quiet: given.has('quiet'),
          consoleAssets: () => SVC_CONSOLE,
          // Without a listener for it the end of the terminal would leave everything running.
          untilSignal: () => firstSignal(EXIT.failure, ['SIGHUP']),
        }),
      );
    }
    default:
      limitYoungGeneration(process.env['NODE_OPTIONS']);
      process.exit(
        await runCommand({
          file,
          home,
          colour: !process.env['NO_COLOR'],
          version: __SVC_VERSION__,
          env: process.env,
          watch: given.has('watch'),
          untilSignal: () => firstSignal(EXIT.failure),
          onReloadSignal: (listener) => process.on('SIGHUP', listener),
        }),
      );
  }
}

function usageError(message: string): void {
  process.stderr.write(`svc-agent: ${message}\n`);
  process.exitCode = EXIT.usage;
}

async function init(given: Given, log: CommandLog): Promise<ExitCode> {
  const { initCommand } = await import('./cli/init/init-command.ts');
  return initCommand({
    url: given.value('url'),
    schemas: given.values('schema'),
    tables: given.values('tables'),
    exclude: given.values('exclude'),
    include: given.values('include'),
    max: given.value('max'),
    dir: given.value('dir'),
    gatewayUrl: given.value('gateway-url'),
    createAccount: given.has('create-account'),
    dryRun: given.has('dry-run'),
    yes: given.has('yes'),
    json: given.has('json'),
    log,
    env: process.env,
  });
}

/** The argument, else the environment, else next to the executable. */
function capabilityFile(argument: string | undefined): string {
  return argument ?? process.env['AGENT_CAPABILITY_FILE'] ?? join(home, 'capability.yaml');
}
