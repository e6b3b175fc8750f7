import type { Capability } from '../../../../capabilities/model.ts';
import type { OwnReason } from '../../../driver/driver.ts';
import type { Rows } from '../../connection/statement.ts';
import { PIN_SEARCH_PATH } from '../../execute/own-statements.ts';
import type { PreparedQuery, Statements } from '../../execute/prepared-query.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { explain, step, type RefusedStep } from '../plan-statement.ts';
import { statementsAround, type Wrapping } from '../wrap-select.ts';
import type { Judgement } from './judge.ts';
import { isSamePlan } from './same-plan.ts';

interface Subject {
  readonly capability: Capability;
  readonly judgement: Judgement;
  readonly own: Statements;
  readonly wrapping: Wrapping;
  /** The author's statement, and its generic plan on the account's path. */
  readonly text: string;
  readonly plan: unknown;
  readonly params: number;
}

interface Proven {
  readonly ok: true;
  readonly sharing: Pick<PreparedQuery, 'transaction' | 'shared'>;
}

/** The place of the plan among the results of `explain`, and their number. */
const [PLAN, RESULTS] = [2, 4];

/**
 * Proves that the statements around the author's can be planned, or else the capability is refused, and that on the pinned
 * path the statement with its schemas has the plan that the author's has on the account's, or else it has no shared ones.
 * What stands around it there is the same SQL, whose names all have their schema.
 */
export async function prove(pool: SessionPool, subject: Subject): Promise<Proven | RefusedStep> {
  const { capability, judgement, own, wrapping, params } = subject;
  if ('own' in judgement) return proveOwn(pool, subject, judgement.own);
  const { text, tree } = judgement.qualified;
  // The guard of a shared transaction gives back locks.
  const shared = statementsAround(text, tree, { ...wrapping, unlocks: false });
  if (shared === undefined) return proveOwn(pool, subject, 'names');
  const both = await step(pool, capability, [
    ...explain(own.prefix, params),
    PIN_SEARCH_PATH,
    ...explain(text, params),
  ]);
  if (!both.ok) return proveOwn(pool, subject, 'names');
  const { results } = both.output;
  const isSame =
    isSamePlan(subject.plan, planAt(results, RESULTS + 1)) || (await isSameAtOnce(pool, subject, text));
  if (!isSame) return { ok: true, sharing: ownTransaction('names') };
  const { relations, searchPath } = judgement;
  return {
    ok: true,
    sharing: { transaction: { form: 'shared' }, shared: { ...shared, relations, searchPath } },
  };
}

async function proveOwn(
  pool: SessionPool,
  { capability, own, params }: Subject,
  reason: OwnReason,
): Promise<Proven | RefusedStep> {
  const proven = await step(pool, capability, explain(own.prefix, params));
  return proven.ok ? { ok: true, sharing: ownTransaction(reason) } : proven;
}

function ownTransaction(reason: OwnReason): Proven['sharing'] {
  return { transaction: { form: 'own', reason } };
}

/** Tables may have grown since the first plan was made, so that the planner now chooses another. */
async function isSameAtOnce(
  pool: SessionPool,
  { capability, text, params }: Subject,
  qualified: string,
): Promise<boolean> {
  const both = await step(pool, capability, [
    ...explain(text, params),
    PIN_SEARCH_PATH,
    ...explain(qualified, params),
  ]);
  if (!both.ok) return false;
  const { results } = both.output;
  return isSamePlan(planAt(results, 0), planAt(results, RESULTS + 1));
}

/** `first` is the place of the first result of its `explain`. */
function planAt(results: readonly Rows[], first: number): unknown {
  return JSON.parse(results[first + PLAN]?.rows[0]?.[0] ?? 'null');
}
