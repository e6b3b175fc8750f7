import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildExecutables } from './bundle.mjs';
import { install, root } from './install.mjs';

const usage = `Usage: npm run test:chart [-- --update]

Checks what is under deploy/: the Helm charts with helm and kubeconform, which Go builds the first time, units, the Compose
file and balancers. --update writes what the charts make, and their READMEs, anew: look at the difference.
`;

/** Built where git sees nothing. */
const folder = join(root, '.cache/chart-tools');
const TOOLS = {
  helm: 'helm.sh/helm/v3/cmd/helm@v3.19.0',
  kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0',
  'helm-docs': 'github.com/norwoodj/helm-docs/cmd/helm-docs@v1.14.2',
};

process.exitCode = await main();

async function main() {
  let update;
  try {
    const { values } = parseArgs({ options: { update: { type: 'boolean' }, help: { type: 'boolean' } } });
    if (values.help) {
      process.stdout.write(usage);
      return 0;
    }
    update = values.update === true;
  } catch (error) {
    process.stderr.write(`cannot start: ${error.message}\n${usage}`);
    return 2;
  }
  await install();
  await buildExecutables();
  installTools();
  if (update) {
    const helmDocs = join(folder, 'helm-docs');
    if (!existsSync(helmDocs)) {
      process.stderr.write('cannot write the READMEs anew: helm-docs is missing, see above\n');
      return 1;
    }
    run(helmDocs, ['--chart-search-root', 'deploy/helm']);
  }
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  return run(process.execPath, [vitest, 'run', 'tests/deploy/', ...(update ? ['--update'] : [])]);
}

/** Those that are not there in the version wanted; without Go the tests say what they skip. */
function installTools() {
  const receipt = (name) => join(folder, `${name}.version`);
  const missing = Object.entries(TOOLS).filter(
    ([name, module]) => !existsSync(receipt(name)) || readFileSync(receipt(name), 'utf8') !== module,
  );
  if (missing.length === 0) return;
  const go = ['go', '/usr/local/go/bin/go', '/usr/lib/go/bin/go'].find(
    (path) => spawnSync(path, ['version']).status === 0,
  );
  if (go === undefined) {
    const names = missing.map(([name]) => name).join(', ');
    process.stdout.write(`\nSKIPPED: ${names} cannot be built without Go (https://go.dev/dl/)\n\n`);
    return;
  }
  mkdirSync(folder, { recursive: true });
  for (const [name, module] of missing) {
    process.stderr.write(`Building ${module}; the first time takes minutes ...\n`);
    // A module is built as its authors locked it, and not as a module around it would have it.
    const code = run(go, ['install', module], { GOBIN: folder, GOFLAGS: '' });
    if (code === 0) writeFileSync(receipt(name), module);
    else process.stdout.write(`\nSKIPPED: ${name}: go ended with ${code}, see above\n\n`);
  }
}

function run(command, args, env = {}) {
  const { status } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  return status ?? 1;
}
