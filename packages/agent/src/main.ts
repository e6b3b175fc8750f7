import './ignored-signals.ts';
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { firstSignal, limitYoungGeneration, tolerateClosedOutput } from '@svc/edge';
import { parseArguments } from './cli/arguments.ts';
import { checkCommand } from './cli/check-command.ts';
import { EXIT } from './cli/exit-code.ts';
import { HELP } from './cli/help.ts';
import { runCommand } from './cli/run-command.ts';
import { schemaCommand } from './cli/schema-command.ts';

declare const __SVC_VERSION__: string;

/** The folder of the real file, symbolic links resolved: where `capability.yaml` and the log live. */
const home = dirname(realpathSync(__filename));

void main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<void> {
  tolerateClosedOutput('svc-agent', EXIT.failure);
  const command = parseArguments(argv);
  switch (command.kind) {
    case 'help':
      process.stdout.write(HELP);
      return;
    case 'version':
      process.stdout.write(`${__SVC_VERSION__}\n`);
      return;
    case 'schema':
      schemaCommand(process.stdout);
      return;
    case 'usage_error':
      process.stderr.write(`svc-agent: ${command.message}\n`);
      process.exitCode = EXIT.usage;
      return;
    case 'check': {
      const { offline, json } = command;
      process.exitCode = await checkCommand({ file: capabilityFile(command.config), offline, json, home });
      return;
    }
    case 'run':
      limitYoungGeneration(process.env['NODE_OPTIONS']);
      process.exit(
        await runCommand({
          file: capabilityFile(command.config),
          home,
          version: __SVC_VERSION__,
          untilSignal: () => firstSignal(EXIT.failure),
        }),
      );
  }
}

/** The argument, else the environment, else next to the executable. */
function capabilityFile(argument: string | undefined): string {
  return argument ?? process.env['AGENT_CAPABILITY_FILE'] ?? join(home, 'capability.yaml');
}
