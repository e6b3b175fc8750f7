import { readFileSync } from 'node:fs';
import type { Fault } from '../capabilities/fault.ts';
import { sectionOf } from './capability-section.ts';
import { loadConfig } from '../config/load.ts';
import { insertCapability } from '../config/yaml/insert-capability.ts';
import { driverOf } from '../databases/drivers.ts';
import { databaseFault } from '../databases/errors.ts';
import type { StatementDescription } from '../databases/describe-statement.ts';
import type { AgentConfig } from '../config/model.ts';
import { runStartUpChecks } from './checks.ts';
import type { AdditionOrder, AdditionReport, StartUpReport } from './report.ts';

/** Adds a capability to the text of a file and runs all start-up checks of the outcome; writes nothing. */
export async function proposeCapability(
  { addTo: file, content, name, sql }: AdditionOrder,
  env: Readonly<Record<string, string | undefined>>,
): Promise<AdditionReport> {
  const readFile = (path: string): Uint8Array => (path === file ? content : readFileSync(path));
  const loaded = loadConfig({ path: file, env, readFile });
  if ('faults' in loaded) return { step: 'refused', faults: loaded.faults };
  const { config } = loaded;
  const known = config.capabilities.find((capability) => capability.name === name);
  if (known !== undefined) {
    return refused({
      path: `capabilities.${name}`,
      position: known.sqlPosition,
      message: 'is there already: choose another name, or change it in the file',
    });
  }
  const described = await describe(config, name, sql);
  if (!described.ok) {
    // They stand in no file yet.
    const faults = described.faults.map(({ position: _position, ...fault }) => fault);
    return { step: 'refused', faults };
  }
  const text = Buffer.from(content).toString();
  const added = insertCapability(text, name, sectionOf(sql, described.statement));
  if (added === undefined) {
    return refused({ path: 'capabilities', message: `has no place for ${name}: write them as a mapping` });
  }
  const reports: StartUpReport[] = [];
  const proposed = Buffer.from(added.text);
  await runStartUpChecks({ file, content: proposed, offline: false }, env, (report) => reports.push(report));
  const last = reports.at(-1);
  switch (last?.step) {
    case 'verified':
      return { step: 'proposed', content: proposed, section: added.section, warnings: last.warnings };
    case 'malformed':
    case 'refused':
      return { step: 'refused', faults: last.faults };
    default:
      throw new Error('the checks ended without an outcome');
  }
}

async function describe(config: AgentConfig, name: string, sql: string): Promise<StatementDescription> {
  const verifier = await driverOf(config.database.driver).loadVerifier();
  const database = verifier.open(config.database);
  try {
    await database.ping();
    return await database.describe(name, sql);
  } catch (error) {
    return { ok: false, faults: [databaseFault(error)] };
  } finally {
    await database.close();
  }
}

function refused(fault: Fault): AdditionReport {
  return { step: 'refused', faults: [fault] };
}
