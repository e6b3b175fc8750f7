import { join } from 'node:path';
import { buildExecutables } from './bundle.mjs';
import { install, root } from './install.mjs';
import { findNode } from './packages/node-binary.mjs';
import { NotMade } from './packages/not-made.mjs';
import { installNfpm } from './packages/system-packages.mjs';
import { run } from './tools.mjs';

const usage = `Usage: npm run test:packages

Makes the packages twice and compares them, looks into each, and installs each where there is nothing else, up to the
first call that is answered. As root on Debian it needs buildah, debootstrap, lintian, rpm and Go; it says what it skips.
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
  // Once, before both runs that need them.
  for (const prepare of [findNode, installNfpm]) {
    try {
      await prepare();
    } catch (error) {
      if (!(error instanceof NotMade)) throw error;
    }
  }
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  return run(process.execPath, [vitest, 'run', '--config', 'tests/packages/vitest.config.mts']);
}
