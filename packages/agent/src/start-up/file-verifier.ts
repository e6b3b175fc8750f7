import type { Fault } from '../capabilities/fault.ts';
import type { Capability } from '../capabilities/model.ts';
import type { StatementDescription } from '../databases/driver/describe-statement.ts';
import type {
  DatabaseConfigs,
  PreparedCapability,
  Verification,
  Verifier,
  VerifierDatabase,
} from '../databases/driver/driver.ts';
import { driverOf } from '../databases/drivers.ts';
import {
  DatabaseError,
  databaseFault,
  ofDatabase,
  type VerificationFault,
} from '../databases/driver/errors.ts';
import { byDatabase, sectionOf, UNNAMED } from '../capabilities/database-names.ts';
import type { AuditFinding, AuditNote } from './report.ts';

/** Proves the capabilities of a file, each with the driver of its database. */
export interface FileVerifier extends Required<Omit<Verifier, 'open'>> {
  open(configs: DatabaseConfigs): FileDatabases;
}

export type UnusableDatabases = ReadonlyMap<string, VerificationFault>;

/** The databases of a file. Their errors name the database that they come from. */
export interface FileDatabases extends Required<
  Pick<VerifierDatabase, 'verify' | 'findUnordered' | 'findClauseAdvice' | 'close'>
> {
  /** The faults of databases that cannot be used, by their names. */
  ping(): Promise<UnusableDatabases>;
  /** As `verify`, without the databases that are lost meanwhile. */
  verifyUsable(
    capabilities: readonly Capability[],
  ): Promise<Verification & { readonly lost: UnusableDatabases }>;
  /** None of a database that does not answer: a warning must not keep the agent from starting. */
  findWarnings(capabilities: readonly Capability[]): Promise<readonly Fault[]>;
  /** What the accounts may do beyond reading. An account that cannot be audited is a finding, too. */
  auditAccounts(
    capabilities: readonly Capability[],
    unusable?: UnusableDatabases,
  ): Promise<readonly AuditFinding[]>;
  /** What else the accounts may do; nothing of a database that does not answer. */
  describeAccounts(capabilities: readonly Capability[]): Promise<readonly AuditNote[]>;
  describe(database: string, name: string, sql: string): Promise<StatementDescription>;
  plan(database: string, prepared: PreparedCapability): Promise<readonly string[]>;
}

export function driversOf(databases: DatabaseConfigs): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(databases).map(([name, { driver }]) => [name, driver]));
}

export async function loadFileVerifier(drivers: Readonly<Record<string, string>>): Promise<FileVerifier> {
  const verifiers = new Map<string, Verifier>();
  for (const [name, driver] of Object.entries(drivers))
    verifiers.set(name, await driverOf(driver).loadVerifier());

  return {
    readStatements: async (capabilities) =>
      inFileOrder(await each(capabilities, verifiers, (own, verifier) => verifier.readStatements(own))),
    findWarnings: async (capabilities) =>
      inFileOrder(await each(capabilities, verifiers, (own, verifier) => verifier.findWarnings(own))),
    findUnordered: async (capabilities) =>
      (await each(capabilities, verifiers, (own, verifier) => verifier.findUnordered(own))).flat(),
    findClauseAdvice: async (capabilities) =>
      (
        await each(capabilities, verifiers, async (own, verifier) => verifier.findClauseAdvice?.(own) ?? [])
      ).flat(),
    open: (configs) =>
      openDatabases(
        new Map(Object.entries(configs).map(([name, config]) => [name, at(verifiers, name).open(config)])),
      ),
  };
}

function openDatabases(databases: ReadonlyMap<string, VerifierDatabase>): FileDatabases {
  /** What is found about the account of each database, with the database's name. */
  async function ofAccounts<Found extends AuditFinding | AuditNote>(
    capabilities: readonly Capability[],
    ask: (database: VerifierDatabase, own: readonly Capability[], name: string) => Promise<readonly Found[]>,
  ): Promise<readonly Found[]> {
    const groups = byDatabase(capabilities);
    const found = Array.from(databases, async ([name, database]) => {
      const own = await ask(database, groups.get(name) ?? [], name);
      return name === UNNAMED ? own : own.map((each) => ({ database: name, ...each }));
    });
    return (await Promise.all(found)).flat();
  }

  return {
    async ping() {
      const faults = Array.from(databases, async ([name, database]) => {
        try {
          await named(name, database.ping());
          return [];
        } catch (error) {
          return [[name, databaseFault(error)] as const];
        }
      });
      return new Map((await Promise.all(faults)).flat());
    },
    async verifyUsable(capabilities) {
      const lost = new Map<string, VerificationFault>();
      const verified = await each(capabilities, databases, (own, database, name) =>
        untold(named(name, database.verify(own)), (error) => {
          lost.set(name, databaseFault(error));
          return NOTHING_VERIFIED;
        }),
      );
      return { ...together(capabilities, verified), lost };
    },
    async verify(capabilities) {
      const verified = await each(capabilities, databases, (own, database) => database.verify(own));
      const [first, ...others] = verified;
      return first !== undefined && others.length === 0 ? first : together(capabilities, verified);
    },
    findWarnings: async (capabilities) =>
      inFileOrder(
        await each(capabilities, databases, (own, database, name) =>
          untold(
            database.findWarnings(own).then((found) => found.map((fault) => inSection(name, fault))),
            () => [],
          ),
        ),
      ),
    findUnordered: async (capabilities) =>
      (await each(capabilities, databases, (own, database) => database.findUnordered(own))).flat(),
    findClauseAdvice: async (capabilities) =>
      (
        await each(capabilities, databases, async (own, database) => database.findClauseAdvice?.(own) ?? [])
      ).flat(),
    auditAccounts: (capabilities, unusable) =>
      ofAccounts<AuditFinding>(capabilities, async (database, own, name) =>
        unusable?.has(name) === true
          ? []
          : untold<readonly AuditFinding[]>(database.auditAccount(own), ({ message }) => [
              { ...UNAUDITED, detail: message },
            ]),
      ),
    describeAccounts: (capabilities) =>
      ofAccounts<AuditNote>(capabilities, (database, own) =>
        untold<readonly AuditNote[]>(database.describeAccount?.(own) ?? Promise.resolve([]), () => []),
      ),
    describe: (database, name, sql) => named(database, at(databases, database).describe(name, sql)),
    plan: (database, prepared) => named(database, at(databases, database).plan(prepared)),
    async close() {
      await Promise.all(Array.from(databases.values(), (database) => database.close()));
    },
  };
}

const NOTHING_VERIFIED: Verification = { prepared: [], capabilities: [], faults: [] };

const UNAUDITED = {
  problem: 'the account could not be audited',
  remedy: 'let it read the system catalog that the database refuses to it',
};

/** Asks, for each database that has capabilities, its own part for the outcome. */
function each<Part, Result>(
  capabilities: readonly Capability[],
  parts: ReadonlyMap<string, Part>,
  ask: (own: readonly Capability[], part: Part, name: string) => Promise<Result>,
): Promise<readonly Result[]> {
  const groups = Array.from(byDatabase(capabilities), ([name, own]) =>
    named(name, ask(own, at(parts, name), name)),
  );
  return Promise.all(groups);
}

/** A fault of a database as a whole belongs to the section of its name. */
function inSection(name: string, fault: Fault): Fault {
  return fault.path === 'database' ? { ...fault, path: sectionOf(name).join('.') } : fault;
}

function at<Part>(parts: ReadonlyMap<string, Part>, name: string): Part {
  const part = parts.get(name);
  if (part === undefined) throw new Error(`the file has no database ${name}`);
  return part;
}

async function named<Result>(name: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw name === UNNAMED || !(error instanceof DatabaseError) ? error : ofDatabase(name, error);
  }
}

/** What the database says, or `otherwise` if it does not answer. */
async function untold<Result>(
  work: Promise<Result>,
  otherwise: (error: DatabaseError) => Result,
): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return otherwise(error);
  }
}

function inFileOrder<Found extends Fault>(groups: readonly (readonly Found[])[]): readonly Found[] {
  const [first, ...others] = groups;
  if (others.length === 0) return first ?? [];
  return groups.flat().toSorted((a, b) => (a.position?.line ?? 0) - (b.position?.line ?? 0));
}

function together(capabilities: readonly Capability[], verified: readonly Verification[]): Verification {
  const passed = new Map(verified.flatMap((each) => each.capabilities.map((one) => [one.name, one])));
  return {
    prepared: verified.flatMap(({ prepared }) => prepared),
    capabilities: capabilities.flatMap(({ name }) => passed.get(name) ?? []),
    faults: inFileOrder(verified.map(({ faults }) => faults)),
  };
}
