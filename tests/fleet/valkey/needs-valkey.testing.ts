import { findValkey } from '@svc/testkit';

/** False, said once, where the tests that need it have to be skipped. */
export const hasValkey = findValkey() !== undefined;
if (!hasValkey) process.stderr.write('skipped: neither valkey-server nor redis-server is installed\n');

export function valkeyConfig(
  port: number,
  fields: { readonly password?: string; readonly prefix?: string } = {},
) {
  return {
    host: '127.0.0.1',
    port,
    tls: false,
    username: undefined,
    password: undefined,
    database: 0,
    prefix: 'svc:',
    ...fields,
  };
}
