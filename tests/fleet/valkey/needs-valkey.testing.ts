import { findValkey } from '@svc/testkit';
import type { ValkeyConfig } from '../../../packages/gateway/src/config/model.ts';

/** False, said once, where the tests that need it have to be skipped. */
export const hasValkey: boolean = findValkey() !== undefined;
if (!hasValkey) process.stderr.write('skipped: neither valkey-server nor redis-server is installed\n');

export function valkeyConfig(
  port: number,
  fields: { readonly password?: string; readonly username?: string } = {},
): ValkeyConfig {
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
