import { sectionOf, UNNAMED } from '../capabilities/database-names.ts';
import type { AgentConfig } from '../config/model.ts';
import type { DatabaseConfig } from '../databases/driver.ts';
import type { VerificationFault } from '../databases/errors.ts';
import { LOG_FILE } from '../telemetry/log-destination.ts';
import type { AuditFinding } from './report.ts';

/** What is wrong where the file requires an account that can only read, and it may do more. */
export function readonlyAccountFaults(
  { databases }: AgentConfig,
  findings: readonly AuditFinding[],
): readonly VerificationFault[] {
  return Object.entries(databases).flatMap(([name, config]) =>
    faultsOfAccount(
      name,
      config,
      findings.filter(({ database = UNNAMED }) => database === name),
    ),
  );
}

function faultsOfAccount(
  name: string,
  config: DatabaseConfig,
  findings: readonly AuditFinding[],
): readonly VerificationFault[] {
  if (findings.length === 0 || !config.requireReadonlyAccount) return [];
  const audited = findings.every(({ detail }) => detail === undefined);
  const why = audited
    ? `the account may do more than read: ${LOG_FILE} lists what and how to mend it`
    : `the account could not be audited (${LOG_FILE} says why)`;
  const position = config.requireReadonlyAccountPosition;
  return [
    {
      path: [...sectionOf(name), 'require_readonly_account'].join('.'),
      message: `is true, but ${why}`,
      ...(position === undefined ? {} : { position }),
    },
  ];
}
