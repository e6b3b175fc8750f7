import { withRemedy } from '../../../driver/errors.ts';
import { INSUFFICIENT_PRIVILEGE } from '../../connection/server-errors.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { refusalMessage, type Refusal } from '../plan-statement.ts';
import { missingGrants } from './missing-grants.ts';

/** undefined_table, undefined_function, undefined_object: a schema on the search path that may not be used is passed over. */
const UNDEFINED = new Set(['42P01', '42883', '42704']);
const HIDDEN = refusalMessage('what it names is in a schema that the account may not use');
const UNKNOWN = refusalMessage('the account lacks a privilege, and it is not known which');
const AMBIGUOUS = refusalMessage('the account may not execute the one of several functions that it calls');

/** The refusal of a statement, by its tree, with the statements that grant what the account lacks if they are known. */
export async function withGrants(pool: SessionPool, refusal: Refusal, tree: unknown): Promise<Refusal> {
  const { sqlState = '', faults } = refusal;
  const isDenied = sqlState === INSUFFICIENT_PRIVILEGE;
  if (!isDenied && !UNDEFINED.has(sqlState)) return refusal;
  const { sure, oneOf } = await missingGrants(pool, tree);
  const isHidden = sure.some((grant) => grant.startsWith('GRANT USAGE ON SCHEMA '));
  if (!isDenied && !isHidden) return refusal;
  const told = sure.length > 0 ? sure.join('; ') : `one of: ${oneOf.join('; ')}`;
  return {
    ok: false,
    faults: faults.map((fault) => {
      if (sure.length === 0 && oneOf.length === 0) return { ...fault, message: UNKNOWN };
      const message = isDenied ? (sure.length > 0 ? fault.message : AMBIGUOUS) : HIDDEN;
      return withRemedy({ ...fault, message }, told);
    }),
  };
}
