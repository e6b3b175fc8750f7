import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { buildExecutables } from './bundle.mjs';
import { install, root } from './install.mjs';
import { installServers, serverNames } from './mysql-servers.mjs';

const usage = `Usage: npm run test:mysql [-- --only mariadb-11.4,mysql-9.7] [-- ARGUMENTS OF VITEST]

Runs the tests of the driver for MariaDB and MySQL on real servers, which it unpacks below .cache: Linux on x64 only,
from Maven Central and from Debian, with mvn, unzip, apt-get and dpkg-deb. A server that cannot be had is skipped by name.
`;

const { values, positionals } = parseArgs({
  options: { only: { type: 'string' }, help: { type: 'boolean' } },
  allowPositionals: true,
});
const names = values.only?.split(',') ?? serverNames;
const unknown = names.filter((name) => !serverNames.includes(name));
if (values.help === true || unknown.length > 0) {
  (unknown.length > 0 ? process.stderr : process.stdout).write(usage);
  process.exit(unknown.length > 0 ? 2 : 0);
}
await install();
const installed = installServers(names);
if (installed.length === 0) {
  process.stderr.write('\nSKIPPED: all tests of MariaDB and MySQL: there is no server\n\n');
  process.exit(0);
}
await buildExecutables();
process.env.SVC_TEST_MYSQL = installed.join(',');

// In this process, so that a signal to it reaches vitest.
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const config = join(root, 'tests/mysql/vitest.config.mts');
process.chdir(root);
process.argv = [process.argv[0], vitest, 'run', '--config', config, ...positionals];
await import(pathToFileURL(vitest).href);
