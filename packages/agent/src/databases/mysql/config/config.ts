import { flag } from '../../../capabilities/json-schema.ts';
import type { Driver } from '../../driver/driver.ts';
import {
  serverConfig,
  serverSection,
  type ServerConfig,
  type ServerSection,
} from '../../driver/server-config.ts';

export interface MysqlConfig extends ServerConfig {
  /** Whether SQL is told who calls. */
  readonly callerVariables: boolean;
}

interface MysqlSection extends ServerSection {
  readonly caller_variables?: boolean;
}

const DEFAULTS = { driver: 'mysql', port: 3306, requireReadonlyAccount: true };

export const section: Driver['section'] = serverSection(
  DEFAULTS,
  { host: 'Host name, address, or path of the Unix socket.', user: 'Account that can only read.' },
  { caller_variables: flag('Tell the SQL who calls, by variables such as @svc_api_key_name.', false) },
);

export function configure(written: MysqlSection, texts: Readonly<Record<string, string>>): MysqlConfig {
  return {
    ...serverConfig(DEFAULTS, written, texts),
    callerVariables: written.caller_variables ?? false,
  };
}
