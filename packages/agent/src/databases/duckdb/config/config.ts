import { parseSize } from '../../../capabilities/size.ts';
import type { DatabaseConfig, DatabaseSection } from '../../driver/driver.ts';

export interface DuckdbConfig extends DatabaseConfig {
  readonly file: string;
  /** That of the capability file: relative paths in SQL are below it. */
  readonly folder: string;
  /** Absolute; folders end with a slash. */
  readonly readFiles: readonly string[];
  /** Nobody changes the files while the agent runs. */
  readonly isImmutable: boolean;
  /** Of the engine of each process. */
  readonly memoryBytes: number;
  readonly threads: number;
  /** Whether SQL is told who calls. */
  readonly hasCallerVariables: boolean;
}

/** The section as written, once it has passed its schema. */
interface DuckdbSection extends DatabaseSection {
  readonly file: string;
  readonly read_files?: readonly string[];
  readonly immutable?: boolean;
  readonly memory?: string | number;
  readonly threads?: number;
  readonly max_connections?: number;
  readonly caller_variables?: boolean;
}

export function configure(
  section: DuckdbSection,
  _texts: Readonly<Record<string, string>>,
  resolveFile: (name: string) => string,
): DuckdbConfig {
  return {
    driver: section.driver ?? 'duckdb',
    file: resolveFile(section.file),
    folder: resolveFile('.'),
    readFiles: (section.read_files ?? []).map(
      (path) => `${resolveFile(path).replace(/\/$/, '')}${path.endsWith('/') ? '/' : ''}`,
    ),
    isImmutable: section.immutable ?? false,
    memoryBytes: parseSize(section.memory ?? '256MB'),
    threads: section.threads ?? 2,
    hasCallerVariables: section.caller_variables ?? false,
    maxConnections: section.max_connections ?? 2,
    requireReadonlyAccount: section.require_readonly_account ?? false,
  };
}
