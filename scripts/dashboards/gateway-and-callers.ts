import { CALL_ERRORS } from '@svc/protocol';
import { ERROR_CODES } from '../docs/errors.ts';
import { GATEWAY_METRICS_OF_SERVICES } from '../docs/metrics.ts';
import type { DashboardParts } from './dashboard.ts';
import { lines, rows, stat, states } from './panels.ts';
import { processRow } from './process-row.ts';
import { createQueries } from './queries.ts';

/** Errors that are not the caller's, over REST 5xx; over MCP the status does not tell them. */
export const FAULTS: string = ERROR_CODES.filter((code) => CALL_ERRORS[code].status >= 500).join('|');

const ANCHOR = 'svc_gateway_requests_in_flight';
const q = createQueries(GATEWAY_METRICS_OF_SERVICES, ANCHOR);

const CALLS = 'svc_gateway_requests_total';
const ERRORS = 'svc_gateway_request_errors_total';
const DURATION = 'svc_gateway_request_duration_seconds';
const ofCalls = { where: 'capability!=""' };
const byCapability = { by: ['capability'], ...ofCalls };
const byInstance = { by: ['instance'] };
const faults = q.rate(ERRORS, { where: `code=~"${FAULTS}"` });
const cacheHits = q.rate('svc_gateway_auth_cache_hits_total');
const cacheMisses = q.rate('svc_gateway_auth_cache_misses_total');

export const GATEWAY_AND_CALLERS: DashboardParts = {
  uid: 'svc-gateway',
  title: 'svc: gateway and callers',
  description:
    'What callers get from the gateways, which requests are refused and why, and the state of the gateways.',
  other: { uid: 'svc-agents', title: 'svc: agents and database' },
  choices: { service: CALLS, capability: CALLS },
  anchor: ANCHOR,
  queries: q,
  rows: {
    Overview: {
      Calls: stat('reqps', 'Calls of capabilities, over REST and MCP.', { calls: q.rate(CALLS, ofCalls) }),
      'Calls that fail': stat(
        'percentunit',
        'Share of the calls that end with an error of the service. Above 0.1 % the objective of 99.9 % is missed; "Errors by code" shows where to look.',
        { 'calls that fail': `(${faults} or vector(0)) / ${q.rate(CALLS, ofCalls)}` },
        { orange: 0.001, red: 0.0144 },
      ),
      'Time of a call, 95 of 100': stat(
        's',
        'The time within which 95 of 100 calls are answered. If it grows, the dashboard of the agents shows whether calls wait or the database is slow.',
        { time: q.quantile(0.95, DURATION, ofCalls) },
        { orange: 1, red: 5 },
      ),
      'Agents connected': stat(
        'short',
        'Connections of agents to the chosen gateways, added up. At 0 every call gets 503: see the log of the agents.',
        { connections: q.value('svc_gateway_agent_connections') },
        { green: 1 },
      ),
      Gateways: stat(
        'short',
        'Gateways that Prometheus scrapes. A missing one is down or not scraped.',
        { gateways: `count(${q.value(ANCHOR, { by: ['job', 'instance'] })})` },
        { green: 1 },
      ),
      'Log records lost, 1 h': stat(
        'short',
        'Log records that standard output did not accept in time. Above 0 the log has gaps: look at the process that reads it.',
        { lost: q.increase('svc_gateway_log_records_lost_total', '1h') },
        { red: 1 },
      ),
    },
    Calls: {
      'Calls by capability': lines('reqps', 'How often each capability is called.', {
        '{{capability}}': q.rate(CALLS, byCapability),
      }),
      'Time of a call': lines(
        's',
        'Half of the calls, and 95 and 99 of 100, take at most these times, from the head of the request to the beginning of the answer.',
        {
          '50 of 100': q.quantile(0.5, DURATION, ofCalls),
          '95 of 100': q.quantile(0.95, DURATION, ofCalls),
          '99 of 100': q.quantile(0.99, DURATION, ofCalls),
        },
      ),
      'Errors by code': lines(
        'reqps',
        'Failed requests by error code. The guide Troubleshooting has an entry for each code.',
        { '{{code}}': q.rate(ERRORS, { by: ['code'] }) },
      ),
      'Time by capability, 95 of 100': lines(
        's',
        'Which capabilities are slow. `svc-agent try NAME --explain` shows why.',
        { '{{capability}}': q.quantile(0.95, DURATION, byCapability) },
      ),
      'Requests by status': lines(
        'reqps',
        'All requests, including health checks. 499 is a caller that went away; an error over MCP is a 200.',
        { '{{status}}': q.rate(CALLS, { by: ['status'] }) },
      ),
      'Requests by route': lines(
        'reqps',
        'Which interface is used. The route is a template; it is empty for paths that do not exist.',
        { '{{route}}': q.rate(CALLS, { by: ['route'] }) },
      ),
      Capabilities: rows(
        'All capabilities that were called since the start of the gateways. Answers with 5xx count REST only; the dashboard of the agents has all calls by outcome.',
        'capability',
        {
          'Calls/s': [q.rate(CALLS, byCapability), 'reqps'],
          'Answers with 5xx/s': [
            q.rate(CALLS, { by: ['capability'], where: 'capability!="", status=~"5.."' }),
            'reqps',
          ],
          '50 of 100': [q.quantile(0.5, DURATION, byCapability), 's'],
          '95 of 100': [q.quantile(0.95, DURATION, byCapability), 's'],
        },
      ),
    },
    'Callers and keys': {
      'Callers refused': lines(
        'reqps',
        'Requests with a wrong key (401), without permission (403) and above a rate (429). Many 401 of one `source` in the log mean that somebody guesses keys.',
        { '{{status}}': q.rate(CALLS, { by: ['status'], where: 'status=~"401|403|429"' }) },
      ),
      'Keys found in the cache': lines(
        'percentunit',
        'Share of presented API keys that were remembered as verified. If it stays low, callers send wrong keys, or there are more keys than the cache holds.',
        { share: `${cacheHits} / (${cacheHits} + ${cacheMisses})` },
      ),
      'Keys being verified': lines(
        'short',
        'A new key takes a slot while its bcrypt hash is compared. If all slots are busy, callers with new keys get 429.',
        {
          'busy {{instance}}': q.value('svc_gateway_bcrypt_slots_busy', byInstance),
          'slots {{instance}}': q.value('svc_gateway_bcrypt_slots', byInstance),
        },
      ),
      Tokens: lines(
        'ops',
        "Access tokens by whether their verification was remembered, and failed fetches of issuers' keys; the log has the reasons. Empty without issuers.",
        {
          remembered: q.rate('svc_gateway_token_cache_hits_total'),
          'to be verified': q.rate('svc_gateway_token_cache_misses_total'),
          'failed fetches {{instance}}': q.rate('svc_gateway_issuer_keys_fetch_failures_total', byInstance),
        },
      ),
      'Shared limits': lines(
        'ops',
        'Leases of rate limits from Valkey. If many are unanswered, Valkey is away or slow, and each gateway keeps its limits alone. Empty without Valkey.',
        { '{{result}}': q.rate('svc_gateway_leases_total', { by: ['result'] }) },
      ),
      'Valkey, and files of keys': states(
        'Whether Valkey answers, and whether a file of keys or services was refused. While it is refused, a key that was removed from it still works; the `keys_reload_failed` record lists the faults. Empty without Valkey and without such files.',
        {
          'Valkey of {{instance}}': q.value('svc_gateway_valkey_up', byInstance),
          'files of {{instance}}': `1 - ${q.value('svc_gateway_reload_refused', byInstance)}`,
        },
        { one: 'good', zero: 'bad', good: 'one' },
      ),
    },
    'Requests and results under way': {
      'Requests in flight': lines(
        'short',
        'Requests that are accepted and not yet answered. A line that only grows is a backlog: look at agents and database.',
        { '{{instance}}': q.value(ANCHOR, byInstance) },
      ),
      'Calls at agents': lines(
        'short',
        'Calls that agents have and have not yet answered, whether they run or wait.',
        { '{{instance}}': q.value('svc_gateway_agent_calls_in_flight', byInstance) },
      ),
      'Memory for large results': lines(
        'bytes',
        'Memory reserved for results that arrive or are being delivered. Slow readers hold it.',
        { '{{instance}}': q.value('svc_gateway_result_reserved_bytes', byInstance) },
      ),
    },
    Agents: {
      'Agents connected': lines(
        'short',
        'Connections of agents, by gateway. A gateway at 0 is not ready and gets no calls from its balancer.',
        { '{{instance}}': q.value('svc_gateway_agent_connections', byInstance) },
      ),
      'Agents that come and go': lines(
        'ops',
        'Connections made, ended and refused a second. Refused ones are agents with a wrong key, or others: `agent_rejected` records have the reason.',
        {
          connected: q.rate('svc_gateway_agent_connects_total'),
          ended: q.rate('svc_gateway_agent_disconnects_total'),
          'turned away': q.rate('svc_gateway_agent_rejections_total'),
        },
      ),
      Links: lines(
        'short',
        'With several gateways: the number of gateways that agents are told, the links that agents should hold and do hold, and agents that are too old for several links. If links stay missing, a balancer sends all agents to one gateway.',
        {
          'replicas {{instance}}': q.value('svc_gateway_replicas', byInstance),
          'links missing {{instance}}': q.value('svc_gateway_links_missing', byInstance),
          'agents with one link {{instance}}': q.value('svc_gateway_agent_single_links', byInstance),
        },
      ),
      Workers: lines(
        'ops',
        'Calls that reached their agent through another worker, and workers that ended and were replaced; `worker_ended` records have the reason. Empty with one worker.',
        {
          'calls over another worker {{instance}}': q.rate('svc_gateway_sibling_calls_total', byInstance),
          'workers replaced {{instance}}': q.rate('svc_gateway_worker_restarts_total', byInstance),
        },
      ),
    },
    Process: processRow(q, 'svc_gateway_traces_dropped_total'),
  },
};
