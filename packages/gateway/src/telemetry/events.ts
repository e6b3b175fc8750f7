import type { KeysEvent } from '@svc/identity';

/** Everything the gateway reports. Only `telemetry/` turns events into log records and metrics. */
export type GatewayEvent =
  | { readonly event: 'listening'; readonly url: string; readonly address: string; readonly port: number }
  | { readonly event: 'metrics_listening'; readonly address: string; readonly port: number }
  | {
      readonly event: 'console_listening';
      readonly url: string;
      readonly address: string;
      readonly port: number;
    }
  /** A wrong token was sent to the console. */
  | { readonly event: 'console_token_refused'; readonly source: string }
  | {
      readonly event: 'accept_failed';
      readonly address: string;
      readonly port: number;
      readonly message: string;
    }
  | RequestEvent
  | {
      readonly event: 'agent_connected';
      /** Only with several services. */
      readonly service?: string | undefined;
      readonly conn_id: string;
      readonly instance_id: string;
      readonly key_id: string;
      readonly source: string;
      readonly capabilities: number;
    }
  | {
      readonly event: 'agent_disconnected';
      readonly conn_id: string;
      readonly instance_id: string;
      readonly reason: string;
    }
  | { readonly event: 'agent_rejected'; readonly source: string; readonly reason: string }
  /** Once for each process of an agent that is too old to hold more than one link. */
  | {
      readonly event: 'agent_single_link';
      readonly conn_id: string;
      readonly instance_id: string;
      readonly source: string;
    }
  /** An agent that looks for further links reaches only this process again and again. Once for each search. */
  | {
      readonly event: 'links_short';
      readonly instance_id: string;
      readonly source: string;
      readonly replicas: number;
      readonly links_per_replica: number;
    }
  | { readonly event: 'fleet_changed'; readonly replicas: number; readonly replicas_before: number }
  /** The name of GATEWAY_REPLICAS cannot be looked up; the last count, `replicas`, remains valid. */
  | {
      readonly event: 'replicas_lookup_failed';
      readonly name: string;
      readonly reason: string;
      readonly replicas: number;
    }
  | { readonly event: 'replicas_lookup_back'; readonly name: string; readonly replicas: number }
  | {
      /** Once for each difference; the description of the first agent, which is the newest, is served. */
      readonly event: 'descriptions_differ';
      readonly capability: string;
      readonly instance_id: string;
      readonly key_id: string;
      readonly other_instance_id: string;
      readonly other_key_id: string;
    }
  | KeysEvent
  | { readonly event: 'shared_limits_lost'; readonly message: string }
  | { readonly event: 'shared_limits_back' }
  | { readonly event: 'revocations_unknown'; readonly message: string }
  /** Only of keys with a record. */
  | { readonly event: 'keys_revoked'; readonly key_ids: readonly string[] }
  | KeysReloaded
  | {
      /** Once for the same contents. `message` has a line for every fault. */
      readonly event: 'keys_reload_failed';
      readonly faults: number;
      readonly message: string;
    }
  | {
      /** A worker ended unexpectedly. */
      readonly event: 'worker_ended';
      readonly worker: number;
      /** Empty if it ended by itself. */
      readonly signal: string;
      /** -1 if a signal ended it. */
      readonly code: number;
      readonly restart_in_ms: number;
    }
  | { readonly event: 'shutting_down'; readonly signal: string; readonly in_flight: number }
  | { readonly event: 'config_warning'; readonly message: string }
  | { readonly event: 'internal_error'; readonly request_id: string; readonly message: string };

/** The differences, as names separated by commas; absent without one. Never a secret. */
export interface ServiceChanges {
  readonly keys_added?: string | undefined;
  readonly keys_changed?: string | undefined;
  readonly keys_removed?: string | undefined;
  readonly agent_keys_added?: string | undefined;
  readonly agent_keys_removed?: string | undefined;
  readonly services_added?: string | undefined;
  readonly services_removed?: string | undefined;
  /** Services. */
  readonly issuers_changed?: string | undefined;
}

/** How the files of keys and services have changed; `services` and `keys` are the present numbers. */
interface KeysReloaded extends ServiceChanges {
  readonly event: 'keys_reloaded';
  readonly services: number;
  readonly keys: number;
}

/** One per HTTP request, or per call of an MCP batch. Unknown values are empty strings; `route` is the template, not the path. */
export interface RequestEvent extends Partial<CallerRecord> {
  readonly event: 'request';
  readonly request_id: string;
  readonly api_key_name: string;
  readonly capability: string;
  readonly http_status: number;
  readonly method: string;
  readonly route: string;
  readonly source: string;
  readonly duration_ms: number;
  readonly error_code: string;
  /** Only if traces are made; empty for a request that belongs to none. */
  readonly trace_id?: string | undefined;
  /** `01` if that trace is recorded, else `00`. */
  readonly trace_flags?: string | undefined;
  readonly mcp_method?: string | undefined;
  readonly service?: string | undefined;
}

/** Further fields of requests to a gateway that takes tokens. Never a token, and only these of its claims. */
export interface CallerRecord {
  readonly principal: string;
  /** The name of the issuer, as configured. */
  readonly issuer: string;
  readonly subject: string;
  readonly client_id: string;
  readonly token_id: string;
  readonly auth_failure: string;
}

/** For a request whose caller is not known, or not yet. */
export const UNKNOWN_CALLER: CallerRecord = {
  principal: '',
  issuer: '',
  subject: '',
  client_id: '',
  token_id: '',
  auth_failure: '',
};

export type Observe = (event: GatewayEvent) => void;

/** To each of `observers`, which may get more. */
export function observeAll(observers: readonly Observe[]): Observe {
  return (event) => {
    for (const observe of observers) observe(event);
  };
}
