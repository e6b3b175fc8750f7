import { DESCRIBE_CAPABILITY, type AgentErrorCode } from '@svc/protocol';
import { InvalidParams } from '../capabilities/parameters.ts';
import { DatabaseError } from '../databases/errors.ts';
import type { Query } from '../databases/driver.ts';
import type { CallOutcome, HandleCall, IncomingCall } from '../gateway-link/call-session.ts';
import type { Observe } from '../telemetry/events.ts';
import type { Callers } from './callers.ts';
import type { ConcurrencyLimit } from './concurrency-limit.ts';
import type { ResultMemory } from './result-memory.ts';

/** A capability as the agent runs it. */
export interface RunnableCapability {
  /** From a JSON object to values ready to bind; throws InvalidParams. */
  readonly read: (body: Uint8Array) => Record<string, unknown>;
  readonly query: Query;
  readonly timeoutMs: number;
  /** The most that its rows may take. */
  readonly maxBytes: number;
}

export interface RunCallOptions {
  readonly capabilities: ReadonlyMap<string, RunnableCapability>;
  /** JSON of the Description: the answer of the meta capability. */
  readonly description: Uint8Array;
  readonly callers: Callers;
  readonly concurrencyLimit: ConcurrencyLimit;
  readonly resultMemory: ResultMemory;
  readonly observe: Observe;
  readonly now: () => number;
  /** Once true, calls are refused as not started. */
  readonly draining: () => boolean;
}

/** Handles a call: finds its capability, checks its parameters, waits for memory and a slot, runs its query. */
export function createRunCall(options: RunCallOptions): HandleCall {
  const { now } = options;
  return async (call) => {
    if (call.capability === DESCRIBE_CAPABILITY) {
      return { kind: 'result', rows: options.description, count: 0, truncated: false, release: () => {} };
    }
    const startedAt = now();
    const capability = options.capabilities.get(call.capability);
    if (capability === undefined) return failed('AGENT_UNKNOWN_CAPABILITY', 'no such capability', true);
    if (options.draining()) return failed('AGENT_DRAINING', 'the agent is shutting down', true);
    const timeoutMs = Math.min(call.timeoutMs, capability.timeoutMs);
    const { outcome, detail } = await runWithinLimits(call, capability, timeoutMs, startedAt);
    if (outcome.kind === 'error' && outcome.code === 'AGENT_INVALID_PARAMS') {
      void reportChangedLabels(call.capability, capability.query);
    }
    options.observe({
      event: 'call',
      request_id: call.metadata['request_id'] ?? '',
      api_key_name: call.metadata['api_key_name'] ?? '',
      capability: call.capability,
      outcome: outcome.kind === 'result' ? 'OK' : outcome.code,
      duration_ms: Math.round((now() - startedAt) * 1000) / 1000,
      rows: outcome.kind === 'result' ? outcome.count : 0,
      bytes: outcome.kind === 'result' ? outcome.rows.length : 0,
      ...(call.metadata['traceparent'] === undefined ? {} : { traceparent: call.metadata['traceparent'] }),
      ...(detail === undefined ? {} : { detail }),
    });
    return outcome;
  };

  /** Labels that changed in the database may be why a value was refused. The caller does not wait for this. */
  async function reportChangedLabels(capability: string, { changedLabels }: Query): Promise<void> {
    const params = (await changedLabels?.()) ?? [];
    if (params.length > 0)
      options.observe({ event: 'labels_changed', capability, params: params.join(', ') });
  }

  async function runWithinLimits(
    call: IncomingCall,
    capability: RunnableCapability,
    timeoutMs: number,
    startedAt: number,
  ): Promise<{ outcome: CallOutcome; detail?: string }> {
    let values: Record<string, unknown>;
    try {
      values = capability.read(call.params);
    } catch (error) {
      if (error instanceof InvalidParams)
        return { outcome: failed('AGENT_INVALID_PARAMS', error.message, true) };
      return queryFailed(error);
    }
    const left = (): number => Math.max(1, timeoutMs - (now() - startedAt));
    const { resultMemory } = options;
    let caller = options.callers.of(principalOf(call), startedAt);
    const reserving = resultMemory.reserveLarge(capability.maxBytes, timeoutMs, call.signal, caller);
    const reservation = reserving && (await reserving);
    if (typeof reservation === 'string') return { outcome: refused(reservation) };
    // While it waited for memory, a caller without other calls may have been forgotten.
    if (reservation !== undefined) caller = options.callers.of(principalOf(call));
    const acquiring = options.concurrencyLimit.acquire(left(), call.signal, caller);
    const releaseSlot = acquiring instanceof Promise ? await acquiring : acquiring;
    if (typeof releaseSlot === 'string') {
      reservation?.release();
      return { outcome: refused(releaseSlot) };
    }
    let release = reservation?.release;
    try {
      const waiting = reservation === undefined ? resultMemory.waitForSmall(left(), call.signal) : undefined;
      const refusal = waiting && (await waiting);
      if (refusal !== undefined) return { outcome: refused(refusal) };
      const result = await capability.query.run({
        values,
        apiKeyName: call.metadata['api_key_name'] ?? '',
        requestId: call.metadata['request_id'] ?? '',
        timeoutMs: left(),
        signal: call.signal,
        caller,
      });
      reservation?.shrink(result.rows.length);
      const releaseRows = release ?? resultMemory.holdSmall(result.rows.length);
      release = undefined;
      const { rows, count, truncated } = result;
      return { outcome: { kind: 'result', rows, count, truncated, release: releaseRows } };
    } catch (error) {
      return queryFailed(error);
    } finally {
      release?.();
      releaseSlot();
    }
  }
}

function principalOf({ metadata }: IncomingCall): string {
  return metadata['principal'] ?? metadata['api_key_name'] ?? '';
}

function refused(why: 'full' | 'late' | 'aborted'): CallOutcome {
  if (why === 'aborted') return failed('AGENT_CANCELLED', 'the call was cancelled', true);
  if (why === 'late') return failed('AGENT_QUERY_TIMEOUT', 'the time was up before the query began', true);
  return failed('AGENT_BUSY', 'the agent has as many calls as it takes, try again shortly', true);
}

/** What the database says goes to the log only, and no values of parameters go even there. */
function queryFailed(error: unknown): { outcome: CallOutcome; detail: string } {
  const detail = error instanceof DatabaseError ? error.message : unexpected(error);
  const kind = error instanceof DatabaseError ? error.kind : 'failed';
  switch (kind) {
    case 'timeout':
      return { outcome: failed('AGENT_QUERY_TIMEOUT', 'the query took longer than it may', false), detail };
    case 'cancelled':
      return { outcome: failed('AGENT_CANCELLED', 'the call was cancelled', false), detail };
    case 'too_large':
      return {
        outcome: failed(
          'AGENT_RESULT_TOO_LARGE',
          'the result is larger than it may be, narrow the request',
          false,
        ),
        detail,
      };
    case 'invalid_params': {
      const why = error instanceof DatabaseError ? error.advice : undefined;
      const message = why ?? 'the database does not take a value of a parameter';
      return { outcome: failed('AGENT_INVALID_PARAMS', message, false), detail };
    }
    case 'unavailable':
    case 'failed':
      return { outcome: failed('AGENT_QUERY_FAILED', 'the query could not be completed', false), detail };
  }
}

/** Messages of unexpected errors may quote what was being worked on, so only where they came from is told. */
function unexpected(error: unknown): string {
  if (!(error instanceof Error)) return 'unexpected: something other than an error was thrown';
  const frames = (error.stack ?? '').replace(error.message, '').match(/^ +at .+$/gm) ?? [];
  return ['unexpected error', ...frames.slice(0, 5).map((frame) => frame.trim())].join(' ');
}

function failed(code: AgentErrorCode, message: string, notStarted: boolean): CallOutcome {
  return { kind: 'error', code, message, notStarted };
}
