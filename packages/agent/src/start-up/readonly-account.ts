import { sectionOf, UNNAMED } from '../capabilities/database-names.ts';
import type { AgentConfig } from '../config/model.ts';
import type { VerificationFault } from '../databases/driver/errors.ts';
import { LOG_FILE } from '../telemetry/log-destination.ts';
import type { AuditFinding } from './report.ts';

/** The fault that an account may do more than read although the file forbids it. `lister` is where users see the findings. */
export function readonlyAccountFaults(
  { databases }: AgentConfig,
  findings: readonly AuditFinding[],
  lister: string = LOG_FILE,
): readonly VerificationFault[] {
  return Object.entries(databases).flatMap(([name, config]): readonly VerificationFault[] => {
    const own = findings.filter(({ database = UNNAMED }) => database === name);
    if (own.length === 0 || !config.requireReadonlyAccount) return [];
    const path = [...sectionOf(name), 'require_readonly_account'].join('.');
    const position = config.requireReadonlyAccountPosition;
    const place = { path, ...(position === undefined ? {} : { position }) };
    const details = own.flatMap(({ detail }) => detail ?? []);
    if (details.length > 0)
      return [
        { ...place, message: 'is true, but the account could not be audited', detail: details.join('; ') },
      ];
    const message = `is true, but the account may do more than read: ${lister} lists what and how to fix it`;
    return [{ ...place, message }];
  });
}
