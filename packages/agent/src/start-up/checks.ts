import { isDeepStrictEqual } from 'node:util';
import { nearestWithin } from '@svc/edge';
import { keyFileProblem } from '@svc/identity';
import { DESCRIPTION_MAX_BYTES } from '@svc/protocol';
import { describeCapabilities } from '../capabilities/openapi/describe-capabilities.ts';
import type { Fault } from '../capabilities/fault.ts';
import type { AgentConfig, IdentityConfig } from '../config/model.ts';
import type { Capability } from '../capabilities/model.ts';
import { loadConfig, loadOffer } from '../config/load.ts';
import type { Verification } from '../databases/driver/driver.ts';
import { databaseFault, isDatabaseAway, type VerificationFault } from '../databases/driver/errors.ts';
import { UNNAMED } from '../capabilities/database-names.ts';
import { lintBy } from '../lint/lint-by.ts';
import { digestingReader } from './file-digest.ts';
import { driversOf, loadFileVerifier, type UnusableDatabases } from './file-verifier.ts';
import { readonlyAccountFaults } from './readonly-account.ts';
import { readRegularFile } from './read-regular-file.ts';
import type {
  ArrivalOrder,
  ArrivalReport,
  IdentitySummary,
  OffersOrder,
  OffersReport,
  ReverifyOrder,
  ReverifyReport,
  StartUpOrder,
  StartUpOutcome,
  StartUpReport,
  VerifiedAgent,
} from './report.ts';

/** Checks the file, then its statements, on the database unless `offline`. Resolves when all is reported and closed. */
export async function runStartUpChecks(
  {
    file,
    content,
    offline,
    only,
    lint = false,
    toleratesAway = false,
    isRunning = false,
    link,
    withoutProcesses,
  }: StartUpOrder,
  env: Readonly<Record<string, string | undefined>>,
  report: (report: StartUpReport) => void,
): Promise<void> {
  const { readFile, files } = digestingReader(file, content, isRunning ? readRegularFile : undefined);
  const linted = loadConfig({ path: file, env, readFile, link, withoutProcesses });
  if ('faults' in linted) {
    report({ step: 'malformed', files, faults: linted.faults });
    return;
  }
  const { config } = linted;
  const { identity } = config;
  const faults = identity === undefined ? [] : await checkKeyFiles(identity);
  if (faults.length > 0) {
    report({ step: 'malformed', files, faults });
    return;
  }
  report({
    step: 'well_formed',
    files,
    service: config.service,
    capabilities: config.capabilities.length,
    logging: config.logging,
    ...(identity === undefined ? {} : { identity: summaryOf(identity, config.capabilities) }),
    ...(config.runtime.workers === 1 ? {} : { workers: config.runtime.workers }),
    ...(Object.hasOwn(config.databases, UNNAMED) ? {} : { databases: Object.keys(config.databases) }),
  });
  const known = {
    warnings: linted.warnings,
    lint,
    toleratesAway: toleratesAway && !config.runtime.requireAllDatabases,
  };
  const outcome =
    only === undefined ? await checkAll(config, known, offline) : await askForOne(config, only, known);
  report(withCauses(outcome, linted.warnings));
}

/** What is wrong with the key files that the capability file names: without its keys an issuer's tokens are refused. */
export async function checkKeyFiles({ issuers, issuerPositions }: IdentityConfig): Promise<readonly Fault[]> {
  const problems = await Promise.all(issuers.map((issuer) => keyFileProblem(issuer)));
  return problems.flatMap((message, index) => {
    const position = issuerPositions[index];
    const path = `identity.issuers.${index}`;
    return message === undefined ? [] : [{ path, message, ...(position === undefined ? {} : { position }) }];
  });
}

interface KnownOfFile {
  readonly warnings: readonly Fault[];
  readonly lint: boolean;
  /** Whether a database that cannot be used makes only its own capabilities unavailable. */
  readonly toleratesAway: boolean;
}

/** A warning about the text of a statement may be the cause of its refusal. */
function withCauses(outcome: StartUpOutcome, warnings: readonly Fault[]): StartUpOutcome {
  if (outcome.step !== 'refused') return outcome;
  const { faults } = outcome;
  const causes = warnings.filter(
    ({ path }) =>
      path.endsWith('.sql') && faults.some((fault) => fault.path.startsWith(path.slice(0, -'sql'.length))),
  );
  return { ...outcome, faults: [...causes, ...faults] };
}

function summaryOf(
  { trust, acceptsKeys, maxAgeSeconds, issuers }: IdentityConfig,
  capabilities: readonly Capability[],
): IdentitySummary {
  const pinned = capabilities.filter(({ params }) => params.some(({ from }) => from !== undefined));
  return {
    trust,
    accepts_keys: acceptsKeys,
    ...(maxAgeSeconds === undefined ? {} : { max_age_s: maxAgeSeconds }),
    issuers: issuers.map(({ name }) => name),
    capabilities: pinned.length,
  };
}

async function checkAll(config: AgentConfig, known: KnownOfFile, offline: boolean): Promise<StartUpOutcome> {
  const tooLong = longDescriptionFaults(descriptionOf(config));
  if (tooLong.length > 0) return { step: 'refused', faults: tooLong };
  return offline ? readStatements(config, known) : askDatabases(config, known);
}

/** The checks that need no database: each statement as it is written. */
async function readStatements(
  { databases, capabilities }: AgentConfig,
  known: KnownOfFile,
): Promise<StartUpOutcome> {
  const verifier = await loadFileVerifier(driversOf(databases));
  const faults = await verifier.readStatements(capabilities);
  if (faults.length > 0) return { step: 'refused', faults };
  const warnings = [...known.warnings, ...(await verifier.findWarnings(capabilities))];
  if (!known.lint) return { step: 'readable', warnings };
  return { step: 'readable', warnings, lint: await lintBy(verifier, capabilities, warnings) };
}

async function askForOne(config: AgentConfig, name: string, ofFile: KnownOfFile): Promise<StartUpOutcome> {
  const wanted = config.capabilities.filter((capability) => capability.name === name);
  const [capability] = wanted;
  if (capability !== undefined)
    return askDatabases(ofDatabase(config, capability.database ?? UNNAMED, wanted), ofFile, false);
  const known = config.capabilities.map((capability) => capability.name);
  const close = nearestWithin(name, known);
  const hint = close === undefined ? '' : `: did you mean ${close}?`;
  return {
    step: 'refused',
    faults: [{ path: 'capabilities', message: `there is no capability of that name${hint}` }],
  };
}

async function askDatabases(config: AgentConfig, known: KnownOfFile, audits = true): Promise<StartUpOutcome> {
  const verifier = await loadFileVerifier(driversOf(config.databases));
  const databases = verifier.open(config.databases);
  try {
    const isUsable = ({ database = UNNAMED }: Capability): boolean => !unusable.has(database);
    const mayServe = (): boolean =>
      unusable.size === 0 || (known.toleratesAway && unusable.size < Object.keys(config.databases).length);
    const refused = (): StartUpOutcome => ({ step: 'refused', faults: [...unusable.values()] });
    let unusable = await databases.ping();
    if (!mayServe()) return refused();
    const { lost, faults, ...passed } = await databases.verifyUsable(config.capabilities.filter(isUsable));
    unusable = new Map([...unusable, ...lost]);
    if (!mayServe()) return refused();
    if (faults.length > 0) return { step: 'refused', faults };
    let findings = audits ? await databases.auditAccounts(config.capabilities, unusable) : [];
    // A database whose account could not be audited may be away by now.
    if (known.toleratesAway && findings.some(({ detail }) => detail !== undefined)) {
      unusable = new Map([...unusable, ...(await databases.ping())]);
      if (!mayServe()) return refused();
      findings = findings.filter(({ database = UNNAMED }) => !unusable.has(database));
    }
    // A starting agent reports findings only; an account that could not be audited cannot be described.
    const describes = audits && !known.toleratesAway && findings.every(({ detail }) => detail === undefined);
    const notes = describes ? await databases.describeAccounts(config.capabilities) : [];
    const capabilities = passed.capabilities.filter(isUsable);
    const warnings = [
      ...known.warnings,
      ...(await verifier.findWarnings(config.capabilities)),
      ...(await databases.findWarnings(config.capabilities.filter(isUsable))),
    ];
    const verified = verifiedAgent(config, { ...passed, capabilities }, unusable);
    // Longer than before by what the database adds, such as the labels of enums.
    const tooLong = longDescriptionFaults(verified.description);
    if (tooLong.length > 0) return { step: 'refused', faults: tooLong };
    if (!known.lint) return { step: 'verified', verified, warnings, findings, notes };
    const lint = await lintBy(databases, capabilities, warnings);
    return { step: 'verified', verified, warnings, findings, notes, lint };
  } catch (error) {
    return { step: 'refused', faults: [databaseFault(error)] };
  } finally {
    await databases.close();
  }
}

/** The agent of a file, with what its databases have let pass of it. `away` are those that could not be asked. */
export function verifiedAgent(
  config: AgentConfig,
  { capabilities, prepared }: Pick<Verification, 'capabilities' | 'prepared'>,
  away: UnusableDatabases,
): VerifiedAgent {
  const passed = new Map(capabilities.map((each) => [each.name, each]));
  const checked = {
    ...config,
    capabilities: config.capabilities.map((each) => passed.get(each.name) ?? each),
  };
  return {
    config: checked,
    narrowed: config.capabilities.filter((declared) => {
      const verified = passed.get(declared.name);
      return verified !== undefined && !isDeepStrictEqual(declared.params, verified.params);
    }),
    prepared: prepared.filter(({ capability }) => passed.has(capability)),
    description: descriptionOf(checked),
    unverified: Array.from(away, ([name, fault]) => ({ name, state: 'away', faults: [fault] })),
  };
}

function descriptionOf(config: AgentConfig): Uint8Array {
  return Buffer.from(JSON.stringify(describeCapabilities(config)));
}

/** Gateways close the link of an agent whose description is longer. */
function longDescriptionFaults({ length }: Uint8Array): readonly VerificationFault[] {
  if (length <= DESCRIPTION_MAX_BYTES) return [];
  const megabytes = (bytes: number): string => `${Math.ceil((10 * bytes) / 1024 ** 2) / 10}MB`;
  const message =
    `are described to callers in ${megabytes(length)}, but a gateway takes ${megabytes(DESCRIPTION_MAX_BYTES)} of an ` +
    'agent: shorten descriptions, examples and enums, or divide the capabilities among several agents';
  return [{ path: 'capabilities', message }];
}

/** Verifies databases that answer now. One that does not pass keeps no other from being served. */
export async function verifyArrived({ arrived, served }: ArrivalOrder): Promise<ArrivalReport> {
  const narrowedNames = new Map(served.narrowed.map((each) => [each.name, each]));
  const declared = served.config.capabilities.map((each) => narrowedNames.get(each.name) ?? each);
  const databases: ArrivalReport['databases'][number][] = [];
  let { capabilities } = served.config;
  let narrowed = served.narrowed;
  for (const name of arrived) {
    const own = ofDatabase(served.config, name, declared);
    const outcome = await askDatabases(own, { warnings: [], lint: false, toleratesAway: true });
    const faults =
      outcome.step === 'verified'
        ? readonlyAccountFaults(own, outcome.findings)
        : outcome.step === 'refused'
          ? outcome.faults
          : [];
    if (outcome.step !== 'verified' || faults.length > 0) {
      databases.push({ name, state: faults.every(isDatabaseAway) ? 'away' : 'refused', faults });
      continue;
    }
    const { verified, warnings, findings } = outcome;
    const passed = new Map(verified.config.capabilities.map((each) => [each.name, each]));
    capabilities = capabilities.map((each) => passed.get(each.name) ?? each);
    narrowed = [...narrowed.filter((each) => !passed.has(each.name)), ...verified.narrowed];
    databases.push({ name, state: 'verified', prepared: verified.prepared, warnings, findings });
  }
  return {
    databases,
    capabilities,
    narrowed,
    description: descriptionOf({ ...served.config, capabilities }),
  };
}

/** The file with one of its databases alone. */
function ofDatabase(config: AgentConfig, name: string, capabilities: readonly Capability[]): AgentConfig {
  return {
    ...config,
    databases: Object.fromEntries(Object.entries(config.databases).filter(([each]) => each === name)),
    capabilities: capabilities.filter(({ database = UNNAMED }) => database === name),
  };
}

/** Verifies capabilities again whose databases answer: the databases may have changed since. */
export async function reverify({ reverify: config }: ReverifyOrder): Promise<ReverifyReport> {
  const verifier = await loadFileVerifier(driversOf(config.databases));
  const databases = verifier.open(config.databases);
  try {
    const away = await databases.ping();
    const { faults, prepared } = await databases.verify(
      config.capabilities.filter(({ database = UNNAMED }) => !away.has(database)),
    );
    return { faults: [...away.values(), ...faults], prepared };
  } catch (error) {
    return { faults: [databaseFault(error)], prepared: [] };
  } finally {
    await databases.close();
  }
}

/** Reads what the files offer and whether their statements can be read, without a database. */
export async function readOffers(
  { offersOf }: OffersOrder,
  env: Readonly<Record<string, string | undefined>>,
): Promise<OffersReport> {
  const offers: OffersReport['offers'][number][] = [];
  for (const { file, content } of offersOf) {
    const loaded = loadOffer({ path: file, env, readFile: () => content });
    if ('faults' in loaded) {
      offers.push(loaded);
      continue;
    }
    const { drivers, ...offer } = loaded.offer;
    const verifier = await loadFileVerifier(drivers);
    const faults = await verifier.readStatements(offer.capabilities);
    offers.push(faults.length > 0 ? { faults } : { offer });
  }
  return { offers };
}
