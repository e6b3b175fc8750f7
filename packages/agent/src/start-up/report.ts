import type { AgentConfig } from '../config/model.ts';
import type { LinkOverride, Offer } from '../config/load.ts';
import type { Fault } from '../capabilities/fault.ts';
import type { Capability, ServiceInfo } from '../capabilities/model.ts';
import type { AccountFinding, AccountNote, PreparedCapability } from '../databases/driver/driver.ts';
import type { VerificationFault } from '../databases/driver/errors.ts';
import type { Finding } from '../lint/finding.ts';

/** What to check; plain data, as are the reports, because the checks run in a child process. */
export interface StartUpOrder {
  readonly file: string;
  /** The file's content, if it can be read: the child could not read a pipe such as the agent's /dev/stdin. */
  readonly content: Uint8Array | undefined;
  /** Asks no database. */
  readonly offline: boolean;
  /** Checks only the capability of this name, and no account. */
  readonly only?: string | undefined;
  /** Also looks for what makes capabilities hard to use. */
  readonly lint?: boolean;
  /** A database that cannot be used makes only its own capabilities unavailable, unless the file requires all databases. */
  readonly toleratesAway?: boolean;
  /** The agent serves calls meanwhile, so only regular files are read. */
  readonly isRunning?: boolean;
  /** Replaces the link of the file, which need not have one then. */
  readonly link?: LinkOverride | undefined;
  /** The agent can start no processes: what needs them is a fault. */
  readonly withoutProcesses?: boolean;
}

/** Capabilities that have been verified, to be verified again. */
export interface ReverifyOrder {
  readonly reverify: AgentConfig;
}

export interface ReverifyReport {
  /** Empty if everything still passes. */
  readonly faults: readonly VerificationFault[];
  /** One for each capability that passes. */
  readonly prepared: readonly PreparedCapability[];
}

/** Databases that could not be verified before, and answer now. */
export interface ArrivalOrder {
  readonly arrived: readonly string[];
  readonly served: Pick<VerifiedAgent, 'config' | 'narrowed'>;
}

/** What is served from now on, and the outcome for each database of the order. */
export interface ArrivalReport extends Pick<VerifiedAgent, 'description' | 'narrowed'> {
  readonly capabilities: readonly Capability[];
  readonly databases: readonly (
    | UnverifiedDatabase
    | {
        readonly name: string;
        readonly state: 'verified';
        readonly prepared: readonly PreparedCapability[];
        readonly warnings: readonly Fault[];
        readonly findings: readonly AuditFinding[];
      }
  )[];
}

/** What the checks report: `MalformedFile` alone, or `WellFormed` and then a `StartUpOutcome`. */
export type StartUpReport = MalformedFile | WellFormed | StartUpOutcome;

interface MalformedFile {
  readonly step: 'malformed';
  readonly files: FileDigests;
  readonly faults: readonly Fault[];
}

/** By path: the capability file, and the files for secrets and certificates that it names. */
export type FileDigests = Readonly<Record<string, string>>;

export interface WellFormed {
  readonly step: 'well_formed';
  readonly files: FileDigests;
  readonly service: ServiceInfo;
  readonly capabilities: number;
  readonly logging: AgentConfig['logging'];
  /** Absent if the agent does not ask who calls. */
  readonly identity?: IdentitySummary;
  /** How many processes run the calls; absent if only the agent does. */
  readonly workers?: number;
  /** Absent if the file has only one database, without a name. */
  readonly databases?: readonly string[];
}

/** The meaning of `identity`, as `svc-agent check --json` prints it. */
export interface IdentitySummary {
  readonly trust: 'token' | 'gateway';
  readonly accepts_keys: boolean;
  readonly max_age_s?: number;
  /** Names of the issuers whose tokens the agent verifies. */
  readonly issuers: readonly string[];
  /** How many take something from their caller. */
  readonly capabilities: number;
}

export type StartUpOutcome =
  | { readonly step: 'refused'; readonly faults: readonly VerificationFault[] }
  /** Offline: each statement can be parsed. */
  | {
      readonly step: 'readable';
      readonly warnings: readonly Fault[];
      readonly lint?: readonly Finding[];
    }
  | {
      readonly step: 'verified';
      readonly verified: VerifiedAgent;
      readonly warnings: readonly Fault[];
      readonly findings: readonly AuditFinding[];
      /** Only for commands that print them. */
      readonly notes?: readonly AuditNote[];
      readonly lint?: readonly Finding[];
    };

export interface VerifiedAgent {
  /** With parameters narrowed to what the database accepts. */
  readonly config: AgentConfig;
  /** The capabilities with narrowed parameters, as in the file. */
  readonly narrowed: readonly Capability[];
  /** One for each capability that has been verified. */
  readonly prepared: readonly PreparedCapability[];
  /** Databases with capabilities that have not been verified. */
  readonly unverified: readonly UnverifiedDatabase[];
  /** What callers get: the UTF-8 text of a `Description`. */
  readonly description: Uint8Array;
}

export interface UnverifiedDatabase {
  readonly name: string;
  /** `away`: it cannot be used, and is tried again; `refused`: it can be used, but does not pass the checks. */
  readonly state: 'away' | 'refused';
  readonly faults: readonly VerificationFault[];
}

export interface AuditNote extends AccountNote {
  readonly database?: string;
}

export interface AuditFinding extends AccountFinding {
  /** Absent if the file has only one database, without a name. */
  readonly database?: string;
  /** Database text, for the log file only. */
  readonly detail?: string;
}

export interface OffersOrder {
  readonly offersOf: readonly { readonly file: string; readonly content: Uint8Array }[];
}

/** One for each file of the order. */
export interface OffersReport {
  readonly offers: readonly (
    | { readonly offer: Omit<Offer, 'drivers'> }
    | { readonly faults: readonly Fault[] }
  )[];
}

export interface AdditionOrder {
  readonly addTo: string;
  readonly content: Uint8Array;
  readonly name: string;
  readonly sql: string;
  /** Absent if the file tells, or has only one. */
  readonly database?: string | undefined;
}

export type AdditionReport =
  | { readonly step: 'refused'; readonly faults: readonly VerificationFault[] }
  | {
      /** The whole file passes the checks with the new capability. */
      readonly step: 'proposed';
      readonly content: Uint8Array;
      /** The new part, not indented. */
      readonly section: string;
      readonly warnings: readonly Fault[];
    };
