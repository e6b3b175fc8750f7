import { nearestWithin } from '@svc/edge';
import { describeCapabilities } from '../capabilities/openapi/describe-capabilities.ts';
import type { Fault } from '../capabilities/fault.ts';
import type { AgentConfig, IdentityConfig } from '../config/model.ts';
import type { Capability } from '../capabilities/model.ts';
import { loadConfig } from '../config/load.ts';
import { databaseFault } from '../databases/errors.ts';
import { sectionOf, UNNAMED } from '../capabilities/database-names.ts';
import { lintCapabilities } from '../lint/lint-capabilities.ts';
import { checkKeyFiles } from './check-key-files.ts';
import { digestingReader } from './file-digest.ts';
import { driversOf, loadFileVerifier } from './file-verifier.ts';
import { readRegularFile } from './read-regular-file.ts';
import type {
  IdentitySummary,
  ReverifyOrder,
  ReverifyReport,
  StartUpOrder,
  StartUpOutcome,
  StartUpReport,
} from './report.ts';

/**
 * Checks the file, then its statements, on the database unless `offline`, and reports what it finds.
 * When it has resolved, everything is reported and no connection is open.
 */
export async function runStartUpChecks(
  { file, content, offline, only, lint = false, isRunning = false }: StartUpOrder,
  env: Readonly<Record<string, string | undefined>>,
  report: (report: StartUpReport) => void,
): Promise<void> {
  const { readFile, files } = digestingReader(file, content, isRunning ? readRegularFile : undefined);
  const linted = loadConfig({ path: file, env, readFile });
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
    capabilities: config.capabilities.length,
    logging: config.logging,
    ...(identity === undefined ? {} : { identity: summaryOf(identity, config.capabilities) }),
    ...(config.runtime.workers === 1 ? {} : { workers: config.runtime.workers }),
    ...(Object.hasOwn(config.databases, UNNAMED) ? {} : { databases: Object.keys(config.databases) }),
  });
  const known = { warnings: linted.warnings, lint };
  const outcome =
    only === undefined
      ? await (offline ? readStatements(config, known) : askDatabases(config, known))
      : await askForOne(config, only, known);
  report(withCauses(outcome, linted.warnings));
}

interface KnownOfFile {
  readonly warnings: readonly Fault[];
  readonly lint: boolean;
}

/** A statement that is refused may be so because of what its text is warned of. */
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
  const unordered = await verifier.findUnordered(capabilities);
  return { step: 'readable', warnings, lint: lintCapabilities(capabilities, { warnings, unordered }) };
}

async function askForOne(config: AgentConfig, name: string, known: KnownOfFile): Promise<StartUpOutcome> {
  const capabilities = config.capabilities.filter((capability) => capability.name === name);
  if (capabilities.length === 1) {
    const [{ database = UNNAMED } = {}] = capabilities;
    const own = Object.entries(config.databases).filter(([each]) => each === database);
    return askDatabases({ ...config, databases: Object.fromEntries(own), capabilities }, known, false);
  }
  const close = nearestWithin(
    name,
    config.capabilities.map((capability) => capability.name),
  );
  const hint = close === undefined ? '' : `: did you mean ${close}?`;
  return { step: 'refused', faults: [{ path: 'capabilities', message: `has none of that name${hint}` }] };
}

async function askDatabases(config: AgentConfig, known: KnownOfFile, audits = true): Promise<StartUpOutcome> {
  const verifier = await loadFileVerifier(driversOf(config.databases));
  const databases = verifier.open(config.databases);
  try {
    const away = await databases.ping();
    if (away.length > 0) return { step: 'refused', faults: away };
    const { prepared, capabilities, faults } = await databases.verify(config.capabilities);
    if (faults.length > 0) return { step: 'refused', faults };
    const checked = { ...config, capabilities };
    const description = Buffer.from(JSON.stringify(describeCapabilities(checked)));
    const findings = audits ? await databases.auditAccounts(config.capabilities) : [];
    const warnings = [
      ...known.warnings,
      ...(await verifier.findWarnings(config.capabilities)),
      ...(await databases.findWarnings(config.capabilities)),
    ];
    const verified = { config: checked, prepared, description };
    if (!known.lint) return { step: 'verified', verified, warnings, findings };
    const unordered = await databases.findUnordered(capabilities);
    const lint = lintCapabilities(capabilities, { warnings, unordered });
    return { step: 'verified', verified, warnings, findings, lint };
  } catch (error) {
    return { step: 'refused', faults: [databaseFault(error)] };
  } finally {
    await databases.close();
  }
}

/** Only what the databases say of the capabilities may have changed since they were verified: those that answer. */
export async function reverify({ reverify: config }: ReverifyOrder): Promise<ReverifyReport> {
  const verifier = await loadFileVerifier(driversOf(config.databases));
  const databases = verifier.open(config.databases);
  try {
    const away = await databases.ping();
    const silent = new Set(away.map(({ path }) => path));
    const { faults } = await databases.verify(
      config.capabilities.filter(({ database = UNNAMED }) => !silent.has(sectionOf(database).join('.'))),
    );
    return { faults: [...away, ...faults] };
  } catch (error) {
    return { faults: [databaseFault(error)] };
  } finally {
    await databases.close();
  }
}
