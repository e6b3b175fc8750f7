import type { Calls, RecordedCall } from '@svc/console/data';
import { RECORDS_MAX } from '../../telemetry/recent/batch.ts';
import type { RequestEvent } from '../../telemetry/events.ts';
import type { KeptRecord } from '../../telemetry/recent/history.ts';
import type { ConsoleState } from './console-state.ts';

const PAGE = 100;

export function calls({ history, traceUrl }: ConsoleState, query: URLSearchParams): Calls {
  const before = query.get('before');
  const all = history.records;
  const begin = before === null ? 0 : all.findIndex(({ id }) => id === Number(before)) + 1;
  // If the record is no longer kept, neither are those before it.
  const rest = before !== null && begin === 0 ? [] : all.slice(begin);
  const found = rest.filter(createFilter(query));
  const page = found.slice(0, PAGE);
  return {
    calls: page.map((record) => shown(record, traceUrl)),
    next_before: found.length > PAGE ? page.at(-1)?.id : undefined,
    kept_max: RECORDS_MAX,
    dropped: history.dropped,
  };
}

function createFilter(query: URLSearchParams): (record: KeptRecord) => boolean {
  const given = (name: string): string | undefined => {
    const value = query.get(name);
    return value === null || value === '' ? undefined : value;
  };
  const [capability, key, status, error] = ['capability', 'key', 'status', 'error'].map(given);
  const part = given('q')?.toLowerCase();
  return ({ event }) =>
    (capability === undefined || event.capability === capability) &&
    (key === undefined || event.api_key_name === key) &&
    (status === undefined || hasStatus(event.http_status, status)) &&
    (error === undefined || event.error_code === error || (error === 'any' && event.error_code !== '')) &&
    (part === undefined || Object.values(event).some((value) => String(value).toLowerCase().includes(part)));
}

function hasStatus(status: number, wanted: string): boolean {
  return /^\dxx$/.test(wanted) ? wanted[0] === String(status)[0] : wanted === String(status);
}

function shown({ id, timeMs, event }: KeptRecord, traceUrl: string | undefined): RecordedCall {
  const { event: _, ...fields } = event;
  return { id, time: new Date(timeMs).toISOString(), ...fields, trace_url: traceUrlOf(event, traceUrl) };
}

/** Undefined for a trace that is not recorded. */
function traceUrlOf(
  { trace_id: traceId, trace_flags: flags }: RequestEvent,
  traceUrl: string | undefined,
): string | undefined {
  return traceId === undefined || flags !== '01' ? undefined : traceUrl?.replaceAll('{trace_id}', traceId);
}
