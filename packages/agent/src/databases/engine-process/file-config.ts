import { filledText, type JsonSchema } from '../../capabilities/json-schema.ts';
import { parseSize } from '../../capabilities/size.ts';
import type { DatabaseConfig, DatabaseSection } from '../driver/driver.ts';

/** The settings of a database that is a file. */
export interface FileConfig extends DatabaseConfig {
  readonly file: string;
  /** Nobody changes the file while the agent runs. */
  readonly isImmutable: boolean;
  /** The limit of each process that has the file open. */
  readonly memoryBytes: number;
  /** Whether SQL is told who calls. */
  readonly hasCallerVariables: boolean;
}

/** The section as written, once it has passed its schema. */
export interface FileSection extends DatabaseSection {
  readonly file: string;
  readonly immutable?: boolean;
  readonly memory?: string | number;
  readonly max_connections?: number;
  readonly caller_variables?: boolean;
}

export const fileProperty: JsonSchema = {
  ...filledText('File of the database; relative to this file.'),
  pattern: '^(?!:memory:$)',
  errorMessage: 'must name a file: a database in memory has nothing to serve',
};

export function fileConfig(
  driver: string,
  section: FileSection,
  resolveFile: (name: string) => string,
): FileConfig {
  return {
    driver: section.driver ?? driver,
    file: resolveFile(section.file),
    isImmutable: section.immutable ?? false,
    memoryBytes: parseSize(section.memory ?? '256MB'),
    hasCallerVariables: section.caller_variables ?? false,
    maxConnections: section.max_connections ?? 2,
    requireReadonlyAccount: section.require_readonly_account ?? false,
  };
}
