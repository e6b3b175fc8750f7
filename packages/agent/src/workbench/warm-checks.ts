import { errorText } from '@svc/edge';
import { UNNAMED } from '../capabilities/database-names.ts';
import type { Capability } from '../capabilities/model.ts';
import { sameCapability } from '../capabilities/same-capability.ts';
import { loadConfig, type LinkOverride } from '../config/load.ts';
import type { AgentConfig } from '../config/model.ts';
import type { DatabaseConfigs, PreparedCapability } from '../databases/driver/driver.ts';
import { databaseFault, type VerificationFault } from '../databases/driver/errors.ts';
import { lintBy } from '../lint/lint-by.ts';
import { checkKeyFiles, verifiedAgent } from '../start-up/checks.ts';
import { digestingReader } from '../start-up/file-digest.ts';
import {
  driversOf,
  loadFileVerifier,
  type FileDatabases,
  type FileVerifier,
} from '../start-up/file-verifier.ts';
import type { AuditFinding } from '../start-up/report.ts';
import type { InspectOrder, InspectReport, WarmOrder, WarmReport } from './warm-report.ts';

interface Verdict {
  /** As it stood in the file. */
  readonly defined: Capability;
  /** Its parameters narrowed to what the database takes. */
  readonly capability: Capability;
  readonly prepared: PreparedCapability;
}

/** Kept as long as the file names the same databases. */
interface Warm {
  readonly key: string;
  readonly verifier: FileVerifier;
  readonly databases: FileDatabases;
  /** By name. */
  readonly verdicts: Map<string, Verdict>;
  findings?: readonly AuditFinding[];
}

export interface WarmChecks {
  check(order: WarmOrder): Promise<WarmReport>;
  inspect(order: InspectOrder): Promise<InspectReport>;
}

/** As many as verification uses at once. */
const MOST_CONNECTIONS = 4;
/** Nobody reads a longer plan. */
const PLAN_LINES_MAX = 500;
/** Replaces the link of the file: the process that checks the file does not know the port and key of the workbench. */
const WORKBENCH_LINK: LinkOverride = {
  url: 'ws://127.0.0.1/ws/agent',
  privateKey: Buffer.alloc(32).toString('base64url'),
};

/**
 * Repeats the checks of a start. Parser and connections stay, and the database is asked only about capabilities whose
 * definition has changed since they passed.
 */
export function createWarmChecks(env: Readonly<Record<string, string | undefined>>): WarmChecks {
  let warm: Warm | undefined;

  async function warmFor(configs: DatabaseConfigs): Promise<Warm> {
    const settings = Object.entries(configs).map(([name, config]) => {
      const { requireReadonlyAccountPosition: _, ...rest } = config;
      const maxConnections = Math.min(config.maxConnections, MOST_CONNECTIONS);
      return [name, { ...rest, maxConnections }] as const;
    });
    const key = JSON.stringify(settings);
    if (warm?.key === key) return warm;
    await cool();
    const verifier = await loadFileVerifier(driversOf(configs));
    const databases = verifier.open(Object.fromEntries(settings));
    warm = { key, verifier, databases, verdicts: new Map() };
    return warm;
  }

  async function cool(): Promise<void> {
    const { databases } = warm ?? {};
    warm = undefined;
    await databases?.close();
  }

  async function checkConfig(config: AgentConfig): Promise<Pick<WarmReport, 'outcome' | 'asked'>> {
    try {
      const current = await warmFor(config.databases);
      const { databases, verdicts, verifier } = current;
      const away = await databases.ping();
      const isUsable = ({ database = UNNAMED }: Capability): boolean => !away.has(database);
      const usable = config.capabilities.filter(isUsable);
      const changed = usable.filter((capability) => verdictOn(capability, verdicts) === undefined);
      const mayLack = !config.runtime.requireAllDatabases && away.size < Object.keys(config.databases).length;
      if (away.size > 0 && !mayLack) {
        // The next check begins with new connections.
        await cool();
        return { outcome: { step: 'refused', faults: [...away.values()] }, asked: 0 };
      }
      const faults = await verify(current, changed);
      if (faults.length > 0) return { outcome: { step: 'refused', faults }, asked: changed.length };
      const names = new Set(config.capabilities.map(({ name }) => name));
      for (const name of verdicts.keys()) if (!names.has(name)) verdicts.delete(name);
      // Capabilities of a database that is away stay served if they have passed before.
      const passed = config.capabilities.flatMap((each) => verdictOn(each, verdicts) ?? []);
      const definitions = new Map(passed.map(({ defined }) => [defined.name, defined]));
      const unproved = config.capabilities.filter(({ name }) => !definitions.has(name));
      const waiting = new Set(unproved.map(({ database = UNNAMED }) => database));
      const capabilities = config.capabilities.map((each) => definitions.get(each.name) ?? each);
      const proved = {
        capabilities: passed.map(({ capability }) => capability),
        prepared: passed.map(({ prepared }) => prepared),
      };
      const findings = current.findings ?? (await databases.auditAccounts(usable, away));
      if (away.size === 0) current.findings = findings;
      return {
        outcome: {
          step: 'verified',
          verified: verifiedAgent(
            { ...config, capabilities },
            proved,
            new Map(Array.from(away).filter(([name]) => waiting.has(name))),
          ),
          warnings: [
            ...(await verifier.findWarnings(config.capabilities)),
            ...(await databases.findWarnings(usable)),
          ],
          findings,
        },
        asked: changed.length,
      };
    } catch (error) {
      const fault = databaseFault(error);
      // The next check begins with new connections.
      await cool();
      return { outcome: { step: 'refused', faults: [fault] }, asked: 0 };
    }
  }

  async function check({ file, content }: WarmOrder): Promise<WarmReport> {
    const { readFile, files } = digestingReader(file, content);
    const loaded = loadConfig({ path: file, env, readFile, link: WORKBENCH_LINK });
    if ('faults' in loaded) return { outcome: { step: 'refused', faults: loaded.faults }, files, asked: 0 };
    const config = workbenchConfig(loaded.config);
    const faults = config.identity === undefined ? [] : await checkKeyFiles(config.identity);
    if (faults.length > 0) return { outcome: { step: 'refused', faults }, files, asked: 0 };
    const { outcome, asked } = await checkConfig(config);
    if (outcome.step !== 'verified') return { outcome, files, asked };
    return { outcome: { ...outcome, warnings: [...loaded.warnings, ...outcome.warnings] }, files, asked };
  }

  return { check, inspect: async (order) => ({ inspected: await inspect(order, warm?.databases) }) };
}

/** Never rejects. */
async function inspect(
  order: InspectOrder,
  databases: FileDatabases | undefined,
): Promise<InspectReport['inspected']> {
  if (databases === undefined) return { problem: 'the database cannot be used' };
  try {
    if (order.inspect === 'plan') {
      const plan = await databases.plan(order.database, order.prepared);
      return { plan: plan.slice(0, PLAN_LINES_MAX) };
    }
    const { capabilities, warnings } = order;
    return { lint: await lintBy(databases, capabilities, warnings) };
  } catch (error) {
    return { problem: errorText(error) };
  }
}

/** The verdict on the capability as it is defined now. */
function verdictOn(capability: Capability, verdicts: Warm['verdicts']): Verdict | undefined {
  const verdict = verdicts.get(capability.name);
  return verdict !== undefined && sameCapability(verdict.defined, capability) ? verdict : undefined;
}

/** Keeps a verdict on each capability that passes; returns what is wrong with the others. */
async function verify(
  { databases, verdicts }: Warm,
  changed: readonly Capability[],
): Promise<readonly VerificationFault[]> {
  if (changed.length === 0) return [];
  const { capabilities, prepared, faults } = await databases.verify(changed);
  const passed = new Map(capabilities.map((each) => [each.name, each]));
  const queries = new Map(prepared.map((each) => [each.capability, each]));
  for (const defined of changed) {
    const capability = passed.get(defined.name);
    const query = queries.get(defined.name);
    if (capability !== undefined && query !== undefined)
      verdicts.set(defined.name, { defined, capability, prepared: query });
  }
  return faults;
}

/**
 * The configuration without what the workbench does not need: it is one process with a gateway of its own. Metrics and the
 * like could collide with those of an agent on the same machine.
 */
function workbenchConfig({
  serviceId: _service,
  metricsListen: _metrics,
  traces: _traces,
  ...config
}: AgentConfig): AgentConfig {
  const { runtime, identity } = config;
  return {
    ...config,
    runtime: { ...runtime, workers: 1 },
    // The gateway knows one key, that of the workbench.
    ...(identity === undefined ? {} : { identity: { ...identity, acceptsKeys: true } }),
  };
}
