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
