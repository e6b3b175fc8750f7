/** The oldest server that is tested; `server_version_num`. */
const OLDEST = 130_000;

/** They parse SQL by parsers of their own, so what PostgreSQL's parser says of a statement proves nothing there. */
const OTHER_PARSERS: readonly (readonly [told: RegExp, name: string])[] = [
  [/CockroachDB/i, 'CockroachDB'],
  [/Redshift/i, 'Amazon Redshift'],
  [/openGauss|GaussDB/i, 'openGauss'],
  [/Materialize/i, 'Materialize'],
  [/RisingWave/i, 'RisingWave'],
  [/CrateDB/i, 'CrateDB'],
  [/QuestDB/i, 'QuestDB'],
];
const YUGABYTE = /-YB-/;

/** Why a server that speaks PostgreSQL's protocol is not PostgreSQL; undefined for one that may be. */
export function whyOther(told: string): string | undefined {
  const name = OTHER_PARSERS.find(([pattern]) => pattern.test(told))?.[1];
  return name === undefined
    ? undefined
    : `it is ${name}, which reads SQL by a parser of its own: what is proved for PostgreSQL does not hold there`;
}

export function warningOf(told: string): string | undefined {
  return YUGABYTE.test(told)
    ? 'the server is YugabyteDB, on which the agent is not tested: it has the parser of PostgreSQL, and storage and transactions of its own'
    : undefined;
}

export interface ServerFacts {
  /** NaN when the server does not tell. */
  readonly version: number;
  readonly standardConformingStrings: string | null;
}

/** Why a server cannot be used, and what to do. Holds nothing that is secret. */
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
