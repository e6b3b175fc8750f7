import { AGENT_METRICS } from '../docs/metrics.ts';
import type { DashboardParts } from './dashboard.ts';
import { lines, rows, stat, states } from './panels.ts';
import { processRow } from './process-row.ts';
import { createQueries } from './queries.ts';

const ANCHOR = 'svc_agent_connected';
const q = createQueries(AGENT_METRICS, ANCHOR);

const CALLS = 'svc_agent_calls_total';
const DURATION = 'svc_agent_call_duration_seconds';
const byInstance = { by: ['instance'] };
const byCapability = { by: ['capability'] };

export const AGENTS_AND_DATABASE: DashboardParts = {
  uid: 'svc-agents',
  title: 'svc: agents and database',
  description:
    'The state of agents and of their databases: calls, what calls wait for, links to the gateways, what is served.',
  other: { uid: 'svc-gateway', title: 'svc: gateway and callers' },
  choices: { capability: CALLS },
  anchor: ANCHOR,
  queries: q,
  rows: {
    Overview: {
      'Agents not connected': stat(
        'short',
        'Agents that run without a link to a gateway. Their log has the reason; 4401 is a wrong key.',
        { agents: `count(${q.value(ANCHOR, byInstance)} == 0) or vector(0)` },
        { red: 1 },
      ),
      'Databases away': stat(
        'short',
        'Agents that have lost a database. `database_lost` records have the reason.',
        {
          agents: `count(${q.value('svc_agent_database_up', { ...byInstance, merge: 'min' })} == 0) or vector(0)`,
        },
        { red: 1 },
      ),
      Calls: stat('reqps', 'Calls that the chosen agents have answered.', { calls: q.rate(CALLS) }),
      'Calls that wait': stat(
        'short',
        'Calls that wait for a slot of runtime.max_concurrent_requests, or for a connection to the database. A few now and then are normal. If calls always wait, the agent or its database is too small for the load.',
        {
          'for a slot': q.value('svc_agent_calls_queued'),
          'for a connection': q.value('svc_agent_database_waiting_calls'),
        },
        { orange: 1, red: 100 },
      ),
      'Files refused': stat(
        'short',
        'Agents that serve an older capability file, because they refuse the present one. The `reload_refused` record has every fault.',
        { agents: q.value('svc_agent_reload_refused') },
        { red: 1 },
      ),
      'Capabilities drifted': stat(
        'short',
        'Capabilities that no longer fit the database; the `drift` record names them. Only with runtime.reverify.',
        { capabilities: q.value('svc_agent_capabilities_drifted') },
        { red: 1 },
      ),
      Agents: rows(
        'Each agent and its database. If all is well, Connected and Database are 1, Refused and Drifted are 0.',
        'instance',
        {
          Connected: [q.value(ANCHOR, byInstance), 'none'],
          Database: [q.value('svc_agent_database_up', { ...byInstance, merge: 'min' }), 'none'],
          Refused: [q.value('svc_agent_reload_refused', byInstance), 'none'],
          Drifted: [q.value('svc_agent_capabilities_drifted', byInstance), 'none'],
          Links: [q.value('svc_agent_links', byInstance), 'none'],
          'Calls/s': [q.rate(CALLS, byInstance), 'reqps'],
          Running: [q.value('svc_agent_calls_running', byInstance), 'none'],
        },
      ),
    },
    Calls: {
      'Calls by capability': lines('reqps', 'How often each capability is called.', {
        '{{capability}}': q.rate(CALLS, byCapability),
      }),
      'Calls that fail, by capability': lines(
        'reqps',
        'By capability and code. `detail` of the `call` records has what the database said.',
        {
          '{{capability}} {{outcome}}': q.rate(CALLS, {
            by: ['capability', 'outcome'],
            where: 'outcome!="OK"',
          }),
        },
      ),
      'Time by capability, 95 of 100': lines(
        's',
        'From the arrival of a call to its outcome, including waiting. `svc-agent try NAME --explain` shows why one is slow.',
        { '{{capability}}': q.quantile(0.95, DURATION, byCapability) },
      ),
      'Calls that run and wait': lines(
        'short',
        'If a queue stays, there are too few slots, or the database is too slow for the load: see "Connections to the database".',
        {
          'running {{instance}}': q.value('svc_agent_calls_running', byInstance),
          'waiting {{instance}}': q.value('svc_agent_calls_queued', byInstance),
        },
      ),
      'Rows by capability': lines('ops', 'Rows in the results.', {
        '{{capability}}': q.rate('svc_agent_rows_total', byCapability),
      }),
      'Bytes by capability': lines(
        'Bps',
        'JSON in the results. Large results are slow and expensive for models.',
        { '{{capability}}': q.rate('svc_agent_result_bytes_total', byCapability) },
      ),
    },
    Database: {
      Database: states(
        'Shows 1 if there is a connection or one can be made. `database_lost` and `database_back` records have the reasons.',
        { '{{instance}}': q.value('svc_agent_database_up', { ...byInstance, merge: 'min' }) },
        { one: 'up', zero: 'away', good: 'one' },
      ),
      'Connections to the database': lines(
        'short',
        'At most database.max_connections. If all are busy and calls wait, raise it, or make the slow capabilities faster.',
        {
          '{{state}} {{instance}}': q.value('svc_agent_database_connections', { by: ['instance', 'state'] }),
          'at most {{instance}}': q.value('svc_agent_database_connections_max', byInstance),
        },
      ),
      'Calls that wait for a connection': lines('short', 'Above 0 for minutes: the pool is used up.', {
        '{{instance}}': q.value('svc_agent_database_waiting_calls', byInstance),
      }),
      Transactions: lines(
        'ops',
        'Transactions in PostgreSQL, of one call or shared by several, and the calls that shared ones answered. Calls sent again are those of shared transactions that answered none: `sharing_ended` records name capabilities whose tables have changed.',
        {
          '{{form}} {{instance}}': q.rate('svc_agent_transactions_total', { by: ['instance', 'form'] }),
          'calls answered by shared {{instance}}': q.rate('svc_agent_shared_calls_total', byInstance),
          'calls sent again {{instance}}': q.rate('svc_agent_shared_resends_total', byInstance),
        },
      ),
    },
    'Links to gateways': {
      Links: lines(
        'short',
        'Links that gateways have accepted, and how many there should be. If there are fewer for minutes, a gateway cannot be reached, or gateway.max_links is too low.',
        {
          'links {{instance}}': q.value('svc_agent_links', byInstance),
          'wanted {{instance}}': q.value('svc_agent_links_wanted', byInstance),
        },
      ),
      'Attempts by outcome': lines(
        'ops',
        'Outcomes of attempts to make a link. `refused` is a wrong key or URL; `failed` a gateway that cannot be reached.',
        { '{{outcome}}': q.rate('svc_agent_dials_total', { by: ['outcome'] }) },
      ),
      'Connections lost and refused': lines(
        'ops',
        'Reconnections, and attempts that no gateway accepted. The log has the reasons.',
        {
          'made again {{instance}}': q.rate('svc_agent_reconnects_total', byInstance),
          'not accepted {{instance}}': q.rate('svc_agent_connect_failures_total', byInstance),
        },
      ),
    },
    'What is served': {
      'Capability file': states(
        'Shows 1 if the agent serves the present file. While it refuses the file, it serves the older one.',
        { '{{instance}}': q.value('svc_agent_reload_refused', { ...byInstance, merge: 'max' }) },
        { one: 'refused', zero: 'served', good: 'zero' },
      ),
      'Reloads and drift': lines(
        'short',
        'Reloads of the file in an hour, by outcome, and capabilities that no longer fit the database.',
        {
          '{{outcome}}': q.increase('svc_agent_reloads_total', '1h', { by: ['outcome'] }),
          'drifted {{instance}}': q.value('svc_agent_capabilities_drifted', byInstance),
        },
      ),
      'Log records lost, workers started again': lines(
        'short',
        'In an hour. If log records are lost, look at the disk. If workers end, `worker_ended` records have the reason.',
        {
          'records lost {{instance}}': q.increase('svc_agent_log_records_lost_total', '1h', byInstance),
          'workers {{instance}}': q.increase('svc_agent_worker_restarts_total', '1h', byInstance),
        },
      ),
    },
    Process: processRow(q, 'svc_agent_traces_dropped_total'),
  },
};
