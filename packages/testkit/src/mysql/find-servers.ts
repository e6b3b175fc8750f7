import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A server that `scripts/mysql-servers.mjs` has unpacked, as it wrote it down. */
export interface MysqlProgram {
  /** Such as `mariadb-11.4`. */
  readonly name: string;
  readonly kind: 'mariadb' | 'mysql';
  /** The program, behind its loader where it has one of its own. */
  readonly command: readonly [string, ...string[]];
  /** Messages, character sets and the SQL that makes the system's tables. */
  readonly share: string;
}

const folder = fileURLToPath(new URL('../../../../.cache/mysql-servers', import.meta.url));

/** Those that are installed. */
export function findMysqlServers(): readonly MysqlProgram[] {
  return namesIn(folder).flatMap((name) => {
    try {
      return [JSON.parse(readFileSync(join(folder, name, 'server.json'), 'utf8'))];
    } catch {
      return [];
    }
  });
}

function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path).toSorted();
  } catch {
    return [];
  }
}
