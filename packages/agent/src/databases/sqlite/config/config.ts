import { count, flag, size } from '../../../capabilities/json-schema.ts';
import type { Driver } from '../../driver/driver.ts';
import {
  fileConfig,
  fileProperty,
  type FileConfig,
  type FileSection,
} from '../../engine-process/file-config.ts';

export const section: Driver['section'] = {
  properties: {
    file: fileProperty,
    immutable: flag('Whether nobody changes the file while the agent runs: it is read without locks.', false),
    memory: size('What a process that runs its queries may have in memory, on Linux.', '256MB'),
    max_connections: count('Processes that run its queries, at most.', 1, 100, 2),
    caller_variables: flag('Whether SQL may read who calls, as `:svc_api_key_name` and its kin.', false),
    require_readonly_account: flag("Refuse to start when the agent's user may change the file.", false),
  },
  required: ['file'],
};

export function configure(
  written: FileSection,
  _texts: Readonly<Record<string, string>>,
  resolveFile: (name: string) => string,
): FileConfig {
  return fileConfig('sqlite', written, resolveFile);
}
