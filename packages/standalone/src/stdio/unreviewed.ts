import type { Given } from '@svc/edge';
import { OF_URL } from './source.ts';

/** What models and people are told of capabilities that were proposed and never read by anybody. */
export function unreviewed(given: Given): string {
  const flags = OF_URL.flatMap((flag) => given.values(flag).map((value) => ` --${flag} ${quoted(value)}`));
  return (
    'Nobody has reviewed these queries: they were proposed from the catalogs of the database. Columns that look personal ' +
    `or secret are left out, which is a guess. To review them as files: DATABASE_URL=URL svc-agent init${flags.join('')}`
  );
}

/** For a shell. */
function quoted(value: string): string {
  return /^[\w./-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}
