import type { StartUpReport, WellFormed } from '../start-up/report.ts';

/** What a warm process is to check; plain data, like its answer. */
export interface WarmOrder {
  readonly warm: true;
  /** The capability file. */
  readonly file: string;
  /** Absent where it cannot be read. */
  readonly content: Uint8Array | undefined;
}

export interface WarmReport {
  readonly outcome: Exclude<StartUpReport, WellFormed | { readonly step: 'readable' }>;
  /** What was read, the capability file first. */
  readonly files: readonly ReadRecord[];
  /** How many capabilities the database was asked about; the verdict on the others stands. */
  readonly asked: number;
}

/** A file as it was when it was read. */
export interface ReadRecord {
  readonly name: string;
  readonly fingerprint: string;
}
