import type { AbortSignalLike } from '@svc/edge';
import {
  agentErrorText,
  DEFAULT_SERVICE,
  DESCRIBE_CAPABILITY,
  neverBegan,
  type AgentErrorCode,
} from '@svc/protocol';
import type { Caller } from '../capabilities/caller.ts';
import { InvalidParams } from '../capabilities/parameters.ts';
import { DatabaseError } from '../databases/driver/errors.ts';
import type { Query } from '../databases/driver/driver.ts';
import type { CallOutcome, HandleCall, IncomingCall } from '../gateway-link/call-session.ts';
import type { CallEvent, CallerFields, Observe } from '../telemetry/events.ts';
import type { AgentTraces } from '../telemetry/traces.ts';
import type { Admissions } from './admissions.ts';
import type { IdentifyCaller } from './identify-caller.ts';
import type { RunnableCapability, ServedSet } from './served-set.ts';

export interface RunCallOptions {
  /** What calls that arrive now find; they keep it until they end. */
  readonly served: () => ServedSet;
  /** Whose calls alone are taken; undefined for any that the gateway sends. */
  readonly service?: string | undefined;
  /** Absent where the agent does not ask who calls. */
  readonly identify?: IdentifyCaller;
  readonly admissions: Admissions;
  readonly observe: Observe;
  /** Absent where none are made. */
  readonly traces?: AgentTraces | undefined;
  readonly now: () => number;
  /** Once true, calls are refused as not started. */
  readonly draining: () => boolean;
}

/** How a call has ended. */
interface Ended {
  readonly outcome: CallOutcome;
  /** For the log. */
  readonly detail?: string;
  /** Undefined where it is not known. */
  readonly caller?: Caller | undefined;
  readonly sqlState?: string | undefined;
}

/** A call that may wait for its turn. */
interface Prepared {
  readonly values: Record<string, unknown>;
  /** Undefined where the agent does not ask. */
  readonly caller: Caller | undefined;
  /** When its query began, counted from its arrival; only where traces are made. */
  queuedMs?: number;
}

/**
 * Handles a call: finds its capability, checks its parameters and who calls, waits for memory and a slot, runs its query.
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
      const queuedMs = 'outcome' in prepared ? undefined : prepared.queuedMs;
      const trace = traces.end(call.metadata['traceparent'], record, {
        queuedMs,
        sqlState: ended.sqlState,
      });
      Object.assign(record, trace);
    }
    options.observe(options.identify === undefined ? record : { ...record, ...callerFields(ended.caller) });
    return outcome;
  };

  /** Labels that changed in the database may be why a value was refused. The caller does not wait for this. */
  async function reportChangedLabels(capability: string, { changedLabels }: Query): Promise<void> {
    // A database that cannot say it now is asked by the next refused call.
    const params = (await changedLabels?.().catch(() => [])) ?? [];
    if (params.length > 0)
      options.observe({ event: 'labels_changed', capability, params: params.join(', ') });
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
    if (typeof reservation === 'string') return { outcome: refused(reservation), caller };
    // While it waited for memory, a caller without other calls may have been forgotten.
    if (reservation !== undefined) load = callerLoads.of(principal);
    const acquiring = concurrencyLimit.acquire(left(), call.signal, load);
    const releaseSlot = acquiring instanceof Promise ? await acquiring : acquiring;
    if (typeof releaseSlot === 'string') {
      reservation?.release();
      return { outcome: refused(releaseSlot), caller };
    }
    let release = reservation?.release;
    try {
      const waiting = reservation === undefined ? resultMemory.waitForSmall(left(), call.signal) : undefined;
      const refusal = waiting && (await waiting);
      if (refusal !== undefined) return { outcome: refused(refusal), caller };
      if (traces !== undefined) prepared.queuedMs = Math.round((now() - startedAt) * 1000) / 1000;
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
      return { outcome: { kind: 'result', rows, count, truncated, release: releaseRows }, caller };
    } catch (error) {
      const sqlState = error instanceof DatabaseError ? error.sqlState : undefined;
      return { ...queryFailed(error, caller), sqlState };
    } finally {
      release?.();
      releaseSlot();
    }
  }
}

/** What a changed label in the database may be the reason of. */
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

/** Adds who calls, and what is taken from there. */
async function prepareFor(
  identify: IdentifyCaller,
  call: IncomingCall,
  { pin }: RunnableCapability,
  values: Record<string, unknown>,
  timeoutMs: number,
): Promise<Prepared | Ended> {
  const identifying = identify(call.metadata, call.capability);
  const identified =
    identifying instanceof Promise ? await orTooLate(identifying, timeoutMs, call.signal) : identifying;
  if (typeof identified === 'string') return { outcome: refused(identified) };
  switch (identified.kind) {
    case 'unavailable':
      // Not AGENT_PRINCIPAL_REFUSED: nothing is wrong with the caller, who would give up on it. Another agent may have the keys.
      return { outcome: refused('full'), detail: identified.detail };
    case 'refused':
      return principalRefused(identified.detail, identified.caller, true);
    case 'known': {
      const { caller } = identified;
      const problem = pin?.(caller, values);
      return problem === undefined ? { values, caller } : principalRefused(problem, caller, true);
    }
  }
}

/** The keys that a token is verified with may have to be fetched first. */
function orTooLate<T>(
  work: Promise<T>,
  timeoutMs: number,
  signal: AbortSignalLike,
): Promise<T | 'late' | 'aborted'> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    };
    const onAbort = (): void => resolve('aborted');
    const timer = setTimeout(() => resolve('late'), timeoutMs);
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    work.then(resolve, reject).finally(leave);
  });
}

function principalRefused(detail: string, caller: Caller | undefined, notStarted: boolean): Ended {
  return { outcome: failed('AGENT_PRINCIPAL_REFUSED', notStarted), detail, caller };
}

/** Where the agent asks who calls, the name counts only as far as it believes the gateway. */
function keyNameOf({ metadata }: IncomingCall, caller: Caller | undefined, asks: boolean): string {
  return asks ? (caller?.keyName ?? '') : (metadata['api_key_name'] ?? '');
}

function callerFields(caller: Caller | undefined): CallerFields {
  if (caller === undefined) return { principal: '', issuer: '', client_id: '' };
  const { principal, issuer, clientId, verifiedBy } = caller;
  return { principal, issuer, client_id: clientId, verified_by: verifiedBy };
}

/** Whose call it is, for fair turns: where the agent does not ask who calls, on the gateway's word. */
function principalOf({ metadata }: IncomingCall, caller: Caller | undefined): string {
  return caller?.principal ?? metadata['principal'] ?? metadata['api_key_name'] ?? '';
}

function refused(why: 'full' | 'late' | 'aborted'): CallOutcome {
  if (why === 'aborted') return failed('AGENT_CANCELLED', true);
  if (why === 'late') return failed('AGENT_QUERY_TIMEOUT', true);
  return failed('AGENT_BUSY');
}

/** What the database says goes to the log only, and no values of parameters go even there. */
function queryFailed(error: unknown, caller?: Caller): Ended {
  const detail = error instanceof DatabaseError ? error.message : unexpected(error);
  const kind = error instanceof DatabaseError ? error.kind : 'failed';
  switch (kind) {
    case 'timeout':
      return { outcome: failed('AGENT_QUERY_TIMEOUT'), detail, caller };
    case 'cancelled':
      return { outcome: failed('AGENT_CANCELLED'), detail, caller };
    case 'too_large':
      return { outcome: failed('AGENT_RESULT_TOO_LARGE'), detail, caller };
    case 'invalid_params': {
      const advice = error instanceof DatabaseError ? error.advice : undefined;
      return { outcome: failed('AGENT_INVALID_PARAMS', false, advice), detail, caller };
    }
    case 'not_verified':
      return { outcome: failed('AGENT_DATABASE_UNAVAILABLE'), detail, caller };
    case 'invalid_principal':
      return principalRefused(detail, caller, false);
    case 'unavailable':
    case 'failed':
      return { outcome: failed('AGENT_QUERY_FAILED'), detail, caller };
  }
}

/** Messages of unexpected errors may quote what was being worked on, so only where they came from is told. */
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
