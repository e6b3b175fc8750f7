import {
  agentErrorText,
  CURSOR_MAX_BYTES,
  DEFAULT_SERVICE,
  DESCRIBE_CAPABILITY,
  neverBegan,
  type AgentErrorCode,
} from '@svc/protocol';
import type { Caller } from '../capabilities/caller.ts';
import { InvalidParams } from '../capabilities/parameters.ts';
import { DatabaseError, type DatabaseErrorKind } from '../databases/driver/errors.ts';
import type { Query } from '../databases/driver/driver.ts';
import type { CallOutcome, HandleCall, IncomingCall } from './handle-call.ts';
import type { CallEvent, CallerFields, Observe } from '../telemetry/events.ts';
import type { AgentTraces } from '../telemetry/traces.ts';
import type { Admissions } from './admissions.ts';
import type { Identified, IdentifyCaller } from './identify-caller.ts';
import type { RunnableCapability, ServedSet } from './served-set.ts';
import { waitFor } from './wait-for.ts';

export interface RunCallOptions {
  /** The set for calls that arrive now; they keep it until they end. */
  readonly served: () => ServedSet;
  /** Only calls of this service are accepted; undefined for all calls. */
  readonly service?: string | undefined;
  /** Absent if the agent does not ask who calls. */
  readonly identify?: IdentifyCaller;
  readonly admissions: Admissions;
  readonly observe: Observe;
  readonly traces?: AgentTraces | undefined;
  readonly now: () => number;
  readonly draining: () => boolean;
}

/** How a call has ended. */
interface Ended {
  readonly outcome: CallOutcome;
  /** For the log only. */
  readonly detail?: string;
  readonly caller?: Caller | undefined;
  readonly sqlState?: string | undefined;
  /** When its query began, counted from its arrival; only if traces are made. */
  readonly queuedMs?: number | undefined;
}

/** A call that may wait for its turn. */
interface Prepared {
  readonly values: Record<string, unknown>;
  /** Undefined if the agent does not ask who calls. */
  readonly caller: Caller | undefined;
}

/**
 * Handles a call: finds its capability, reads its parameters, identifies its caller, waits for memory and a slot, runs its
 * query. Each step either ends the call or hands it to the next.
 */
export function createRunCall(options: RunCallOptions): HandleCall {
  const { now, traces } = options;
  return async (call) => {
    const served = options.served();
    if (call.capability === DESCRIBE_CAPABILITY) {
      return { kind: 'result', rows: served.description, count: 0, truncated: false, release: () => {} };
    }
    const startedAt = now();
    const isOurs =
      options.service === undefined || (call.metadata['service'] ?? DEFAULT_SERVICE) === options.service;
    const capability = isOurs ? served.capabilities.get(call.capability) : undefined;
    if (capability === undefined) return failed('AGENT_UNKNOWN_CAPABILITY');
    if (options.draining()) return failed('AGENT_DRAINING');
    served.began();
    const timeoutMs = Math.min(call.timeoutMs, capability.timeoutMs);
    const read = readParams(call, capability);
    const prepared =
      options.identify === undefined || 'outcome' in read
        ? read
        : await prepareFor(options.identify, call, capability, read.values, timeoutMs).catch(queryFailed);
    const ended =
      'outcome' in prepared
        ? prepared
        : await runWithinLimits(call, capability, prepared, timeoutMs, startedAt);
    served.ended();
    const { outcome, detail } = ended;
    if (outcome.kind === 'error' && VALUE_REFUSED.has(outcome.code)) {
      void reportChangedLabels(call.capability, capability.query);
    }
    const record: CallEvent = {
      event: 'call',
      request_id: call.metadata['request_id'] ?? '',
      api_key_name: keyNameOf(call, ended.caller, options.identify !== undefined),
      capability: call.capability,
      outcome: outcome.kind === 'result' ? 'OK' : outcome.code,
      duration_ms: Math.round((now() - startedAt) * 1000) / 1000,
      rows: outcome.kind === 'result' ? outcome.count : 0,
      bytes: outcome.kind === 'result' ? outcome.rows.length : 0,
      ...(call.metadata['traceparent'] === undefined ? {} : { traceparent: call.metadata['traceparent'] }),
      ...(detail === undefined ? {} : { detail }),
    };
    if (traces !== undefined) {
      const { queuedMs, sqlState } = ended;
      Object.assign(record, traces.end(call.metadata['traceparent'], record, { queuedMs, sqlState }));
    }
    options.observe(options.identify === undefined ? record : { ...record, ...callerFields(ended.caller) });
    return outcome;
  };

  /** Labels of an enum that changed in the database may be why a value was refused. The caller does not wait for this. */
  async function reportChangedLabels(capability: string, { changedLabels }: Query): Promise<void> {
    // If the database cannot tell now, the next refused call asks again.
    const params = (await changedLabels?.().catch(() => [])) ?? [];
    if (params.length > 0)
      options.observe({ event: 'labels_changed', capability, params: params.join(', ') });
  }

  function sendable(capability: string, cursor: string | undefined): string | undefined {
    if (cursor === undefined || cursor.length <= CURSOR_MAX_BYTES) return cursor;
    options.observe({ event: 'cursor_too_long', capability, bytes: cursor.length });
    return undefined;
  }

  async function runWithinLimits(
    call: IncomingCall,
    capability: RunnableCapability,
    prepared: Prepared,
    timeoutMs: number,
    startedAt: number,
  ): Promise<Ended> {
    const { values, caller } = prepared;
    const left = (): number => Math.max(1, timeoutMs - (now() - startedAt));
    const { callerLoads, concurrencyLimit, resultMemory } = options.admissions.of(capability.database);
    const principal = principalOf(call, caller);
    let load = callerLoads.of(principal, startedAt);
    const reserving = resultMemory.reserveLarge(capability.maxBytes, timeoutMs, call.signal, load);
    const reservation = reserving && (await reserving);
    if (typeof reservation === 'string') return { outcome: REFUSED[reservation], caller };
    // While it waited for memory, a caller without other calls may have been forgotten.
    if (reservation !== undefined) load = callerLoads.of(principal);
    const acquiring = concurrencyLimit.acquire(left(), call.signal, load);
    const releaseSlot = acquiring instanceof Promise ? await acquiring : acquiring;
    if (typeof releaseSlot === 'string') {
      reservation?.release();
      return { outcome: REFUSED[releaseSlot], caller };
    }
    let release = reservation?.release;
    let queuedMs: number | undefined;
    try {
      const waiting = reservation === undefined ? resultMemory.waitForSmall(left(), call.signal) : undefined;
      const refusal = waiting && (await waiting);
      if (refusal !== undefined) return { outcome: REFUSED[refusal], caller };
      if (traces !== undefined) queuedMs = Math.round((now() - startedAt) * 1000) / 1000;
      const result = await capability.query.run({
        values,
        apiKeyName: keyNameOf(call, caller, options.identify !== undefined),
        caller,
        requestId: call.metadata['request_id'] ?? '',
        timeoutMs: left(),
        signal: call.signal,
        share: load,
      });
      reservation?.shrink(result.rows.length);
      const releaseRows = release ?? resultMemory.holdSmall(result.rows.length);
      release = undefined;
      const { rows, count, truncated } = result;
      const cursor = sendable(call.capability, result.cursor);
      const outcome = { kind: 'result', rows, count, truncated, release: releaseRows } as const;
      return { outcome: cursor === undefined ? outcome : { ...outcome, cursor }, caller, queuedMs };
    } catch (error) {
      const sqlState = error instanceof DatabaseError ? error.sqlState : undefined;
      if (error instanceof DatabaseError && error.kind === 'tied')
        options.observe({ event: 'paging_tie', capability: call.capability, fields: error.message });
      return { ...queryFailed(error, caller), sqlState, queuedMs };
    } finally {
      release?.();
      releaseSlot();
    }
  }
}

/** Errors of which a changed label in the database may be the cause. */
const VALUE_REFUSED: ReadonlySet<string> = new Set(['AGENT_INVALID_PARAMS', 'AGENT_PRINCIPAL_REFUSED']);

function readParams(call: IncomingCall, capability: RunnableCapability): Prepared | Ended {
  try {
    return { values: capability.read(call.params), caller: undefined };
  } catch (error) {
    if (error instanceof InvalidParams)
      return { outcome: failed('AGENT_INVALID_PARAMS', true, error.message) };
    return queryFailed(error);
  }
}

/** Identifies the caller, and adds the values that are taken from it. */
async function prepareFor(
  identify: IdentifyCaller,
  call: IncomingCall,
  { pin }: RunnableCapability,
  values: Record<string, unknown>,
  timeoutMs: number,
): Promise<Prepared | Ended> {
  const identifying = identify(call.metadata, call.capability);
  // The keys that a token is verified with may have to be fetched first.
  const identified =
    identifying instanceof Promise
      ? await waitFor<Identified>(timeoutMs, call.signal, (settle) => {
          const done = (): void => settle(identifying);
          identifying.finally(done).catch(() => {});
          return () => {};
        })
      : identifying;
  if (typeof identified === 'string') return { outcome: REFUSED[identified] };
  switch (identified.kind) {
    case 'unavailable':
      // Not AGENT_PRINCIPAL_REFUSED, after which a caller does not retry: another agent may have the keys.
      return { outcome: REFUSED.full, detail: identified.detail };
    case 'refused':
      return principalRefused(identified.detail, identified.caller, true);
    case 'known': {
      const { caller } = identified;
      const problem = pin?.(caller, values);
      return problem === undefined ? { values, caller } : principalRefused(problem, caller, true);
    }
  }
}

function principalRefused(detail: string, caller: Caller | undefined, notStarted: boolean): Ended {
  return { outcome: failed('AGENT_PRINCIPAL_REFUSED', notStarted), detail, caller };
}

/** If the agent asks who calls, the name counts only as far as the agent believes the gateway. */
function keyNameOf({ metadata }: IncomingCall, caller: Caller | undefined, asks: boolean): string {
  return asks ? (caller?.keyName ?? '') : (metadata['api_key_name'] ?? '');
}

function callerFields(caller: Caller | undefined): CallerFields {
  if (caller === undefined) return { principal: '', issuer: '', client_id: '' };
  const { principal, issuer, clientId, verifiedBy } = caller;
  return { principal, issuer, client_id: clientId, verified_by: verifiedBy };
}

/** Whose call it is, for fair turns; if the agent does not ask who calls, on the gateway's word. */
function principalOf({ metadata }: IncomingCall, caller: Caller | undefined): string {
  return caller?.principal ?? metadata['principal'] ?? metadata['api_key_name'] ?? '';
}

/** Why a call did not get its turn. */
const REFUSED = {
  aborted: failed('AGENT_CANCELLED', true),
  late: failed('AGENT_QUERY_TIMEOUT', true),
  full: failed('AGENT_BUSY'),
} as const;

/** The error codes for errors of the database. */
const CODES: Readonly<
  Record<Exclude<DatabaseErrorKind, 'invalid_principal' | 'invalid_params'>, AgentErrorCode>
> = {
  timeout: 'AGENT_QUERY_TIMEOUT',
  cancelled: 'AGENT_CANCELLED',
  too_large: 'AGENT_RESULT_TOO_LARGE',
  not_verified: 'AGENT_DATABASE_UNAVAILABLE',
  unavailable: 'AGENT_QUERY_FAILED',
  tied: 'AGENT_QUERY_FAILED',
  failed: 'AGENT_QUERY_FAILED',
};

/** What the database says goes to the log only, and no values of parameters go even there. */
function queryFailed(error: unknown, caller?: Caller): Ended {
  if (!(error instanceof DatabaseError))
    return { outcome: failed('AGENT_QUERY_FAILED'), detail: unexpected(error), caller };
  const { kind, advice, message } = error;
  const detail =
    kind === 'tied' ? `the rows on both sides of the end of a page are equal in ${message}` : message;
  if (kind === 'invalid_principal') return principalRefused(detail, caller, false);
  const outcome =
    kind === 'invalid_params' ? failed('AGENT_INVALID_PARAMS', false, advice) : failed(CODES[kind]);
  return { outcome, detail, caller };
}

/** The messages of unexpected errors may quote values, so only their origin is logged. */
function unexpected(error: unknown): string {
  if (!(error instanceof Error)) return 'unexpected: something other than an error was thrown';
  const frames = (error.stack ?? '').replace(error.message, '').match(/^ +at .+$/gm) ?? [];
  return ['unexpected error', ...frames.slice(0, 5).map((frame) => frame.trim())].join(' ');
}

function failed(
  code: AgentErrorCode,
  notStarted: boolean = neverBegan(code),
  message: string = agentErrorText(code, notStarted),
): CallOutcome {
  return { kind: 'error', code, message, notStarted };
}
