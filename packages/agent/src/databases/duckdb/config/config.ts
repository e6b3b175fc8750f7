import { count, filledText, flag, size } from '../../../capabilities/json-schema.ts';
import type { Driver } from '../../driver/driver.ts';
import {
  fileConfig,
  fileProperty,
  type FileConfig,
  type FileSection,
} from '../../engine-process/file-config.ts';

export interface DuckdbConfig extends FileConfig {
  /** The folder of the capability file, below which relative paths in SQL are. */
  readonly folder: string;
  /** Absolute; folders end with a slash. */
  readonly readFiles: readonly string[];
  readonly threads: number;
}

interface DuckdbSection extends FileSection {
  readonly read_files?: readonly string[];
  readonly threads?: number;
}

export const section: Driver['section'] = {
  properties: {
    file: fileProperty,
    read_files: {
      type: 'array',
      description:
        'Files, and folders with a `/` at their end, that SQL may read by read_csv and its kin; relative to this file.',
      items: filledText('A file or a folder.'),
    },
    immutable: flag('Whether nobody changes the files while the agent runs.', false),
    memory: size('What the engine of each process may take for its queries.', '256MB'),
    threads: count('Threads of each process.', 1, 256, 2),
    max_connections: count('Processes that run its queries, at most.', 1, 100, 2),
    caller_variables: flag('Whether SQL may read who calls, as `:svc_api_key_name` and its kin.', false),
    require_readonly_account: flag("Refuse to start when the agent's user may change the files.", false),
  },
  required: ['file'],
};

export function configure(
  written: DuckdbSection,
  _texts: Readonly<Record<string, string>>,
  resolveFile: (name: string) => string,
): DuckdbConfig {
  return {
    ...fileConfig('duckdb', written, resolveFile),
    folder: resolveFile('.'),
    readFiles: (written.read_files ?? []).map(
      (path) => `${resolveFile(path).replace(/\/$/, '')}${path.endsWith('/') ? '/' : ''}`,
    ),
    threads: written.threads ?? 2,
  };
}
