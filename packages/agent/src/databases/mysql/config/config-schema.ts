import { choice, count, filledText, flag, text } from '../../../capabilities/json-schema.ts';
import type { Driver } from '../../driver/driver.ts';

export const section: Driver['section'] = {
  properties: {
    host: filledText('Host name, address, or path of the Unix socket.'),
    port: count('TCP port.', 1, 65_535, 3306),
    name: filledText('Name of the database.'),
    user: filledText('Account that can only read.'),
    password: text('Password of the account.'),
    password_file: filledText('File that holds the password; relative to this file.'),
    sslmode: choice(
      'How the connection is encrypted.',
      ['disable', 'prefer', 'require', 'verify-full'],
      'prefer',
    ),
    ssl_root_cert: filledText('PEM file of the authority that signs its certificate; relative to this file.'),
    max_connections: count('Connections held at most.', 1, 10_000, 10),
    caller_variables: flag('Tell the SQL who calls, by variables such as @svc_api_key_name.', false),
    require_readonly_account: flag('Refuse to start when the account may do more than read.', true),
  },
  required: ['host', 'name', 'user'],
};
