import type { Given } from '@svc/edge';
import type { Catalog, CatalogSource } from '../../databases/driver/catalog.ts';
import type { DatabaseError } from '../../databases/driver/errors.ts';
import { chooseTables } from '../../proposals/choose-tables.ts';
import type { Proposal } from '../../proposals/model.ts';
import { propose } from '../../proposals/propose.ts';
import { EXIT, type ExitCode } from '../command.ts';

export const READ_TIMEOUT_MS = 60_000;
const MAX_CAPABILITIES = 40;

/** Ends the command with a message for standard error. */
export class Refused extends Error {
  readonly exitCode: ExitCode;
  /** What the database says; never for standard error. */
  readonly detail: string | undefined;
  constructor(message: string, exitCode: ExitCode = EXIT.usage, detail?: string) {
    super(message);
    this.exitCode = exitCode;
    this.detail = detail;
  }
}

/** What of a database is to be proposed. */
export interface Wanted {
  readonly schemas: readonly string[];
  readonly tables: readonly string[];
  readonly exclude: readonly string[];
  readonly include: readonly string[];
  readonly max: number;
}

/** Throws Refused. */
export function wantedOf(given: Given): Wanted {
  return {
    schemas: given.values('schema'),
    tables: given.values('tables'),
    exclude: given.values('exclude'),
    include: given.values('include'),
    max: maxOf(given.value('max')),
  };
}

/** Throws Refused if nothing can be proposed. */
export function makeProposal(source: CatalogSource, catalog: Catalog, wanted: Wanted): Proposal {
  const choice = chooseTables(catalog, wanted);
  if (!choice.ok) throw new Refused(choice.problem);
  const proposal = propose(catalog, {
    ...choice,
    max: wanted.max,
    contains: source.contains,
  });
  if (catalog.tables.length === 0) {
    throw new Refused(
      'the database has no table and no view: check its name, the last part of the URL or PGDATABASE',
    );
  }
  if (namesOf(proposal).length === 0) {
    const reasons = catalog.tables.filter(choice.chosen).flatMap(({ unreadable = [] }) => unreadable);
    const others = 'no chosen table or view has a key, or few rows and text columns to search';
    throw new Refused(`nothing can be proposed: ${reasons[0] ?? others}`);
  }
  return proposal;
}

export function namesOf({ tables }: Proposal): readonly string[] {
  return tables.flatMap(({ capabilities }) => capabilities.map(({ name }) => name));
}

function maxOf(typed: string | undefined): number {
  const max = Number(typed ?? MAX_CAPABILITIES);
  if (Number.isSafeInteger(max) && max >= 1) return max;
  throw new Refused('--max must be a whole number from 1 on');
}

export function refusedBy(error: DatabaseError, what: string, exitCode: ExitCode = EXIT.usage): Refused {
  const message = `${what}: ${error.advice ?? 'the database does not answer as it should'}`;
  return new Refused(message, exitCode, error.message);
}
