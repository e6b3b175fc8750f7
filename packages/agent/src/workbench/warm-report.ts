import type { Capability } from '../capabilities/model.ts';
import type { Fault } from '../capabilities/fault.ts';
import type { PreparedCapability } from '../databases/driver/driver.ts';
import type { Finding } from '../lint/finding.ts';
import type { FileDigests, StartUpOutcome } from '../start-up/report.ts';

/** Tells a warm process what to check. Orders and reports are plain data. */
export interface WarmOrder {
  readonly warm: true;
  /** The capability file. */
  readonly file: string;
  /** Absent if it cannot be read. */
  readonly content: Uint8Array | undefined;
}

export interface WarmReport {
  readonly outcome: Exclude<StartUpOutcome, { readonly step: 'readable' }>;
  readonly files: FileDigests;
  /** How many capabilities the database was asked about; the others had passed before. */
  readonly asked: number;
}

/** Asks a warm process about capabilities that have passed. */
export type InspectOrder =
  | {
      readonly inspect: 'lint';
      readonly capabilities: readonly Capability[];
      /** From their check. */
      readonly warnings: readonly Fault[];
    }
  | { readonly inspect: 'plan'; readonly database: string; readonly prepared: PreparedCapability };

export interface InspectReport {
  readonly inspected:
    | { readonly lint: readonly Finding[] }
    /** Database text. */
    | { readonly plan: readonly string[] }
    /** Why neither is known. Database text. */
    | { readonly problem: string };
}
