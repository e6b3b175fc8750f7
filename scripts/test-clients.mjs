import { join } from 'node:path';
import { buildExecutables } from './bundle.mjs';
import { install, root } from './install.mjs';
import { createTools, run } from './tools.mjs';

const usage = `Usage: npm run test:clients

Calls many changed capabilities by clients that were generated before, wherever \`svc-agent diff\` calls the change
compatible: with openapi-typescript and openapi-fetch, and with openapi-python-client. oasdiff gives a second opinion.
SVC_SEED=<number> repeats a run.
`;

process.exitCode = await main(process.argv.slice(2));

async function main(args) {
  if (args.length > 0) {
    const asked = args.every((arg) => arg === '--help');
    (asked ? process.stdout : process.stderr).write(asked ? usage : `cannot start: no options\n${usage}`);
    return asked ? 0 : 2;
  }
  await install();
  await buildExecutables();
  const tools = createTools(join(root, '.cache/client-tools'));
  tools.installWithGo({ oasdiff: 'github.com/oasdiff/oasdiff@v1.35.0' });
  tools.installWithPip('openapi-python-client', 'openapi-python-client==0.29.1');
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  return run(process.execPath, [vitest, 'run', '--config', 'tests/clients/vitest.config.mts']);
}
