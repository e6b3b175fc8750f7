import type { Fault } from '../../../capabilities/fault.ts';
import type { MysqlSession } from '../connection/session.ts';

/** Those that `npm run test:mysql` runs on. */
const TESTED = /^(?:10\.11|11\.4|11\.8|9\.7)\./;

/** The operator is told this at each start. */
export function serverWarnings({ version }: MysqlSession): readonly Fault[] {
  const weaker =
    'there is no parser of MariaDB or MySQL to ask: their SQL is judged by a scanner of ours and closed lists of words and functions, so give the agent an account that can do nothing but read';
  const untested = `the server is ${version}, on which the agent is not tested: it is on MariaDB 10.11, 11.4, 11.8 and MySQL 9.7`;
  return [weaker, ...(TESTED.test(version) ? [] : [untested])].map((message) => ({
    path: 'database',
    message,
  }));
}
