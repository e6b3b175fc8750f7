import { count, filledText, flag, size } from '../../../capabilities/json-schema.ts';
import type { Driver } from '../../driver/driver.ts';

export const section: Driver['section'] = {
  properties: {
    file: {
      ...filledText('File of the database; relative to this file.'),
      pattern: '^(?!:memory:$)',
      errorMessage: 'must name a file: a database in memory has nothing to serve',
    },
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
