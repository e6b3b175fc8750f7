import { buildExecutables } from './bundle.mjs';
import { install } from './install.mjs';
import { installServers, serverNames } from './mysql-servers.mjs';
import { chosenOf, readOptions, unknownOnly } from './read-options.mjs';
import { runVitest } from './vitest.mjs';

const usage = `Usage: npm run test:mysql [-- --only mariadb-11.4,mysql-9.7] [-- ARGUMENTS OF VITEST]

Runs the tests of the driver for MariaDB and MySQL on real servers, which it unpacks below .cache: Linux on x64 only,
from Maven Central and from Debian, with mvn, unzip, apt-get and dpkg-deb. It names each server that it cannot install.
`;

const { values, positionals } = readOptions(
  usage,
  { only: { type: 'string' } },
  { allowPositionals: true, fault: ({ only }) => unknownOnly(only, serverNames) },
);
await install();
const installed = installServers(chosenOf(values.only, serverNames));
if (installed.length === 0) {
  process.stderr.write('\nSKIPPED: all tests of MariaDB and MySQL: there is no server\n\n');
  process.exit(0);
}
await buildExecutables();
process.env.SVC_TEST_MYSQL = installed.join(',');
await runVitest(positionals, 'mysql');
