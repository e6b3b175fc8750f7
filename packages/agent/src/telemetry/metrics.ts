import type { AddDuration, MetricsRegister, Sample } from '@svc/edge';
import type { Database, TransactionCounts } from '../databases/driver/driver.ts';
import type { Observe } from './events.ts';

/** Read at each scrape, so that calls pay nothing for it. */
export interface AgentState {
  /** Undefined if the agent dials no gateway. */
  readonly links?: (() => LinkCounts) | undefined;
  readonly callsRunning: () => number;
  readonly callsQueued: () => number;
  /** Whether the file names its databases; the names are then a label. */
  readonly databasesNamed: boolean;
  readonly databases: () => Iterable<readonly [name: string, database: DatabaseState]>;
  readonly maxConnectionsOf: (name: string) => number;
  readonly logRecordsLost: () => number;
  readonly tracesDropped?: (() => number) | undefined;
  readonly workerRestarts?: (() => number) | undefined;
}

export interface LinkCounts {
  readonly held: number;
  readonly wanted: number;
  readonly dials: Iterable<readonly [outcome: string, count: number]>;
}

type DatabaseState = Pick<Database, 'connections' | 'isUp' | 'transactions'>;

interface Series {
  readonly addDuration: AddDuration;
  readonly outcomes: Map<string, number>;
  rows: number;
  bytes: number;
}

/** Counts events in plain numbers. Only calls of capabilities that the agent has are events. */
export function createAgentMetrics(register: MetricsRegister, state: AgentState): Observe {
  const byCapability = new Map<string, Series>();
  const durationsOf = register.addDurations({
    name: 'svc_agent_call_duration_seconds',
    type: 'histogram',
    labels: ['capability'],
    help: 'Time from the arrival of a call to its outcome, waiting included.',
  });
  const connections = new Set<string>();
  let connects = 0;
  let failures = 0;
  const reloads = { reloaded: 0, refused: 0 };
  let isRefused = false;
  let drifted = 0;
  const ofDatabase = state.databasesNamed ? ['database'] : [];

  function labelsOf(name: string): readonly string[] {
    return state.databasesNamed ? [name] : [];
  }

  function ofEach(read: (database: DatabaseState, name: string) => number): readonly Sample[] {
    return Array.from(state.databases(), ([name, database]): Sample => [
      labelsOf(name),
      read(database, name),
    ]);
  }

  /** Databases of engines without shared transactions have no samples. */
  function ofTransactions(
    read: (counts: TransactionCounts, labels: readonly string[]) => readonly Sample[],
  ): readonly Sample[] {
    return Array.from(state.databases(), ([name, { transactions }]) =>
      transactions === undefined ? [] : read(transactions, labelsOf(name)),
    ).flat();
  }

  function seriesOf(capability: string): Series {
    const known = byCapability.get(capability);
    if (known !== undefined) return known;
    const created = { addDuration: durationsOf([capability]), outcomes: new Map(), rows: 0, bytes: 0 };
    byCapability.set(capability, created);
    return created;
  }

  const observe: Observe = (event) => {
    switch (event.event) {
      case 'call': {
        const series = seriesOf(event.capability);
        series.outcomes.set(event.outcome, (series.outcomes.get(event.outcome) ?? 0) + 1);
        series.rows += event.rows;
        series.bytes += event.bytes;
        series.addDuration(event.duration_ms, event.trace_flags === '01' ? event.trace_id : undefined);
        return;
      }
      case 'connected':
        connects++;
        connections.add(event.conn_id);
        return;
      case 'disconnected':
        if (event.conn_id === undefined) failures++;
        else connections.delete(event.conn_id);
        return;
      case 'reloaded':
        reloads.reloaded++;
        isRefused = false;
        drifted = 0;
        return;
      case 'reload_refused':
        reloads.refused++;
        isRefused = true;
        return;
      case 'drift':
        drifted = event.capabilities?.split(', ').length ?? 0;
        return;
      case 'reverified':
        drifted = 0;
        return;
      default:
    }
  };

  const adder =
    (type: 'counter' | 'gauge') =>
    (
      name: string,
      help: string,
      read: Parameters<MetricsRegister['addReading']>[1],
      labels: readonly string[] = [],
    ): void =>
      register.addReading({ name, type, labels, help }, read);
  const counter = adder('counter');
  const gauge = adder('gauge');

  const perCapability = (value: (series: Series) => Sample[1]) => (): readonly Sample[] =>
    Array.from(byCapability, ([capability, series]): Sample => [[capability], value(series)]);

  counter(
    'svc_agent_calls_total',
    'Calls answered, by outcome: OK or the code of the error.',
    () =>
      [...byCapability].flatMap(([capability, { outcomes }]) =>
        Array.from(outcomes, ([outcome, count]): Sample => [[capability, outcome], count]),
      ),
    ['capability', 'outcome'],
  );
  counter(
    'svc_agent_rows_total',
    'Rows in the results of calls.',
    perCapability(({ rows }) => rows),
    ['capability'],
  );
  counter(
    'svc_agent_result_bytes_total',
    'Bytes of JSON in the results of calls.',
    perCapability(({ bytes }) => bytes),
    ['capability'],
  );
  gauge(
    'svc_agent_calls_running',
    'Calls that hold one of runtime.max_concurrent_requests.',
    state.callsRunning,
  );
  gauge('svc_agent_calls_queued', 'Calls that wait for one, at most runtime.queue_size.', state.callsQueued);
  const { links } = state;
  if (links !== undefined) {
    gauge(
      'svc_agent_connected',
      '1 while the agent is connected to a gateway that accepted it, else 0.',
      () => (connections.size > 0 ? 1 : 0),
    );
    counter('svc_agent_reconnects_total', 'Connections that a gateway accepted after the first one.', () =>
      Math.max(0, connects - 1),
    );
    counter(
      'svc_agent_connect_failures_total',
      'Attempts to connect that no gateway accepted; the log has the reasons.',
      () => failures,
    );
    gauge('svc_agent_links', 'Links to gateways that accepted them.', () => links().held);
    gauge(
      'svc_agent_links_wanted',
      'How many there should be: one to each worker that the gateways want, at most gateway.max_links.',
      () => links().wanted,
    );
    counter(
      'svc_agent_dials_total',
      'Attempts to make a link: connected; duplicate, left since the agent has that link; full, a worker that takes no more; refused, by key or URL; throttled, HTTP 429 with Retry-After; failed.',
      () => Array.from(links().dials, ([outcome, count]): Sample => [[outcome], count]),
      ['outcome'],
    );
  }
  gauge(
    'svc_agent_database_up',
    '1 while there is a connection to the database or one can be made, else 0.',
    () => ofEach(({ isUp }) => (isUp ? 1 : 0)),
    ofDatabase,
  );
  gauge(
    'svc_agent_database_connections',
    'Connections to the database: idle, busy with a call, or opening.',
    () =>
      Array.from(state.databases(), ([name, { connections }]) =>
        (['idle', 'busy', 'opening'] as const).map((each): Sample => [
          [...labelsOf(name), each],
          connections[each],
        ]),
      ).flat(),
    [...ofDatabase, 'state'],
  );
  gauge(
    'svc_agent_database_connections_max',
    'How many there may be: database.max_connections.',
    () => ofEach((_database, name) => state.maxConnectionsOf(name)),
    ofDatabase,
  );
  gauge(
    'svc_agent_database_waiting_calls',
    'Calls that wait for a connection to the database.',
    () => ofEach(({ connections }) => connections.waiting),
    ofDatabase,
  );
  counter(
    'svc_agent_transactions_total',
    'Transactions in the database: own, of one call, or shared by several; with PostgreSQL only.',
    () =>
      ofTransactions(({ own, shared }, labels) => [
        [[...labels, 'own'], own],
        [[...labels, 'shared'], shared],
      ]),
    [...ofDatabase, 'form'],
  );
  counter(
    'svc_agent_shared_calls_total',
    'Calls that a shared transaction answered; with PostgreSQL only.',
    () => ofTransactions(({ sharedCalls }, labels) => [[labels, sharedCalls]]),
    ofDatabase,
  );
  counter(
    'svc_agent_shared_resends_total',
    'Calls that were sent again in an own transaction, since the shared one answered none; with PostgreSQL only.',
    () => ofTransactions(({ sharedResends }, labels) => [[labels, sharedResends]]),
    ofDatabase,
  );
  counter(
    'svc_agent_log_records_lost_total',
    'Log records lost while the log file could not be written and 16 MiB of them waited.',
    state.logRecordsLost,
  );
  counter(
    'svc_agent_reloads_total',
    'How often the capability file was loaded again: reloaded; refused, since something was wrong.',
    () => Object.entries(reloads).map(([outcome, count]): Sample => [[outcome], count]),
    ['outcome'],
  );
  gauge(
    'svc_agent_reload_refused',
    '1 while the capability file was refused when it was last loaded again, so that an older one is served, else 0.',
    () => (isRefused ? 1 : 0),
  );
  gauge(
    'svc_agent_capabilities_drifted',
    'Capabilities that did not pass when they were verified again, since the database has changed; with runtime.reverify only.',
    () => drifted,
  );
  if (state.tracesDropped !== undefined) {
    counter(
      'svc_agent_traces_dropped_total',
      'Spans lost because too many waited or the collector did not take them; with telemetry.traces only.',
      state.tracesDropped,
    );
  }
  if (state.workerRestarts !== undefined) {
    counter(
      'svc_agent_worker_restarts_total',
      'Workers that were started again after their process had ended; with runtime.workers above 1 only.',
      state.workerRestarts,
    );
  }
  return observe;
}
