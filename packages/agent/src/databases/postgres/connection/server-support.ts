/** The oldest server that is tested; `server_version_num`. */
const OLDEST = 130_000;

export interface ServerFacts {
  /** `server_version_num`, e.g. 150018; NaN when the server does not tell. */
  readonly version: number;
  readonly standardConformingStrings: string | null;
}

/** Why a server cannot be used, and what to do; undefined for one that can. Holds nothing that is secret. */
export function whyUnsupported({ version, standardConformingStrings }: ServerFacts): string | undefined {
  if (!(version >= OLDEST)) {
    const found = Number.isNaN(version)
      ? 'of an unknown version'
      : `PostgreSQL ${Math.floor(version / 10_000)}`;
    return `it is ${found}: PostgreSQL 13 or later is needed`;
  }
  if (standardConformingStrings !== 'on') {
    return (
      'standard_conforming_strings is off, so the server reads quotes differently from the check of the SQL: ' +
      'set it to on for this account'
    );
  }
  return undefined;
}
