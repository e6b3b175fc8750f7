import type { Capability } from '../../../capabilities/model.ts';
import type { AccountFinding } from '../../driver/driver.ts';
import { isSame, nameOfPrivilege, type Grant } from './grants.ts';
import { byWhom, revoke } from './judge-grants.ts';
import type { Account } from './read-account.ts';

interface JudgedFunction extends AccountFinding {
  /** Whether it is declared to change data; what others do nobody declares. */
  readonly modifies: boolean;
}

/** The functions that the account may call, and that the file does not allow. */
export function judgeFunctions(
  account: Account,
  capabilities: readonly Capability[],
): readonly JudgedFunction[] {
  const allowed = new Set(capabilities.flatMap(({ allowFunctions }) => allowFunctions));
  return account.grants.filter(isCall).flatMap((grant) => {
    const called = account.functions.find((each) => isSame(grant.object, each.schema, each.name));
    const title = `${called?.schema}.${called?.name}`.toLowerCase();
    if (called !== undefined && (allowed.has(title) || allowed.has(called.name.toLowerCase()))) return [];
    const modifies = called?.modifies === true;
    const rights = called?.isDefiners === true ? `, with the rights of ${called.definer}` : '';
    const changes = modifies ? ', which is declared to change data' : '';
    const problem = `the account may call the function ${grant.object}${rights}${byWhom(grant.holders, account)}${changes}, and no capability may`;
    return [{ modifies, problem, remedy: revoke(grant, ['EXECUTE']).join('; ') }];
  });
}

function isCall({ kind, privileges }: Grant): boolean {
  return kind === 'FUNCTION' && privileges.some((privilege) => nameOfPrivilege(privilege) === 'EXECUTE');
}
