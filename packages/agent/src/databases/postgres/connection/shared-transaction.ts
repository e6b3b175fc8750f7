import { BEGIN, guardStatement, ROLLBACK, shareSettings, trippedIn } from './transaction-settings.ts';
import type { Rows } from './statement.ts';
import type { BlindCall, Unit, UnitResult } from './unit.ts';
import {
  ABORTED_TRANSACTION,
  isLoss,
  QUERY_CANCELED,
  sqlStateOf,
  UNKNOWN_STATEMENT,
} from './server-errors.ts';

/** Fewer have transactions of their own, which cost less than the guard. */
const SHARED_MIN = 3;
/** How long a statement may take: one that waits for a lock holds those of the others. */
const STATEMENT_MAX_MS = 250;

const OF_THE_SESSION = new Set([QUERY_CANCELED, UNKNOWN_STATEMENT, ABORTED_TRANSACTION]);

/** BEGIN and the settings stand before the calls' statements; the guard and ROLLBACK after them. */
const SET_UP = 2;

/**
 * Puts the blind units of a batch, if they are enough, into one that has a single READ ONLY transaction for all. Its guard
 * comes after the statements, which hold the locks of their tables until the rollback: what it sees is what they saw.
 */
export function shareTransaction(units: Unit[]): Unit[] {
  return shareAlike(shareAlike(units, false), true);
}

function shareAlike(units: Unit[], plansEach: boolean): Unit[] {
  const isAlike = ({ blind }: Unit): boolean => blind?.plansEach === plansEach;
  const blind = units.flatMap((unit) =>
    unit.blind !== undefined && isAlike(unit) ? [{ unit, call: unit.blind }] : [],
  );
  const [first] = blind;
  if (first === undefined || blind.length < SHARED_MIN) return units;
  const shared = sharedUnit(blind);
  return units.flatMap((unit) => {
    if (unit === first.unit) return [shared];
    return isAlike(unit) ? [] : [unit];
  });
}

interface BlindUnit {
  readonly unit: Unit;
  readonly call: BlindCall;
}

function sharedUnit(blind: readonly BlindUnit[]): Unit {
  const now = performance.now();
  const timeoutMs = Math.min(STATEMENT_MAX_MS, ...blind.map(({ call }) => call.deadline - now));
  const relations = new Map(blind.flatMap(({ call }) => call.relations.map((each) => [each.oid, each])));
  const unlocks = blind.every(({ call }) => call.unlocks);
  for (const [index, { call }] of blind.entries()) call.onShared(index === 0);
  return {
    statements: [
      BEGIN,
      shareSettings(timeoutMs, blind[0]?.call.plansEach === true),
      ...blind.map(({ call }) => call.statement),
      guardStatement([...relations.values()], unlocks),
      ROLLBACK,
    ],
    mostBytes: blind.reduce((sum, { unit }) => sum + unit.mostBytes, 0),
    onResult: (result) => distribute(blind, result),
  };
}

/** Answers all calls, or none. */
function distribute(blind: readonly BlindUnit[], { results, error, idle }: UnitResult): void {
  const setUp = results.slice(0, SET_UP);
  const answers = results.slice(SET_UP, SET_UP + blind.length);
  const [guard, end] = results.slice(SET_UP + blind.length);
  if (error !== undefined || !idle || guard === undefined || end === undefined) {
    const failed = { results: setUp, error, idle: false, isVoid: true };
    const culprit = isLoss(error) ? undefined : blind[results.length - SET_UP];
    // What is no call's fault would come again: another statement has the name of one of the agent's.
    if (culprit === undefined && isReplaced(error)) for (const { call } of blind) call.onTripped('unknown');
    // The culprit comes first: the first call that gets the error resets the session and moves the others away.
    culprit?.unit.onResult({ ...failed, isCulprit: true });
    for (const each of blind) if (each !== culprit) each.unit.onResult(failed);
    return;
  }
  const tripped = trippedIn(guard);
  if (tripped !== undefined) for (const { call } of blind) call.onTripped(tripped);
  for (const [index, { unit }] of blind.entries()) {
    const answer: readonly Rows[] = answers.slice(index, index + 1);
    unit.onResult({ results: [...setUp, ...answer, end], error, idle, isVoid: tripped !== undefined });
  }
}

/** Otherwise the session is at fault: a call that failed before may not have ended its transaction yet. */
function isReplaced(error: Error | undefined): boolean {
  return !isLoss(error) && !OF_THE_SESSION.has(sqlStateOf(error) ?? '');
}
