import { count, filledText, flag, size } from '../../../capabilities/json-schema.ts';
import type { Driver } from '../../driver/driver.ts';

export const section: Driver['section'] = {
  properties: {
    file: {
      ...filledText('File of the database; relative to this file.'),
      pattern: '^(?!:memory:$)',
      errorMessage: 'must name a file: a database in memory has nothing to serve',
    },
    immutable: flag('Whether nobody changes the file while the agent runs: it is read without locks.', false),
    memory: size('What a process that runs its queries may have in memory, on Linux.', '256MB'),
    max_connections: count('Processes that run its queries, at most.', 1, 100, 2),
    caller_variables: flag('Whether SQL may read who calls, as `:svc_api_key_name` and its kin.', false),
    require_readonly_account: flag("Refuse to start when the agent's user may change the file.", false),
  },
  required: ['file'],
};
