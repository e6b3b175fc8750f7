import { installAndBuild } from './bundle.mjs';
import { installedServers } from './mysql-servers.mjs';
import { runVitest } from './vitest.mjs';

/** `npm run test:fleet` and others name a project that needs programs; all other words go to vitest unchanged. */
const [first = '', ...rest] = process.argv.slice(2);
const project = /^--programs=(\w+)$/.exec(first)?.[1];

await installAndBuild();
if (project === undefined) process.env.SVC_TEST_ENGINES = enginesHere().join(',');
await runVitest(project === undefined ? process.argv.slice(2) : rest, project);

/** PostgreSQL and DuckDB come with npm. The reporter names those of the others that are missing. */
function enginesHere() {
  const servers = installedServers();
  // The newest release of each kind; `npm run test:mysql` runs on all of them.
  const newest = ['mariadb', 'mysql'].flatMap(
    (kind) => servers.findLast((name) => name.startsWith(kind)) ?? [],
  );
  process.env.SVC_TEST_MYSQL ??= newest.join(',');
  const [major, minor] = process.versions.node.split('.').map(Number);
  const hasSqlite = major > 22 || (major === 22 && minor >= 16);
  return [...(newest.length > 0 ? ['mysql'] : []), ...(hasSqlite ? ['sqlite'] : [])];
}
