import { sectionOf, UNNAMED } from '../capabilities/database-names.ts';
import type { AgentConfig } from '../config/model.ts';
import type { DatabaseConfig } from '../databases/driver/driver.ts';
import type { VerificationFault } from '../databases/driver/errors.ts';
import { LOG_FILE } from '../telemetry/log-destination.ts';
import type { AuditFinding } from './report.ts';

/**
 * What is wrong if the file requires an account that can only read, and it may do more. `lister` is what names each finding
 * to the user.
 */
export function readonlyAccountFaults(
  { databases }: AgentConfig,
  findings: readonly AuditFinding[],
  lister: string = LOG_FILE,
): readonly VerificationFault[] {
  return Object.entries(databases).flatMap(([name, config]) =>
    faultsOfAccount(
      name,
      config,
      findings.filter(({ database = UNNAMED }) => database === name),
      lister,
    ),
  );
}

function faultsOfAccount(
  name: string,
  config: DatabaseConfig,
  findings: readonly AuditFinding[],
  lister: string,
): readonly VerificationFault[] {
  if (findings.length === 0 || !config.requireReadonlyAccount) return [];
  const details = findings.flatMap(({ detail }) => detail ?? []);
  const why =
    details.length === 0
      ? `the account may do more than read: ${lister} lists what and how to fix it`
      : 'the account could not be audited';
  const position = config.requireReadonlyAccountPosition;
  return [
    {
      path: [...sectionOf(name), 'require_readonly_account'].join('.'),
      message: `is true, but ${why}`,
      ...(details.length === 0 ? {} : { detail: details.join('; ') }),
      ...(position === undefined ? {} : { position }),
    },
  ];
}
