import type { AddDuration, MetricsRegister, Sample } from '@svc/edge';
import type { TokenCounters } from '@svc/identity';
import type { Observe } from './events.ts';

/** What is read when somebody scrapes, so that no call pays for it. */
export interface GatewayState {
  readonly requestsInFlight: () => number;
  /** Whether samples have the label `service`: then those of agents are of each service by itself. */
  readonly hasServices: boolean;
  /** Whether files of keys or services are read again. */
  readonly reloads: boolean;
  readonly agentConnections: () => number | readonly Sample[];
  readonly agentCallsInFlight: () => number | readonly Sample[];
  /** Undefined where agents have one link. */
  readonly fleet: FleetState | undefined;
  readonly resultBytesReserved: () => number;
  readonly authentication: () => {
    readonly cacheHits: number;
    readonly cacheMisses: number;
    readonly slotsInUse: number;
    readonly slots: number;
  };
  /** Undefined where the gateway takes no tokens. */
  readonly tokens: (() => TokenCounters) | undefined;
  /** Undefined where no Valkey is configured. */
  readonly valkey: (() => ValkeyCounters) | undefined;
  readonly logRecordsLost: () => number;
  /** Undefined where no traces are made. */
  readonly tracesDropped?: (() => number) | undefined;
  /** Undefined where there are none. */
  readonly workerRestarts?: () => number;
  /** Calls of this process to agents of others; undefined where there are none. */
  readonly siblingCalls?: (() => number) | undefined;
  /** Whether an agent of the service, connected or away, has this capability. */
  readonly isCapability: (name: string, service: string | undefined) => boolean;
}

interface ValkeyCounters {
  /** Undefined in a worker. */
  readonly up: boolean | undefined;
  readonly leases: { readonly granted?: number; readonly refused?: number; readonly unanswered: number };
}

/** Services come and go while the gateway runs; how many there are at once is bounded by the same number. */
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

/** Counts events in plain numbers. Callers choose neither names nor number of the series: see `isCapability`. */
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
    help: 'Time from the head of a request to the begin of its answer, or to the loss of its caller.',
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
      case 'listening':
      case 'agent_single_link':
      case 'links_short':
      case 'fleet_changed':
      case 'replicas_lookup_failed':
      case 'replicas_lookup_back':
      case 'metrics_listening':
      case 'console_listening':
      case 'console_token_refused':
      case 'accept_failed':
      case 'shutting_down':
      case 'worker_ended':
      case 'config_warning':
      case 'descriptions_differ':
      case 'keys_fetched':
      case 'keys_fetch_failed':
      case 'shared_limits_lost':
      case 'shared_limits_back':
      case 'revocations_unknown':
      case 'keys_revoked':
      case 'internal_error':
    }
  };

  register.addReading(
    {
      name: 'svc_gateway_requests_total',
      type: 'counter',
      labels: [...ofService, 'route', 'capability', 'status'],
      help: 'Requests answered, each call of an MCP batch by itself. The route is a template, empty for an unknown path; the capability is empty when no agent has it; status 499 is a caller that went away or cancelled the call.',
    },
    () =>
      series.flatMap(({ service, route, capability, statuses }) =>
        Array.from(statuses, ([status, count]): Sample => [
          [...(hasServices ? [service] : []), route, capability, status],
          count,
        ]),
      ),
  );
  register.addReading(
    {
      name: 'svc_gateway_request_errors_total',
      type: 'counter',
      labels: [...ofService, 'code'],
      help: 'Requests that failed, by error code; over MCP also where the HTTP status is 200.',
    },
    () =>
      [...errors].flatMap(([service, counts]) =>
        Array.from(counts, ([code, count]): Sample => [[...(hasServices ? [service] : []), code], count]),
      ),
  );
  register.addReading(
    {
      name: 'svc_gateway_requests_in_flight',
      type: 'gauge',
      labels: [],
      help: 'HTTP requests accepted and not yet answered.',
    },
    state.requestsInFlight,
  );
  register.addReading(
    {
      name: 'svc_gateway_agent_connections',
      type: 'gauge',
      labels: ofService,
      help: 'Connections of agents that may take calls.',
    },
    state.agentConnections,
  );
  if (state.fleet !== undefined) addFleetReadings(register, state.fleet);
  register.addReading(
    {
      name: 'svc_gateway_agent_calls_in_flight',
      type: 'gauge',
      labels: ofService,
      help: 'Calls that those agents have and have not answered, whether they run or wait there.',
    },
    state.agentCallsInFlight,
  );
  register.addReading(
    {
      name: 'svc_gateway_agent_connects_total',
      type: 'counter',
      labels: [],
      help: 'Agents that connected, proved their key and described their capabilities.',
    },
    () => connected,
  );
  register.addReading(
    {
      name: 'svc_gateway_agent_disconnects_total',
      type: 'counter',
      labels: [],
      help: 'Connections of such agents that ended.',
    },
    () => disconnected,
  );
  register.addReading(
    {
      name: 'svc_gateway_agent_rejections_total',
      type: 'counter',
      labels: [],
      help: 'Connections to the agent endpoint that were turned away; the log has the reasons.',
    },
    () => rejected,
  );
  register.addReading(
    {
      name: 'svc_gateway_result_reserved_bytes',
      type: 'gauge',
      labels: [],
      help: 'Memory reserved for large results that are arriving or being delivered.',
    },
    state.resultBytesReserved,
  );
  register.addReading(
    {
      name: 'svc_gateway_log_records_lost_total',
      type: 'counter',
      labels: [],
      help: 'Log records lost while standard output could not be written and 16 MiB of them waited.',
    },
    state.logRecordsLost,
  );
  register.addReading(
    {
      name: 'svc_gateway_auth_cache_hits_total',
      type: 'counter',
      labels: [],
      help: 'Presented API keys that were in the cache of verified keys.',
    },
    () => state.authentication().cacheHits,
  );
  register.addReading(
    {
      name: 'svc_gateway_auth_cache_misses_total',
      type: 'counter',
      labels: [],
      help: 'Presented API keys that were not in it, wrong keys among them.',
    },
    () => state.authentication().cacheMisses,
  );
  register.addReading(
    {
      name: 'svc_gateway_bcrypt_slots_busy',
      type: 'gauge',
      labels: [],
      help: 'API keys whose bcrypt hash is being verified.',
    },
    () => state.authentication().slotsInUse,
  );
  register.addReading(
    {
      name: 'svc_gateway_bcrypt_slots',
      type: 'gauge',
      labels: [],
      help: 'How many may be verified at once; a further one is answered 429.',
    },
    () => state.authentication().slots,
  );
  if (state.tokens !== undefined) addTokenReadings(register, state.tokens);
  if (state.valkey !== undefined) addValkeyReadings(register, state.valkey);
  if (state.tracesDropped !== undefined) {
    register.addReading(
      {
        name: 'svc_gateway_traces_dropped_total',
        type: 'counter',
        labels: [],
        help: 'Spans lost because too many waited or the collector did not take them. With GATEWAY_TRACES.',
      },
      state.tracesDropped,
    );
  }
  if (state.workerRestarts !== undefined) {
    register.addReading(
      {
        name: 'svc_gateway_worker_restarts_total',
        type: 'counter',
        labels: [],
        help: 'Workers that ended and were replaced. Where GATEWAY_WORKERS is above 1.',
      },
      state.workerRestarts,
    );
  }
  if (state.siblingCalls !== undefined) {
    register.addReading(
      {
        name: 'svc_gateway_sibling_calls_total',
        type: 'counter',
        labels: [],
        help: 'Calls that reached their agent over another worker. Where GATEWAY_WORKERS is above 1.',
      },
      state.siblingCalls,
    );
  }
  if (state.reloads) {
    register.addReading(
      {
        name: 'svc_gateway_reload_refused',
        type: 'gauge',
        labels: [],
        help: '1 while the files of keys or services were refused when they were last read, so that what they held before counts, else 0. Where there are such files.',
      },
      () => Number(isReloadRefused),
    );
  }
  return observe;
}

function addFleetReadings(register: MetricsRegister, fleet: FleetState): void {
  register.addReading(
    {
      name: 'svc_gateway_replicas',
      type: 'gauge',
      labels: [],
      help: 'How many replicas there are, as agents are told: GATEWAY_REPLICAS.',
    },
    fleet.replicas,
  );
  register.addReading(
    {
      name: 'svc_gateway_links_missing',
      type: 'gauge',
      labels: [],
      help: 'Links that the agents connected to this replica should hold to it beside those that they hold.',
    },
    fleet.linksMissing,
  );
  register.addReading(
    {
      name: 'svc_gateway_agent_single_links',
      type: 'gauge',
      labels: [],
      help: 'Agents that are too old to hold more than one link, where there are several replicas or workers.',
    },
    fleet.singleLinks,
  );
}

function addTokenReadings(register: MetricsRegister, tokens: () => TokenCounters): void {
  const here = 'Where GATEWAY_ISSUERS_JSON has an issuer.';
  register.addReading(
    {
      name: 'svc_gateway_token_cache_hits_total',
      type: 'counter',
      labels: [],
      help: `Presented access tokens whose verification, good or bad, was remembered. ${here}`,
    },
    () => tokens().cacheHits,
  );
  register.addReading(
    {
      name: 'svc_gateway_token_cache_misses_total',
      type: 'counter',
      labels: [],
      help: `Presented access tokens that had to be verified, or were refused unread. ${here}`,
    },
    () => tokens().cacheMisses,
  );
  register.addReading(
    {
      name: 'svc_gateway_issuer_keys_fetch_failures_total',
      type: 'counter',
      labels: [],
      help: `Fetches of the keys of an issuer that failed; the log has the reasons. ${here}`,
    },
    () => tokens().fetchFailures,
  );
}

function addValkeyReadings(register: MetricsRegister, valkey: NonNullable<GatewayState['valkey']>): void {
  const here = 'With GATEWAY_VALKEY_URL.';
  register.addReading(
    {
      name: 'svc_gateway_valkey_up',
      type: 'gauge',
      labels: [],
      help: `1 while Valkey answers in time, else 0. ${here}`,
    },
    () => {
      const { up } = valkey();
      return up === undefined ? [] : Number(up);
    },
  );
  register.addReading(
    {
      name: 'svc_gateway_leases_total',
      type: 'counter',
      labels: ['result'],
      help: `Leases of shared rate limits that Valkey was asked for: granted, refused because the limit is used up, or unanswered in time, when this gateway or one of its workers decided alone. ${here}`,
    },
    () => Object.entries(valkey().leases).map(([result, count]): Sample => [[result], count]),
  );
}
