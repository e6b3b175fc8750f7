import { join } from 'node:path';
import { installAndBuild } from './bundle.mjs';
import { root } from './install.mjs';
import { findNode } from './packages/node-binary.mjs';
import { NotMade } from './packages/not-made.mjs';
import { installNfpm } from './packages/system-packages.mjs';
import { readOptions } from './read-options.mjs';
import { createTools } from './tools.mjs';
import { runVitest } from './vitest.mjs';

readOptions(`Usage: npm run test:packages

Makes the packages twice and compares them, looks into each, and installs each where there is nothing else, up to the
first call that is answered. As root on Debian it needs buildah, debootstrap, lintian, rpm and Go; it says what it skips.
`);
await installAndBuild();
// Once, before both runs that need them.
for (const prepare of [findNode, installNfpm]) {
  try {
    await prepare();
  } catch (error) {
    if (!(error instanceof NotMade)) throw error;
  }
}
createTools(join(root, '.cache/package-tools')).installWithNpm({ mcpb: '@anthropic-ai/mcpb@2.1.2' });
await runVitest([], 'packages');
