import { errorResponse } from '../../packages/gateway/src/http/error-response.ts';
import { ERROR_CODES } from '../docs/errors.ts';
import { GATEWAY_METRICS_OF_SERVICES } from '../docs/metrics.ts';
import type { DashboardParts } from './dashboard.ts';
import { lines, rows, stat, states } from './panels.ts';
import { processRow } from './process-row.ts';
import { createQueries } from './queries.ts';

/** Errors that are not the caller's, over REST 5xx; over MCP the status does not tell them. */
export const FAULTS: string = ERROR_CODES.filter((code) => errorResponse(code, '').status >= 500).join('|');

const ANCHOR = 'svc_gateway_requests_in_flight';
const q = createQueries(GATEWAY_METRICS_OF_SERVICES, ANCHOR);

const CALLS = 'svc_gateway_requests_total';
const ERRORS = 'svc_gateway_request_errors_total';
const DURATION = 'svc_gateway_request_duration_seconds';
const ofCalls = { where: 'capability!=""' };
const faults = q.rate(ERRORS, { where: `code=~"${FAULTS}"` });
const cacheHits = q.rate('svc_gateway_auth_cache_hits_total');
const cacheMisses = q.rate('svc_gateway_auth_cache_misses_total');

export const GATEWAY_AND_CALLERS: DashboardParts = {
  uid: 'svc-gateway',
  title: 'svc: gateway and callers',
  description: 'What callers get from the gateways, who is refused and why, and how the gateways fare.',
  other: { uid: 'svc-agents', title: 'svc: agents and database' },
  choices: { service: CALLS, capability: CALLS },
  anchor: ANCHOR,
  instance: 'Instance',
  queries: q,
  rows: {
    Overview: [
      stat(
        { title: 'Calls', description: 'Calls of capabilities, over REST and MCP.', unit: 'reqps' },
        { calls: q.rate(CALLS, ofCalls) },
      ),
      stat(
        {
          title: 'Calls that fail',
          description:
            'Share of the calls that end with an error that is not the caller\'s. Above 0.1 % an objective of 99.9 % is missed; "Errors by code" says where to look.',
          unit: 'percentunit',
          steps: [
            [0.001, 'orange'],
            [0.0144, 'red'],
          ],
        },
        { 'calls that fail': `(${faults} or vector(0)) / ${q.rate(CALLS, ofCalls)}` },
      ),
      stat(
        {
          title: 'Time of a call, 95 of 100',
          description:
            'So long 95 of 100 calls take at most. When it grows, the dashboard of the agents says whether calls wait or the database is slow.',
          unit: 's',
          steps: [
            [1, 'orange'],
            [5, 'red'],
          ],
        },
        { time: q.quantile(0.95, DURATION, ofCalls) },
      ),
      stat(
        {
          title: 'Agents connected',
          description:
            'Connections of agents to the gateways chosen, added up. At 0 every call is answered 503: see the log of the agents.',
          unit: 'short',
          base: 'red',
          steps: [[1, 'green']],
        },
        { connections: q.value('svc_gateway_agent_connections') },
      ),
      stat(
        {
          title: 'Gateways',
          description: 'Gateways that Prometheus reads. One that is missing here is down, or not scraped.',
          unit: 'short',
          base: 'red',
          steps: [[1, 'green']],
        },
        { gateways: `count(${q.value(ANCHOR, { by: ['job', 'instance'] })})` },
      ),
      stat(
        {
          title: 'Log records lost, 1 h',
          description:
            'What standard output did not take in time. Above 0 the log has gaps: look at what reads it.',
          unit: 'short',
          steps: [[1, 'red']],
        },
        { lost: q.increase('svc_gateway_log_records_lost_total', '1h') },
      ),
    ],
    Calls: [
      lines(
        {
          title: 'Calls by capability',
          description: 'Which capabilities are called how often.',
          unit: 'reqps',
        },
        { '{{capability}}': q.rate(CALLS, { by: ['capability'], ...ofCalls }) },
      ),
      lines(
        {
          title: 'Time of a call',
          description:
            'Half of the calls, 95 and 99 of 100 take at most so long, from the head of the request to the begin of the answer.',
          unit: 's',
        },
        {
          '50 of 100': q.quantile(0.5, DURATION, ofCalls),
          '95 of 100': q.quantile(0.95, DURATION, ofCalls),
          '99 of 100': q.quantile(0.99, DURATION, ofCalls),
        },
      ),
      lines(
        {
          title: 'Errors by code',
          description:
            'Requests that failed, by the code of the error. The reference of errors says for each code what to look at.',
          unit: 'reqps',
        },
        { '{{code}}': q.rate(ERRORS, { by: ['code'] }) },
      ),
      lines(
        {
          title: 'Time by capability, 95 of 100',
          description: 'Which capabilities are slow. `svc-agent try NAME --explain` says why one is.',
          unit: 's',
        },
        { '{{capability}}': q.quantile(0.95, DURATION, { by: ['capability'], ...ofCalls }) },
      ),
      lines(
        {
          title: 'Requests by status',
          description:
            'All requests, health checks among them. 499 is a caller that went away; an error over MCP is a 200.',
          unit: 'reqps',
        },
        { '{{status}}': q.rate(CALLS, { by: ['status'] }) },
      ),
      lines(
        {
          title: 'Requests by route',
          description:
            'Which interface is used. The route is a template; it is empty for paths that are not there.',
          unit: 'reqps',
        },
        { '{{route}}': q.rate(CALLS, { by: ['route'] }) },
      ),
      rows(
        {
          title: 'Capabilities',
          description:
            'All capabilities that were called since the start of the gateways. Answers with 5xx are those over REST; the dashboard of the agents has all by outcome.',
        },
        'capability',
        {
          'Calls/s': [q.rate(CALLS, { by: ['capability'], ...ofCalls }), 'reqps'],
          'Answers with 5xx/s': [
            q.rate(CALLS, { by: ['capability'], where: 'capability!="", status=~"5.."' }),
            'reqps',
          ],
          '50 of 100': [q.quantile(0.5, DURATION, { by: ['capability'], ...ofCalls }), 's'],
          '95 of 100': [q.quantile(0.95, DURATION, { by: ['capability'], ...ofCalls }), 's'],
        },
      ),
    ],
    'Callers and keys': [
      lines(
        {
          title: 'Callers refused',
          description:
            'Requests with a wrong key (401), without permission (403) and above a rate (429). Many 401 of one `source` in the log are somebody who guesses keys.',
          unit: 'reqps',
        },
        { '{{status}}': q.rate(CALLS, { by: ['status'], where: 'status=~"401|403|429"' }) },
      ),
      lines(
        {
          title: 'Keys found in the cache',
          description:
            'Share of the API keys that were verified before. Where it stays low, callers send wrong keys, or there are more keys than the cache holds.',
          unit: 'percentunit',
        },
        { share: `${cacheHits} / (${cacheHits} + ${cacheMisses})` },
      ),
      lines(
        {
          title: 'Keys being verified',
          description:
            'A key that is new takes a slot while its bcrypt hash is compared. When all are busy, callers with new keys get 429.',
          unit: 'short',
        },
        {
          'busy {{instance}}': q.value('svc_gateway_bcrypt_slots_busy', { by: ['instance'] }),
          'slots {{instance}}': q.value('svc_gateway_bcrypt_slots', { by: ['instance'] }),
        },
      ),
      lines(
        {
          title: 'Tokens',
          description:
            'Access tokens whose verification was remembered or not, and fetches of the keys of issuers that failed: the log has the reasons. Empty without issuers.',
          unit: 'ops',
        },
        {
          remembered: q.rate('svc_gateway_token_cache_hits_total'),
          'to be verified': q.rate('svc_gateway_token_cache_misses_total'),
          'failed fetches {{instance}}': q.rate('svc_gateway_issuer_keys_fetch_failures_total', {
            by: ['instance'],
          }),
        },
      ),
      lines(
        {
          title: 'Shared limits',
          description:
            'Leases of rate limits from Valkey. Where many are unanswered, Valkey is away or slow, and each gateway keeps its limits alone. Empty without Valkey.',
          unit: 'ops',
        },
        { '{{result}}': q.rate('svc_gateway_leases_total', { by: ['result'] }) },
      ),
      states(
        {
          title: 'Valkey, and files of keys',
          description:
            'Valkey answers or not. Files of keys or services that were refused: a key that was taken out of them is still good; the `keys_reload_failed` record says what is wrong. Empty where there is neither.',
        },
        {
          'Valkey of {{instance}}': q.value('svc_gateway_valkey_up', { by: ['instance'] }),
          'files of {{instance}}': `1 - ${q.value('svc_gateway_reload_refused', { by: ['instance'] })}`,
        },
        { one: 'good', zero: 'bad', good: 'one' },
      ),
    ],
    'Requests and results under way': [
      lines(
        {
          title: 'Requests in flight',
          description:
            'Requests accepted and not answered. A line that only grows is a backlog: look at agents and database.',
          unit: 'short',
        },
        { '{{instance}}': q.value(ANCHOR, { by: ['instance'] }) },
      ),
      lines(
        {
          title: 'Calls at agents',
          description: 'Calls that agents have and have not answered, whether they run or wait there.',
          unit: 'short',
        },
        { '{{instance}}': q.value('svc_gateway_agent_calls_in_flight', { by: ['instance'] }) },
      ),
      lines(
        {
          title: 'Memory for large results',
          description:
            'Reserved for results that arrive or are being delivered. Callers that read slowly keep it.',
          unit: 'bytes',
        },
        { '{{instance}}': q.value('svc_gateway_result_reserved_bytes', { by: ['instance'] }) },
      ),
    ],
    Agents: [
      lines(
        {
          title: 'Agents connected',
          description:
            'Connections of agents, by gateway. A gateway at 0 is not ready and gets no calls from its balancer.',
          unit: 'short',
        },
        { '{{instance}}': q.value('svc_gateway_agent_connections', { by: ['instance'] }) },
      ),
      lines(
        {
          title: 'Agents that come and go',
          description:
            'Connections made, ended and turned away a second. Those turned away are agents with a wrong key, or strangers: `agent_rejected` records say which.',
          unit: 'ops',
        },
        {
          connected: q.rate('svc_gateway_agent_connects_total'),
          ended: q.rate('svc_gateway_agent_disconnects_total'),
          'turned away': q.rate('svc_gateway_agent_rejections_total'),
        },
      ),
      lines(
        {
          title: 'Links',
          description:
            'Where there are several gateways: how many there are as agents are told, how many links they should hold beside those that they hold, and agents too old for several links. Missing links that stay are a balancer that sends all to one.',
          unit: 'short',
        },
        {
          'replicas {{instance}}': q.value('svc_gateway_replicas', { by: ['instance'] }),
          'links missing {{instance}}': q.value('svc_gateway_links_missing', { by: ['instance'] }),
          'agents with one link {{instance}}': q.value('svc_gateway_agent_single_links', {
            by: ['instance'],
          }),
        },
      ),
      lines(
        {
          title: 'Workers',
          description:
            'Calls that reached their agent over another worker, and workers that ended and were replaced: `worker_ended` records say why. Empty with one worker.',
          unit: 'ops',
        },
        {
          'calls over another worker {{instance}}': q.rate('svc_gateway_sibling_calls_total', {
            by: ['instance'],
          }),
          'workers replaced {{instance}}': q.rate('svc_gateway_worker_restarts_total', { by: ['instance'] }),
        },
      ),
    ],
    Process: processRow(q, 'svc_gateway_traces_dropped_total'),
  },
};
