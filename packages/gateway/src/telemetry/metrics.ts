import type { AddDuration, MetricsRegister, Sample } from '@svc/edge';
import type { TokenCounters } from '@svc/identity';
import type { Observe } from './events.ts';

/** What is read at each scrape, so that no call pays for it. */
export interface GatewayState {
  readonly requestsInFlight: () => number;
  /** Whether samples have the label `service`; those of agents are then counted for each service. */
  readonly hasServices: boolean;
  /** Whether files of keys or services are read again. */
  readonly reloads: boolean;
  /** Of the links of agents; undefined if none connects. */
  readonly agents:
    | {
        readonly connections: () => number | readonly Sample[];
        readonly callsInFlight: () => number | readonly Sample[];
      }
    | undefined;
  /** Undefined if agents have one link. */
  readonly fleet: FleetState | undefined;
  readonly resultBytesReserved: () => number;
  readonly authentication: () => {
    readonly cacheHits: number;
    readonly cacheMisses: number;
    readonly slotsInUse: number;
    readonly slots: number;
  };
  /** Undefined if the gateway takes no tokens. */
  readonly tokens: (() => TokenCounters) | undefined;
  /** Undefined if no Valkey is configured. */
  readonly valkey: (() => ValkeyCounters) | undefined;
  readonly logRecordsLost: () => number;
  /** Undefined if no traces are made. */
  readonly tracesDropped?: (() => number) | undefined;
  /** Undefined without workers. */
  readonly workerRestarts?: () => number;
  /** Calls of this worker to agents of others; undefined without workers. */
  readonly siblingCalls?: (() => number) | undefined;
  /** Whether an agent of the service, connected or away, has this capability. */
  readonly isCapability: (name: string, service: string | undefined) => boolean;
}

export interface ValkeyCounters {
  /** Undefined in a worker: its primary has the connection. */
  readonly up: boolean | undefined;
  /** A worker counts the answers of its primary that came too late, the primary those of Valkey. */
  readonly leases: { readonly granted?: number; readonly refused?: number; readonly unanswered: number };
}

/** Services that get a label. They come and go while the gateway runs; a services file has no more at once. */
const SERVICES_MAX = 100;

interface FleetState {
  readonly replicas: () => number;
  readonly linksMissing: () => number;
  readonly singleLinks: () => number;
}

interface Series {
  readonly service: string;
  readonly route: string;
  readonly capability: string;
  readonly addDuration: AddDuration;
  readonly statuses: Map<number, number>;
}

/** Counts events in plain numbers. Callers can choose neither names nor number of the series: see `isCapability`. */
export function createGatewayMetrics(register: MetricsRegister, state: GatewayState): Observe {
  const series: Series[] = [];
  const byRoute = new Map<string, Map<string, Series>>();
  const errors = new Map<string, Map<string, number>>();
  const named = new Set<string>();
  const { hasServices } = state;
  const ofService = hasServices ? ['service'] : [];
  const durationsOf = register.addDurations({
    name: 'svc_gateway_request_duration_seconds',
    type: 'histogram',
    labels: [...ofService, 'route', 'capability'],
    help: 'Time from the head of a request to the start of its answer, or to the loss of its caller.',
  });
  let connected = 0;
  let disconnected = 0;
  let rejected = 0;
  let isReloadRefused = false;

  function label(service: string | undefined): string {
    if (service === undefined || service === '') return '';
    if (!named.has(service) && named.size >= SERVICES_MAX) return '';
    named.add(service);
    return service;
  }

  function seriesOf(service: string, route: string, capability: string): Series {
    const place = service === '' ? route : `${service} ${route}`;
    let ofRoute = byRoute.get(place);
    if (ofRoute === undefined) byRoute.set(place, (ofRoute = new Map<string, Series>()));
    const known = ofRoute.get(capability);
    if (known !== undefined) return known;
    if (capability !== '' && !state.isCapability(capability, service)) return seriesOf(service, route, '');
    const created: Series = {
      service,
      route,
      capability,
      addDuration: durationsOf([...(hasServices ? [service] : []), route, capability]),
      statuses: new Map(),
    };
    ofRoute.set(capability, created);
    series.push(created);
    return created;
  }

  const observe: Observe = (event) => {
    switch (event.event) {
      case 'request': {
        const service = hasServices ? label(event.service) : '';
        const { addDuration, statuses } = seriesOf(service, event.route, event.capability);
        statuses.set(event.http_status, (statuses.get(event.http_status) ?? 0) + 1);
        addDuration(event.duration_ms, event.trace_flags === '01' ? event.trace_id : undefined);
        if (event.error_code !== '') {
          const counts = errors.get(service) ?? new Map<string, number>();
          if (counts.size === 0) errors.set(service, counts);
          counts.set(event.error_code, (counts.get(event.error_code) ?? 0) + 1);
        }
        return;
      }
      case 'agent_connected':
        connected++;
        return;
      case 'agent_disconnected':
        disconnected++;
        return;
      case 'agent_rejected':
        rejected++;
        return;
      case 'keys_reloaded':
        isReloadRefused = false;
        return;
      case 'keys_reload_failed':
        isReloadRefused = true;
        return;
      default:
    }
  };

  const add = createAddReadings(register);
  const { counter, gauge } = add;
  counter(
    'svc_gateway_requests_total',
    'Requests answered, each call of an MCP batch by itself. The route is a template, empty for an unknown path; the capability is empty when no agent has it; status 499 is a caller that went away or cancelled the call.',
    () =>
      series.flatMap(({ service, route, capability, statuses }) =>
        Array.from(statuses, ([status, count]): Sample => [
          [...(hasServices ? [service] : []), route, capability, status],
          count,
        ]),
      ),
    [...ofService, 'route', 'capability', 'status'],
  );
  counter(
    'svc_gateway_request_errors_total',
    'Requests that failed, by error code; over MCP also where the HTTP status is 200.',
    () =>
      [...errors].flatMap(([service, counts]) =>
        Array.from(counts, ([code, count]): Sample => [[...(hasServices ? [service] : []), code], count]),
      ),
    [...ofService, 'code'],
  );
  gauge(
    'svc_gateway_requests_in_flight',
    'HTTP requests accepted and not yet answered.',
    state.requestsInFlight,
  );
  const { agents } = state;
  if (agents !== undefined) {
    gauge(
      'svc_gateway_agent_connections',
      'Connections of agents that may take calls.',
      agents.connections,
      ofService,
    );
    if (state.fleet !== undefined) addFleetReadings(add, state.fleet);
    gauge(
      'svc_gateway_agent_calls_in_flight',
      'Calls that those agents have and have not answered, whether they run or wait there.',
      agents.callsInFlight,
      ofService,
    );
    counter(
      'svc_gateway_agent_connects_total',
      'Agents that connected, proved their key and described their capabilities.',
      () => connected,
    );
    counter(
      'svc_gateway_agent_disconnects_total',
      'Connections of such agents that ended.',
      () => disconnected,
    );
    counter(
      'svc_gateway_agent_rejections_total',
      'Connections to the agent endpoint that were turned away; the log has the reasons.',
      () => rejected,
    );
  }
  gauge(
    'svc_gateway_result_reserved_bytes',
    'Memory reserved for large results that are arriving or being delivered.',
    state.resultBytesReserved,
  );
  counter(
    'svc_gateway_log_records_lost_total',
    'Log records lost while standard output could not be written and 16 MiB of them waited.',
    state.logRecordsLost,
  );
  counter(
    'svc_gateway_auth_cache_hits_total',
    'Presented API keys that were in the cache of verified keys.',
    () => state.authentication().cacheHits,
  );
  counter(
    'svc_gateway_auth_cache_misses_total',
    'Presented API keys that were not in it, wrong keys among them.',
    () => state.authentication().cacheMisses,
  );
  gauge(
    'svc_gateway_bcrypt_slots_busy',
    'API keys whose bcrypt hash is being verified.',
    () => state.authentication().slotsInUse,
  );
  gauge(
    'svc_gateway_bcrypt_slots',
    'How many may be verified at once; a further one is answered 429.',
    () => state.authentication().slots,
  );
  if (state.tokens !== undefined) addTokenReadings(add, state.tokens);
  if (state.valkey !== undefined) addValkeyReadings(add, state.valkey);
  if (state.tracesDropped !== undefined) {
    counter(
      'svc_gateway_traces_dropped_total',
      'Spans lost because too many waited or the collector did not take them. Only with GATEWAY_TRACES.',
      state.tracesDropped,
    );
  }
  if (state.workerRestarts !== undefined) {
    counter(
      'svc_gateway_worker_restarts_total',
      'Workers that ended and were replaced. Only with GATEWAY_WORKERS above 1.',
      state.workerRestarts,
    );
  }
  if (state.siblingCalls !== undefined) {
    counter(
      'svc_gateway_sibling_calls_total',
      'Calls that reached their agent over another worker. Only with GATEWAY_WORKERS above 1.',
      state.siblingCalls,
    );
  }
  if (state.reloads) {
    gauge(
      'svc_gateway_reload_refused',
      '1 while the files of keys or services were refused when they were last read, so that what they held before counts, else 0. Only if there are such files.',
      () => Number(isReloadRefused),
    );
  }
  return observe;
}

type AddReading = (
  name: string,
  help: string,
  read: Parameters<MetricsRegister['addReading']>[1],
  labels?: readonly string[],
) => void;
type AddReadings = Readonly<Record<'counter' | 'gauge', AddReading>>;

function createAddReadings(register: MetricsRegister): AddReadings {
  const adder =
    (type: 'counter' | 'gauge'): AddReading =>
    (name, help, read, labels = []) =>
      register.addReading({ name, type, labels, help }, read);
  return { counter: adder('counter'), gauge: adder('gauge') };
}

function addFleetReadings({ gauge }: AddReadings, fleet: FleetState): void {
  gauge(
    'svc_gateway_replicas',
    'How many replicas there are, as agents are told: GATEWAY_REPLICAS.',
    fleet.replicas,
  );
  gauge(
    'svc_gateway_links_missing',
    'Links that the agents connected to this replica should hold to it beside those that they hold.',
    fleet.linksMissing,
  );
  gauge(
    'svc_gateway_agent_single_links',
    'Agents that are too old to hold more than one link, where there are several replicas or workers.',
    fleet.singleLinks,
  );
}

function addTokenReadings({ counter }: AddReadings, tokens: () => TokenCounters): void {
  const here = 'Only if GATEWAY_ISSUERS_JSON has an issuer.';
  counter(
    'svc_gateway_token_cache_hits_total',
    `Presented access tokens whose verification, good or bad, was remembered. ${here}`,
    () => tokens().cacheHits,
  );
  counter(
    'svc_gateway_token_cache_misses_total',
    `Presented access tokens that had to be verified, or were refused unread. ${here}`,
    () => tokens().cacheMisses,
  );
  counter(
    'svc_gateway_issuer_keys_fetch_failures_total',
    `Fetches of the keys of an issuer that failed; the log has the reasons. ${here}`,
    () => tokens().fetchFailures,
  );
}

function addValkeyReadings(
  { counter, gauge }: AddReadings,
  valkey: NonNullable<GatewayState['valkey']>,
): void {
  const here = 'Only with GATEWAY_VALKEY_URL.';
  gauge('svc_gateway_valkey_up', `1 while Valkey answers in time, else 0. ${here}`, () => {
    const { up } = valkey();
    return up === undefined ? [] : Number(up);
  });
  counter(
    'svc_gateway_leases_total',
    `Leases of shared rate limits that Valkey was asked for: granted, refused because the limit is used up, or unanswered in time, when this gateway or one of its workers decided alone. ${here}`,
    () => Object.entries(valkey().leases).map(([result, count]): Sample => [[result], count]),
    ['result'],
  );
}
