import { readFileSync } from 'node:fs';
import type { Fault } from '../capabilities/fault.ts';
import { loadConfig } from '../config/load.ts';
import { insertCapability, type CapabilitySection } from '../config/yaml/insert-capability.ts';
import { databaseFault } from '../databases/driver/errors.ts';
import { PLACE_OF_FILTERS } from '../capabilities/clauses.ts';
import { UNNAMED } from '../capabilities/database-names.ts';
import type { DescribedField, StatementDescription } from '../databases/driver/describe-statement.ts';
import type { AgentConfig } from '../config/model.ts';
import { runStartUpChecks } from './checks.ts';
import { describeFilters, type FilteringParam } from './describe-filters.ts';
import { driversOf, loadFileVerifier } from './file-verifier.ts';
import type { AdditionOrder, AdditionReport, StartUpReport } from './report.ts';

/** Adds a capability to the text of a file and runs all start-up checks of the outcome; writes nothing. */
export async function proposeCapability(
  { addTo: file, content, name, sql, database: wanted }: AdditionOrder,
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
      message: 'already exists: choose another name, or change it in the file',
    });
  }
  const names = Object.keys(config.databases);
  const database = wanted ?? config.usualDatabase ?? names[0] ?? UNNAMED;
  if (wanted !== undefined && names.includes(UNNAMED)) {
    return refused({ path: 'database', message: 'has no name: omit `--database`' });
  }
  if (
    !names.includes(database) ||
    (wanted === undefined && config.usualDatabase === undefined && names.length > 1)
  ) {
    return refused({ path: 'databases', message: `choose one by \`--database\`: ${names.join(', ')}` });
  }
  const described = await describe(config, database, name, sql);
  if (!described.ok) {
    // The positions are those of a text that is not in the file.
    const faults = described.faults.map(({ position: _position, ...fault }) => fault);
    return { step: 'refused', faults };
  }
  const text = Buffer.from(content).toString();
  const added = insertCapability(text, name, sectionOf(sql, described.statement, wanted));
  if (added === undefined) {
    return refused({ path: 'capabilities', message: `cannot take ${name}: write them as a mapping` });
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

async function describe(
  { databases: all }: AgentConfig,
  database: string,
  name: string,
  sql: string,
): ReturnType<typeof describeFilters> {
  const configs = Object.fromEntries(Object.entries(all).filter(([each]) => each === database));
  const verifier = await loadFileVerifier(driversOf(configs));
  const databases = verifier.open(configs);
  try {
    const faults = [...(await databases.ping()).values()];
    if (faults.length > 0) return { ok: false, faults };
    const ask = (text: string): Promise<StatementDescription> => databases.describe(database, name, text);
    return await (sql.includes(PLACE_OF_FILTERS) ? describeFilters(sql, ask) : ask(sql));
  } catch (error) {
    return { ok: false, faults: [databaseFault(error)] };
  } finally {
    await databases.close();
  }
}

/** The section of a file for a capability with this statement, as its database describes it. */
function sectionOf(
  sql: string,
  {
    params,
    fields,
  }: { readonly params: readonly FilteringParam[]; readonly fields: readonly DescribedField[] },
  database?: string,
): CapabilitySection {
  const declared = params.map(({ name, schema, required, filter }) => [
    name,
    { ...schema, ...(required ? { required } : {}), ...(filter === undefined ? {} : { filter }) },
  ]);
  const result = fields.map(({ name, type, format, nullable }) => [
    name,
    { type, ...(format === undefined ? {} : { format }), ...(nullable ? {} : { nullable }) },
  ]);
  return {
    ...(database === undefined ? {} : { database }),
    // A single `$` would begin the name of an environment variable. In a replacement text `$$` would mean one `$`.
    sql: sql.replaceAll('${', () => '$${'),
    ...(declared.length === 0 ? {} : { params: Object.fromEntries(declared) as unknown }),
    result: Object.fromEntries(result) as unknown,
  };
}

function refused(fault: Fault): AdditionReport {
  return { step: 'refused', faults: [fault] };
}
