import type { AgentEvent } from '../../packages/agent/src/telemetry/events.ts';
import { ACCEPT_FAILED, BOUND, type RecordDocs } from './log-record.ts';

const CONNECTION = 'a3f0f1de-55b2-4f2e-8f0d-1b7c0a9d4e21';
const REPLICA = '5f0c2d7e-9b1a-4e3c-8d6f-7a2b3c4d5e6f';
const GATEWAY = 'wss://gateway.example.com/ws/agent';

const WITH_IDENTITY = 'Only with `identity` in the capability file; empty when there is none.';

const WHICH_DATABASE = { database: 'string?: Which of `databases`.' } as const;

const WHICH_PROCESS = {
  replica_id: 'string?: The replica of the gateway, where there are links to several of its processes.',
  worker: 'number?: The number of the worker, from 0.',
} as const;

export const AGENT_RECORDS: RecordDocs<AgentEvent> = {
  starting: {
    level: 'info',
    when: 'Every start-up check has passed. Also on standard error.',
    fields: {
      version: 'string: Version of the agent.',
      config_file: 'string: The capability file.',
      capabilities: 'number: How many it defines.',
    },
    example: { version: '0.2.0', config_file: '/etc/svc/capability.yaml', capabilities: 12 },
  },
  metrics_listening: {
    level: 'info',
    when: '`GET /metrics` answers; with `metrics.addr` only. Also on standard error.',
    fields: BOUND,
    example: { address: '127.0.0.1', port: 9090 },
  },
  accept_failed: {
    ...ACCEPT_FAILED,
    when: `${ACCEPT_FAILED.when} Also on standard error.`,
    example: { address: '127.0.0.1', port: 9090, message: 'accept EMFILE' },
  },
  connected: {
    level: 'info',
    when: 'The gateway has accepted the agent. Also on standard error.',
    fields: {
      gateway: 'string: `gateway.url`, with the number of the replica for `{replica}`.',
      conn_id: 'string: The name of the connection; the same in the log of the gateway.',
      ...WHICH_PROCESS,
    },
    example: { gateway: GATEWAY, conn_id: CONNECTION, replica_id: REPLICA, worker: 0 },
  },
  disconnected: {
    level: 'warn',
    when: 'A connection is over or never came to be. Where it is `planned`, at level `info` and in the log alone. Also on standard error.',
    fields: {
      gateway: 'string: `gateway.url`.',
      reason: 'string: Why, with advice where there is any.',
      conn_id: 'string?: The connection, had it been accepted.',
      planned:
        'boolean?: True where the agent has ended it itself, as when another takes its place at a reload; its calls are answered.',
      retry_in_ms: 'number?: Milliseconds until the next try; another connection may be sought already.',
      ...WHICH_PROCESS,
    },
    example: {
      gateway: GATEWAY,
      reason:
        'connect ECONNREFUSED 192.0.2.1:443 (is the gateway running, and do host and port of gateway.url lead to it?)',
      retry_in_ms: 731,
    },
  },
  links_short: {
    level: 'warn',
    when: 'A gateway wants more links than the agent holds: `max_links`, because `gateway.max_links` allows fewer, so each replica gets fewer; `not_found`, because the rest has not been found for 60 s: see how the balancer spreads connections to `/ws/agent`, or give the replicas addresses or hosts of their own. Once until it holds all. Also on standard error.',
    fields: {
      gateway: 'string: `gateway.url`.',
      reason: 'string: `max_links` or `not_found`.',
      links: 'number: How many it holds.',
      links_wanted: 'number: How many the gateway wants.',
    },
    example: { gateway: GATEWAY, reason: 'not_found', links: 1, links_wanted: 3 },
  },
  call: {
    level: 'info',
    when: 'One for each call that reached the agent for a capability that it has.',
    fields: {
      request_id: 'string: The `X-Request-Id` of the answer.',
      api_key_name: 'string: `name` of the record of the key; empty for a token.',
      principal: `string | absent: The caller: \`key:<principal>\` or \`token:<name of the issuer>:<subject>\`; empty if unknown. This field and the next three are present only with \`identity\` in the capability file. ${WITH_IDENTITY}`,
      issuer: `string | absent: \`iss\` of the token; empty for a key. ${WITH_IDENTITY}`,
      client_id: `string | absent: The client that the token was issued to. ${WITH_IDENTITY}`,
      verified_by:
        'string?: What identified the caller: `token`, which the agent has verified, or `gateway`.',
      capability: 'string: The capability.',
      outcome: 'string: `OK` or an [error code](errors.md).',
      duration_ms: 'number: Milliseconds from the arrival to the outcome, queue included.',
      rows: 'number: Rows answered.',
      bytes: 'number: Bytes of the `rows` array.',
      traceparent:
        'string?: The `traceparent` header of the request; where the gateway makes traces, that of its own span.',
      trace_id:
        'string | absent: The trace that the call is part of, recorded or not. Only with `telemetry.traces`.',
      trace_flags:
        'string | absent: `01` where that trace is recorded, `00` where the sampler left it out. Only with `telemetry.traces`.',
      detail:
        'string?: What the database said: SQLSTATE and names, no values of parameters or rows. Or why who calls is refused.',
    },
    example: {
      request_id: '6f1c2a5e-8a53-4a3e-9f4e-0d6b8a1f2c33',
      api_key_name: 'reports',
      capability: 'find_book',
      outcome: 'AGENT_QUERY_FAILED',
      duration_ms: 4.018,
      rows: 0,
      bytes: 0,
      detail: 'SQLSTATE 22012, division_by_zero, routine int4div',
    },
  },
  keys_fetched: {
    level: 'info',
    when: 'The keys of an issuer are known, or have changed; with `identity.issuers` only. With 0 `keys`, when every token of the issuer is refused, at level `warn`.',
    fields: {
      issuer: 'string: `name` of the issuer.',
      keys: 'number: How many of its keys serve.',
      left_out: 'number: How many cannot be used: of another kind, or too weak.',
    },
    example: { issuer: 'keycloak', keys: 2, left_out: 1 },
  },
  keys_fetch_failed: {
    level: 'warn',
    when: 'The keys of an issuer could not be fetched; once for each change, not for each try. Also on standard error.',
    fields: {
      issuer: 'string: `name` of the issuer.',
      reason: 'string: Why.',
      keys_serve: 'boolean: Whether the keys known before serve on.',
    },
    example: {
      issuer: 'keycloak',
      reason: 'https://id.example.com/.well-known/openid-configuration answered 503',
      keys_serve: true,
    },
  },
  labels_changed: {
    level: 'warn',
    when: 'After a call with refused parameters: an enum has other labels than when the agent started. Callers are told those of the start; a reload or a restart takes the new ones up. Once for each capability. Also on standard error.',
    fields: {
      capability: 'string: The capability.',
      params: 'string: Its parameters whose labels are out of date.',
    },
    example: { capability: 'orders_by_status', params: 'status' },
  },
  paging_tie: {
    level: 'warn',
    when: 'A call has failed with AGENT_QUERY_FAILED: the last row of its page and the next one are equal in all fields of the order, so that a page that goes on after it would lose or repeat a row. Name in [`paging`](capability-file.md#paging) a field, or fields, that no two rows share.',
    fields: {
      capability: 'string: The capability.',
      fields: 'string: The fields of the order, which are not unique together.',
    },
    example: { capability: 'list_invoices', fields: 'issued_on, customer_id' },
  },
  cursor_too_long: {
    level: 'warn',
    when: 'An answer that was cut has no `next`: its cursor would be longer than the 8,192 characters that callers may send. Order by shorter fields.',
    fields: {
      capability: 'string: The capability.',
      bytes: 'number: How long the cursor would be.',
    },
    example: { capability: 'list_notes', bytes: 12004 },
  },
  sharing_ended: {
    level: 'warn',
    when: 'The calls of a capability shared [transactions](capability-file.md#transactions) with others. From now on each has its own, since a table that it reads has changed, or a function has replaced a statement of the agent on its connection: calls might see who calls. No call has failed or was answered wrongly. Once for each capability, until it shares again. The agent verifies it again within a minute.',
    fields: { capability: 'string: The capability.' },
    example: { capability: 'find_book' },
  },
  sharing_back: {
    level: 'info',
    when: 'After `sharing_ended`: the capability was verified again, and its calls may share transactions.',
    fields: { capability: 'string: The capability.' },
    example: { capability: 'find_book' },
  },
  database_lost: {
    level: 'warn',
    when: 'No connection to the database is left, and none can be made. Once for each outage. Also on standard error.',
    fields: {
      ...WHICH_DATABASE,
      reason: 'string: What to check.',
      detail: 'string: What the attempt to connect met.',
    },
    example: {
      reason: 'nothing listens there: check host and port, and that the server runs',
      detail: 'cannot reach the database: connect ECONNREFUSED 192.0.2.7:5432',
    },
  },
  database_away: {
    level: 'warn',
    when: 'A database could not be used when the agent started or loaded its file, so that its capabilities could not be verified: their calls get AGENT_DATABASE_UNAVAILABLE. The agent tries it again after 1 s to 60 s. Also on standard error.',
    fields: {
      database: 'string: Its name.',
      reason: 'string: What is wrong with it, and what to check.',
      detail: 'string: What the attempt to use it met.',
    },
    example: {
      database: 'shop',
      reason:
        'databases.shop: cannot use the database: nothing listens there: check host and port, and that the server runs',
      detail: 'databases.shop: cannot reach the database: connect ECONNREFUSED 192.0.2.7:5432',
    },
  },
  database_refused: {
    level: 'error',
    when: 'A database that was away can be used again, and its capabilities do not pass the checks, or its account may do more than `require_readonly_account` allows. Its calls get AGENT_DATABASE_UNAVAILABLE until a reload passes. Also on standard error.',
    fields: {
      database: 'string: Its name.',
      faults: 'number: How many faults there are.',
      capabilities: 'string?: The names of those at fault; absent where it is something else.',
      message: 'string: All faults, each on a line of its own.',
      detail: 'string?: What the database said.',
    },
    example: {
      database: 'shop',
      faults: 1,
      capabilities: 'count_orders',
      message: 'capabilities.count_orders.sql (line 12, column 10): the database refuses the statement',
    },
  },
  database_back: {
    level: 'info',
    when: 'A connection to the lost database could be made again, which the agent tries by itself, too; or a database that was away has been verified.',
    fields: {
      ...WHICH_DATABASE,
      away_ms: 'number: Milliseconds since it was lost.',
    },
    example: { away_ms: 2310 },
  },
  worker_ended: {
    level: 'warn',
    when: 'A worker has ended though it should run; with `runtime.workers` above 1 only. It is started again; calls that it has had for more than a second fail, the others are run once more. Also on standard error.',
    fields: {
      ...WHICH_DATABASE,
      worker: 'number: Which one, from 0.',
      code: 'number?: The exit code of its process; absent after a signal.',
      signal: 'string?: The signal that ended its process.',
      restart_in_ms: 'number: Milliseconds until it is started again.',
      detail:
        'string: The end of what it wrote to standard error, or that it said nothing for too long and was killed.',
    },
    example: { worker: 1, signal: 'SIGKILL', restart_in_ms: 100, detail: '' },
  },
  account_finding: {
    level: 'warn',
    when: 'At start, and at a reload where it was not found the last time: the database account may do more than read. One for each finding.',
    fields: {
      ...WHICH_DATABASE,
      problem: 'string: What it may do.',
      remedy:
        'string: The statement that takes it away. For a superuser, and an owner of the database, a schema or a table: the statements that make another account, which may read what the capabilities name.',
      detail: 'string?: What the database said.',
    },
    example: {
      problem: 'the account may create temporary tables in database library',
      remedy: 'REVOKE TEMPORARY ON DATABASE library FROM PUBLIC',
    },
  },
  account_audited: {
    level: 'warn',
    when: 'After the findings, when the agent starts or reloads in spite of them. Also on standard error.',
    fields: { findings: 'number: How many there are.' },
    example: { findings: 1 },
  },
  startup_fault: {
    level: 'error',
    when: 'The agent does not start. One for each fault; the fault without `detail` is printed as well.',
    fields: {
      path: 'string: The key of the capability file.',
      message: 'string: What is wrong.',
      detail: 'string: What the database said; empty when it was not asked.',
      hint: 'string?: The line of the SQL, and what the database advises or has to be granted.',
    },
    example: {
      path: 'capabilities.find_book.sql',
      message: 'is refused by the database (a table or view does not exist, or is not on the search path)',
      detail: 'relation "boook" does not exist',
      hint: 'line 2 of the SQL',
    },
  },
  startup_warning: {
    level: 'warn',
    when: 'The file may stay so, but some calls will fail, or what it says is hardly meant. What is weaker with a database than with PostgreSQL is one, too, which a running agent writes to standard error as well. `svc-agent check` prints it as well. At a reload what was not found the last time.',
    fields: {
      path: 'string: The key of the capability file.',
      message: 'string: What is wrong, and how to fix it.',
    },
    example: {
      path: 'capabilities.find_book.params.size',
      message: 'may be negative, and is used in LIMIT or OFFSET, which then fails: add minimum: 0 (or 1)',
    },
  },
  reloaded: {
    level: 'info',
    when: 'What the capability file holds now is served, by each link unless `links_waiting` says otherwise. Also on standard error.',
    fields: {
      trigger: 'string: `SIGHUP`; `watch`: a file changed, with `--watch`.',
      capabilities: 'number: How many are served.',
      added: 'string?: Names; absent where there are none.',
      changed:
        'string?: Names of the capabilities that the file or the database defines differently than before, separated by commas.',
      removed: 'string?: Names of the capabilities that are no longer served, separated by commas.',
      database_changed: 'boolean: Whether `database` changed, so that new connections replaced the old ones.',
      links_replaced: 'number: Links to gateways that were replaced; 0 if callers see no difference.',
      links_waiting:
        'number: Links that still serve the former file, because no new link could be made within 10 s; the agent keeps trying.',
      duration_ms: 'number: From the trigger, or the end of the reload before.',
    },
    example: {
      trigger: 'SIGHUP',
      capabilities: 12,
      added: 'find_author',
      changed: 'find_book, list_books',
      database_changed: false,
      links_replaced: 1,
      links_waiting: 0,
      duration_ms: 812,
    },
  },
  reload_refused: {
    level: 'error',
    when: 'Something is wrong with what the capability file holds now, or with its database: what was served before serves on. Also on standard error.',
    fields: {
      trigger: 'string: As in `reloaded`.',
      faults: 'number: How many there are.',
      capabilities: 'string?: Names of the capabilities at fault; absent where it is something else.',
      message: 'string: Each fault, with its place, on a line of its own.',
      detail: 'string?: What the database said of them.',
      duration_ms: 'number: As in `reloaded`.',
    },
    example: {
      trigger: 'watch',
      faults: 1,
      capabilities: 'find_book',
      message: 'capabilities.find_book.sql (line 12, column 10): there is no such column',
      detail: 'capabilities.find_book.sql: column "titel" does not exist (42703)',
      duration_ms: 640,
    },
  },
  reverified: {
    level: 'info',
    when: 'Every capability has been verified again and still passes; with `runtime.reverify` only.',
    fields: {
      capabilities: 'number: How many.',
      duration_ms: 'number: How long that took.',
    },
    example: { capabilities: 12, duration_ms: 590 },
  },
  drift: {
    level: 'warn',
    when: 'Capabilities do not pass any more when they are verified again, since the database has changed; they are served on. Each time that they are verified, with `runtime.reverify` only. Also on standard error.',
    fields: {
      faults: 'number: How many there are.',
      capabilities: 'string?: Names of the capabilities.',
      message: 'string: Each fault, with its place, on a line of its own.',
      detail: 'string?: What the database said of them.',
      duration_ms: 'number: How long verifying took.',
    },
    example: {
      faults: 1,
      capabilities: 'find_book',
      message: 'capabilities.find_book.sql (line 12, column 10): there is no such column',
      detail: 'capabilities.find_book.sql: column "title" does not exist (42703)',
      duration_ms: 590,
    },
  },
  crashed: {
    level: 'error',
    when: 'A fault of the agent itself; it ends with exit code 1. Please report it. Also on standard error.',
    fields: { detail: 'string: The fault with its stack.' },
    example: { detail: 'Error: ...' },
  },
  shutting_down: {
    level: 'info',
    when: 'A signal asks for the end. Calls in flight are finished, for at most 25 s. Also on standard error.',
    fields: {
      signal: 'string: The signal.',
      in_flight: 'number: Calls that run or wait.',
    },
    example: { signal: 'SIGTERM', in_flight: 2 },
  },
};
