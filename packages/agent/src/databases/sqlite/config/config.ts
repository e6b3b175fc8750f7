import { parseSize } from '../../../capabilities/size.ts';
import type { DatabaseConfig, DatabaseSection } from '../../driver/driver.ts';

export interface SqliteConfig extends DatabaseConfig {
  readonly file: string;
  /** Nobody writes the file while the agent runs. */
  readonly isImmutable: boolean;
  /** Of each process that has the file open. */
  readonly memoryBytes: number;
  /** Whether SQL is told who calls. */
  readonly hasCallerVariables: boolean;
}

/** The section as written, once it has passed its schema. */
interface SqliteSection extends DatabaseSection {
  readonly file: string;
  readonly immutable?: boolean;
  readonly memory?: string | number;
  readonly max_connections?: number;
  readonly caller_variables?: boolean;
}

export function configure(
  section: SqliteSection,
  _texts: Readonly<Record<string, string>>,
  resolveFile: (name: string) => string,
): SqliteConfig {
  return {
    driver: section.driver ?? 'sqlite',
    file: resolveFile(section.file),
    isImmutable: section.immutable ?? false,
    memoryBytes: parseSize(section.memory ?? '256MB'),
    hasCallerVariables: section.caller_variables ?? false,
    maxConnections: section.max_connections ?? 2,
    requireReadonlyAccount: section.require_readonly_account ?? false,
  };
}
