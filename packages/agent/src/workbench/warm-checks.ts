import { isDeepStrictEqual } from 'node:util';
import { UNNAMED } from '../capabilities/database-names.ts';
import type { Capability } from '../capabilities/model.ts';
import { describeCapabilities } from '../capabilities/openapi/describe-capabilities.ts';
import { sameCapability } from '../capabilities/same-capability.ts';
import { loadConfig } from '../config/load.ts';
import type { AgentConfig } from '../config/model.ts';
import type { DatabaseConfigs, PreparedCapability } from '../databases/driver/driver.ts';
import { databaseFault, type VerificationFault } from '../databases/driver/errors.ts';
import { checkKeyFiles } from '../start-up/check-key-files.ts';
import { digestingReader } from '../start-up/file-digest.ts';
import {
  driversOf,
  loadFileVerifier,
  type FileDatabases,
  type FileVerifier,
} from '../start-up/file-verifier.ts';
import type { AuditFinding } from '../start-up/report.ts';
import { inspect } from './author-console/inspect.ts';
import type { InspectOrder, InspectReport, WarmOrder, WarmReport } from './warm-report.ts';
import { workbenchConfig, WORKBENCH_LINK } from './workbench-config.ts';

/** A capability that has passed. */
interface Verdict {
  /** As the file had it. */
  readonly defined: Capability;
  /** Its parameters narrowed to what the database takes. */
  readonly capability: Capability;
  readonly prepared: PreparedCapability;
}

/** What is kept for as long as the file names the same databases. */
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

/** As many as are verified at once. */
const MOST_CONNECTIONS = 4;

/**
 * The checks of a start, again and again: parser and connections stay, and the database is only asked about capabilities
 * whose definition is another than when they passed.
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
      const changed = usable.filter((capability) => !hasPassed(capability, verdicts));
      const mayLack = !config.runtime.requireAllDatabases && away.size < Object.keys(config.databases).length;
      if (away.size > 0 && !mayLack) {
        // Whatever its connections have seen, the next check begins with others.
        await cool();
        return { outcome: { step: 'refused', faults: [...away.values()] }, asked: 0 };
      }
      const faults = await verify(current, changed);
      if (faults.length > 0) return { outcome: { step: 'refused', faults }, asked: changed.length };
      const names = new Set(config.capabilities.map(({ name }) => name));
      for (const name of verdicts.keys()) if (!names.has(name)) verdicts.delete(name);
      // Of a database that is away, what has passed before goes on.
      const passed = config.capabilities.flatMap((each) =>
        hasPassed(each, verdicts) ? (verdicts.get(each.name) ?? []) : [],
      );
      const passedNames = new Map(passed.map((each) => [each.defined.name, each.capability]));
      const checked = {
        ...config,
        capabilities: config.capabilities.map((each) => passedNames.get(each.name) ?? each),
      };
      const waiting = new Set(
        config.capabilities.flatMap(({ name, database = UNNAMED }) =>
          passedNames.has(name) ? [] : [database],
        ),
      );
      const findings = current.findings ?? (await databases.auditAccounts(usable, away));
      if (away.size === 0) current.findings = findings;
      return {
        outcome: {
          step: 'verified',
          verified: {
            config: checked,
            narrowed: passed.flatMap(({ defined, capability }) =>
              isDeepStrictEqual(defined.params, capability.params) ? [] : [defined],
            ),
            unverified: Array.from(away).flatMap(([name, fault]) =>
              waiting.has(name) ? [{ name, state: 'away' as const, faults: [fault] }] : [],
            ),
            prepared: passed.map(({ prepared }) => prepared),
            description: Buffer.from(JSON.stringify(describeCapabilities(checked))),
          },
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
      // Whatever its connections have seen, the next check begins with others.
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

  return { check, inspect: (order) => inspect(order, warm?.databases) };
}

function hasPassed(capability: Capability, verdicts: Warm['verdicts']): boolean {
  const verdict = verdicts.get(capability.name);
  return verdict !== undefined && sameCapability(verdict.defined, capability);
}

/** Notes which of them pass; returns what is wrong with the others. */
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
