import type { KeysEvent } from '@svc/identity';

/** Everything that the agent reports. `log` makes records and short lines on standard error of it, `metrics` makes metrics. */
export type AgentEvent =
  | {
      readonly event: 'starting';
      readonly version: string;
      readonly config_file: string;
      readonly capabilities: number;
    }
  | { readonly event: 'metrics_listening'; readonly address: string; readonly port: number }
  | {
      readonly event: 'accept_failed';
      readonly address: string;
      readonly port: number;
      readonly message: string;
    }
  | ({ readonly event: 'connected'; readonly gateway: string; readonly conn_id: string } & LinkPlace)
  | ({
      readonly event: 'disconnected';
      readonly gateway: string;
      readonly reason: string;
      /** Absent when the gateway never accepted the connection. */
      readonly conn_id?: string;
      /** The agent itself has ended it, for example because another connection has taken its place. */
      readonly planned?: boolean;
      /** Absent if the gateway had left, so that another connection was already being dialled. */
      readonly retry_in_ms?: number;
    } & LinkPlace)
  /** The agent holds fewer links than a gateway wants: once until it holds all, and once if it may not hold more. */
  | {
      readonly event: 'links_short';
      readonly gateway: string;
      readonly reason: 'max_links' | 'not_found';
      readonly links: number;
      readonly links_wanted: number;
    }
  | CallEvent
  | KeysEvent
  /** An enum has other labels than at the start; the schema that callers see still has the old ones. */
  | { readonly event: 'labels_changed'; readonly capability: string; readonly params: string }
  /** A call has failed: the border of its page lies between rows that are equal in these fields. */
  | { readonly event: 'paging_tie'; readonly capability: string; readonly fields: string }
  /** An answer that was cut has no `next`: its cursor would be longer than callers may send. */
  | { readonly event: 'cursor_too_long'; readonly capability: string; readonly bytes: number }
  /** Its calls have their own transactions from now on, since a relation that it reads has changed: see `SharingEnded`. */
  | { readonly event: 'sharing_ended'; readonly capability: string }
  /** After that: it has been verified again, and its calls may share transactions. */
  | { readonly event: 'sharing_back'; readonly capability: string }
  | {
      readonly event: 'database_lost';
      /** Absent in this and other events if the file names no databases. */
      readonly database?: string;
      readonly reason: string;
      /** Database text, for the log file only. */
      readonly detail: string;
    }
  | { readonly event: 'database_back'; readonly database?: string; readonly away_ms: number }
  /** A database cannot be used, so that its capabilities could not be verified: their calls are refused until it can. */
  | {
      readonly event: 'database_away';
      readonly database: string;
      readonly reason: string;
      /** Database text, for the log file only. */
      readonly detail: string;
    }
  /** A database can be used again, but lacks what its capabilities need: their calls are refused until a reload. */
  | ({ readonly event: 'database_refused'; readonly database: string } & FaultTexts)
  | {
      readonly event: 'worker_ended';
      readonly database?: string;
      /** From 0. */
      readonly worker: number;
      /** Exactly one of the two, unless its process could not be started. */
      readonly code?: number;
      readonly signal?: string;
      readonly restart_in_ms: number;
      /** The end of its standard error, which may hold database text: for the log file only. */
      readonly detail: string;
    }
  | {
      readonly event: 'account_finding';
      readonly database?: string;
      readonly problem: string;
      readonly remedy: string;
      /** Database text, for the log file only. */
      readonly detail?: string;
    }
  /** After the findings, if the agent starts in spite of them. */
  | { readonly event: 'account_audited'; readonly findings: number }
  | {
      readonly event: 'startup_fault';
      readonly path: string;
      readonly message: string;
      readonly detail: string;
      /** The line of the SQL, and what the database advises. */
      readonly hint?: string;
    }
  /** Allowed, but it fails for some calls, or is probably not intended. */
  | { readonly event: 'startup_warning'; readonly path: string; readonly message: string }
  | ReloadedEvent
  | ReloadRefusedEvent
  /** What is served has been verified again and has passed. */
  | { readonly event: 'reverified'; readonly capabilities: number; readonly duration_ms: number }
  /** What is served has been verified again and does not pass, since the database has changed. It is still served. */
  | ({ readonly event: 'drift'; readonly duration_ms: number } & FaultTexts)
  | { readonly event: 'crashed'; readonly detail: string }
  | { readonly event: 'shutting_down'; readonly signal: string; readonly in_flight: number };

/** What asked for a reload: a signal, or a file that changed under `--watch`. */
export type ReloadTrigger = 'SIGHUP' | 'watch';

/** What the files hold now is served. Names are in the order of the file, absent if there are none. */
export interface ReloadedEvent {
  readonly event: 'reloaded';
  readonly trigger: ReloadTrigger;
  /** How many are served. */
  readonly capabilities: number;
  readonly added?: string;
  readonly changed?: string;
  readonly removed?: string;
  /** Whether connections to another database, or with another account, have replaced those before. */
  readonly database_changed: boolean;
  /** Links that were replaced, since callers see another description. */
  readonly links_replaced: number;
  /** Links that still serve what was there before, because they have not been replaced yet. */
  readonly links_waiting: number;
  readonly duration_ms: number;
}

/** What the checks found, as texts of a record. */
export interface FaultTexts {
  readonly faults: number;
  /** Names of the capabilities at fault; absent if something else is. */
  readonly capabilities?: string;
  /** All faults, each on a line of its own. */
  readonly message: string;
  /** Database text, for the log file only. */
  readonly detail?: string;
}

/** Something is wrong with what the files hold: what was served before is still served. */
export interface ReloadRefusedEvent extends FaultTexts {
  readonly event: 'reload_refused';
  readonly trigger: ReloadTrigger;
  readonly duration_ms: number;
}

/** Where a link leads; absent if the gateway does not say. */
export interface LinkPlace {
  readonly replica_id?: string;
  readonly worker?: number;
}

/** Who calls; only if the capability file has `identity`, and empty if it is not known. */
export interface CallerFields {
  readonly principal?: string;
  /** `iss` of the token. */
  readonly issuer?: string;
  readonly client_id?: string;
  /** Absent if the caller is not known. */
  readonly verified_by?: 'token' | 'gateway';
}

/** One per call that reached the agent. */
export interface CallEvent extends CallerFields {
  readonly event: 'call';
  readonly request_id: string;
  /** Empty for a token. */
  readonly api_key_name: string;
  readonly capability: string;
  /** `OK` or an error code. */
  readonly outcome: string;
  readonly duration_ms: number;
  readonly rows: number;
  readonly bytes: number;
  readonly traceparent?: string;
  /** Only if traces are made. */
  readonly trace_id?: string;
  /** `01` if that trace is recorded, else `00`. */
  readonly trace_flags?: string;
  /** Database text, for the log file only. */
  readonly detail?: string;
}

export type Observe = (event: AgentEvent) => void;
