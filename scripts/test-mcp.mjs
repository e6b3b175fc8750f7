import { join } from 'node:path';
import { installAndBuild } from './bundle.mjs';
import { installIn, readJson, root, seconds } from './install.mjs';
import { readOptions } from './read-options.mjs';

const folder = 'tests/mcp-conformance';
const nodePackage = `node-${process.platform}-${process.arch}`;
/** What both programs need; this repository itself runs on an older one too. */
const nodeMajor = 22;

const usage = `Usage: npm run test:mcp

Runs the MCP conformance suite and the MCP Inspector's command line against a gateway, an agent and PostgreSQL, and the Inspector
against \`svc stdio\` as well.
What does not apply to a gateway that offers tools only is listed in ${folder}/not-applicable.json.
`;

readOptions(usage);
process.exitCode = await main();

async function main() {
  const node = nodeProgram();
  if (node === undefined) {
    process.stdout.write(
      `SKIPPED: the MCP conformance suite needs Node.js ${nodeMajor}. There is none for ` +
        `${process.platform}-${process.arch} in ${folder}/package.json, and this one is ` +
        `${process.versions.node}.\n0 passed, 0 failed, 1 skipped\n`,
    );
    return 0;
  }
  const started = performance.now();
  await installAndBuild();
  // Without scripts: nothing in there needs one, and this Node.js may be older than the programs ask for.
  await installIn(folder, 'the MCP conformance suite and the MCP Inspector', 'some 330 MB', [
    '--ignore-scripts',
    '--engine-strict=false',
  ]);
  // Its cache would stay in the temporary folder.
  process.env.TSX_DISABLE_CACHE = '1';
  const { register } = await import('tsx/esm/api');
  register();
  const { run } = await import('../tests/mcp-conformance/run.ts');
  const code = await run(node);
  process.stderr.write(`Ended after ${seconds(started)}\n`);
  return code;
}

/** The Node.js to run the programs with; undefined when there is none. */
function nodeProgram() {
  if (readJson(`${folder}/package.json`).optionalDependencies[nodePackage] !== undefined) {
    return join(root, folder, 'node_modules', nodePackage, 'bin/node');
  }
  return Number(process.versions.node.split('.')[0]) >= nodeMajor ? process.execPath : undefined;
}
