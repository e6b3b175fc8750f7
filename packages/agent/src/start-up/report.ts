import type { AgentConfig } from '../config/model.ts';
import type { Offer } from '../config/load.ts';
import type { Fault } from '../capabilities/fault.ts';
import type { Capability } from '../capabilities/model.ts';
import type { AccountFinding, AccountNote, PreparedCapability } from '../databases/driver/driver.ts';
import type { VerificationFault } from '../databases/driver/errors.ts';
import type { Finding } from '../lint/finding.ts';

/** What to check; plain data, as are the reports, because the checks run in a child process. */
export interface StartUpOrder {
  /** The capability file. */
  readonly file: string;
  /** Of the file; absent where it cannot be read. The child could not read a pipe such as /dev/stdin of the agent. */
  readonly content: Uint8Array | undefined;
  /** Leaves out what only the database can tell. */
  readonly offline: boolean;
  /** The name of the one capability that is wanted, for whose sake the others and the account go unchecked. */
  readonly only?: string | undefined;
  /** Whether capabilities that pass are looked at for what makes them hard to use. */
  readonly lint?: boolean;
  /** Whether a database that cannot be used costs its own capabilities only, unless the file requires all; absent: no. */
  readonly toleratesAway?: boolean;
  /** Whether an agent serves calls meanwhile: only regular files are read then. */
  readonly isRunning?: boolean;
}

/** Capabilities that have been verified, to be verified again. */
export interface ReverifyOrder {
  readonly reverify: AgentConfig;
}

/** Empty where everything that was found at the start still holds. */
export interface ReverifyReport {
  readonly faults: readonly VerificationFault[];
}

/** Databases that had not been verified when the agent began to serve this, and answer now. */
export interface ArrivalOrder {
  readonly arrived: readonly string[];
  readonly served: Pick<VerifiedAgent, 'config' | 'narrowed'>;
}

/** What is served from now on, and what came of each database of the order. */
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

/** What was read, by path: the capability file, and those that it names for secrets and certificates. */
export type FileDigests = Readonly<Record<string, string>>;

export interface WellFormed {
  readonly step: 'well_formed';
  readonly files: FileDigests;
  readonly capabilities: number;
  readonly logging: AgentConfig['logging'];
  /** Absent where the agent does not ask who calls. */
  readonly identity?: IdentitySummary;
  /** How many processes run the calls; absent where it is the agent alone. */
  readonly workers?: number;
  /** Names of the databases; absent where the file has only one, unnamed. */
  readonly databases?: readonly string[];
}

/** What `identity` means for the file, as `svc-agent check --json` prints it. */
export interface IdentitySummary {
  readonly trust: 'token' | 'gateway';
  readonly accepts_keys: boolean;
  readonly max_age_s?: number;
  /** Names of those whose tokens the agent verifies. */
  readonly issuers: readonly string[];
  /** How many take something from who calls. */
  readonly capabilities: number;
}

export type StartUpOutcome =
  | { readonly step: 'refused'; readonly faults: readonly VerificationFault[] }
  /** Offline: each statement can be read. */
  | {
      readonly step: 'readable';
      readonly warnings: readonly Fault[];
      /** Where `lint` was asked for. */
      readonly lint?: readonly Finding[];
    }
  | {
      readonly step: 'verified';
      readonly verified: VerifiedAgent;
      /** What is allowed, and fails at some calls or is hardly meant. */
      readonly warnings: readonly Fault[];
      /** What the account may do beyond reading. */
      readonly findings: readonly AuditFinding[];
      /** What else they may do, where a command asks that has to tell it. */
      readonly notes?: readonly AuditNote[];
      /** Where `lint` was asked for. */
      readonly lint?: readonly Finding[];
    };

/** An agent that has passed every check. */
export interface VerifiedAgent {
  /** Its parameters narrowed to what the database takes. */
  readonly config: AgentConfig;
  /** As the file has them: those capabilities whose parameters were narrowed. */
  readonly narrowed: readonly Capability[];
  /** One for each capability of the configuration that has been verified. */
  readonly prepared: readonly PreparedCapability[];
  /** Databases with capabilities that have not been verified. */
  readonly unverified: readonly UnverifiedDatabase[];
  /** The description that callers get: the UTF-8 text of a `Description`. */
  readonly description: Uint8Array;
}

export interface UnverifiedDatabase {
  readonly name: string;
  /** `away`: it cannot be used, and is tried again; `refused`: it can, and is not what the file says. */
  readonly state: 'away' | 'refused';
  readonly faults: readonly VerificationFault[];
}

export interface AuditNote extends AccountNote {
  /** As in `AuditFinding`. */
  readonly database?: string;
}

export interface AuditFinding extends AccountFinding {
  /** Whose account it is; absent where the file has only one, unnamed. */
  readonly database?: string;
  /** Database text, for the log file only. */
  readonly detail?: string;
}

/** Whose offers to read; plain data, as is the report, because a child process reads them. */
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

/** A capability to add to a capability file; plain data, as is the report, because a child process does it. */
export interface AdditionOrder {
  /** The capability file. */
  readonly addTo: string;
  readonly content: Uint8Array;
  readonly name: string;
  readonly sql: string;
  /** The database that it is to ask; absent where the file says or has only one. */
  readonly database?: string | undefined;
}

export type AdditionReport =
  | { readonly step: 'refused'; readonly faults: readonly VerificationFault[] }
  | {
      /** The whole file passes the checks with it. */
      readonly step: 'proposed';
      readonly content: Uint8Array;
      /** What is new, not indented. */
      readonly section: string;
      readonly warnings: readonly Fault[];
    };
