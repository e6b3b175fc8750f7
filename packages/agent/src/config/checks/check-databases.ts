import { nearestWithin } from '@svc/edge';
import { isRecord } from '../../capabilities/is-record.ts';
import type { FaultLog } from '../fault-log.ts';
import { sectionOf, UNNAMED } from '../../capabilities/database-names.ts';
import { driverOf } from '../../databases/drivers.ts';
import { driverNameOf } from '../driver-of-file.ts';
import { valueAt, type Path } from '../path.ts';

/** Each capability must lead to one database of the file. */
export function checkDatabases(root: unknown, faults: FaultLog): void {
  const several = valueAt(root, ['databases']);
  const names = isRecord(several) ? Object.keys(several) : undefined;
  if (names !== undefined && valueAt(root, ['database']) !== undefined) {
    faults.addForKey(['databases'], '`database` and `databases` are both given: remove one of them');
    return;
  }
  // The schema reports that it is no mapping.
  if (names === undefined && isRecord(root) && Object.hasOwn(root, 'databases')) return;
  checkName(root, ['defaults', 'database'], names, faults);
  const usual = valueAt(root, ['defaults', 'database']) ?? (names?.length === 1 ? names[0] : undefined);
  const capabilities = valueAt(root, ['capabilities']);
  for (const name of isRecord(capabilities) ? Object.keys(capabilities) : []) {
    const path = ['capabilities', name, 'database'];
    checkName(root, path, names, faults);
    const database = valueAt(root, path) ?? usual ?? (names === undefined ? UNNAMED : undefined);
    if (typeof database === 'string') checkForeignTables(root, name, database, faults);
    if (names === undefined || names.length === 0 || (valueAt(root, path) ?? usual) !== undefined) continue;
    const message = `is required, because there are several: ${names.join(', ')}; or give \`defaults.database\``;
    faults.add(path, message);
  }
}

function checkForeignTables(root: unknown, capability: string, database: string, faults: FaultLog): void {
  const path = ['capabilities', capability, 'policy', 'allow_foreign_tables'];
  if (valueAt(root, path) === undefined) return;
  if (driverOf(driverNameOf(root, sectionOf(database))).hasForeignTables === true) return;
  faults.addForKey(path, 'is for PostgreSQL, and the database of this capability is another one: remove it');
}

function checkName(root: unknown, path: Path, names: readonly string[] | undefined, faults: FaultLog): void {
  const name = valueAt(root, path);
  if (typeof name !== 'string') return;
  if (names === undefined) {
    const message = 'names a database, but the file has no `databases`: remove it, or name them there';
    faults.addForKey(path, message);
  } else if (!names.includes(name)) {
    const close = nearestWithin(name, names);
    const hint = close === undefined ? '' : `: did you mean ${close}?`;
    faults.add(path, `is none of \`databases\`${hint}`);
  }
}
