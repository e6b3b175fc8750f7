import type { Capability } from '../capabilities/model.ts';
import type { Fault } from '../capabilities/fault.ts';
import type { PreparedCapability } from '../databases/driver/driver.ts';
import type { Finding } from '../lint/finding.ts';
import type { FileDigests, StartUpOutcome } from '../start-up/report.ts';

/** What a warm process is to check; plain data, like its answer. */
export interface WarmOrder {
  readonly warm: true;
  /** The capability file. */
  readonly file: string;
  /** Absent where it cannot be read. */
  readonly content: Uint8Array | undefined;
}

export interface WarmReport {
  readonly outcome: Exclude<StartUpOutcome, { readonly step: 'readable' }>;
  readonly files: FileDigests;
  /** How many capabilities the database was asked about; the verdict on the others stands. */
  readonly asked: number;
}

/** What a warm process is to tell of capabilities that have passed; plain data, like its answer. */
export type InspectOrder =
  | {
      readonly inspect: 'lint';
      readonly capabilities: readonly Capability[];
      /** Of their check. */
      readonly warnings: readonly Fault[];
    }
  | { readonly inspect: 'plan'; readonly database: string; readonly prepared: PreparedCapability };

export interface InspectReport {
  readonly inspected:
    | { readonly lint: readonly Finding[] }
    /** Database text. */
    | { readonly plan: readonly string[] }
    /** Why there is neither. Database text. */
    | { readonly problem: string };
}
