import { nearestWithin } from '@svc/edge';
import { CURSOR_PARAM, parseTerms, PLACE_OF_FILTERS, SORT_PARAM } from '../../capabilities/clauses.ts';
import { isRecord } from '../../capabilities/is-record.ts';
import type { FaultLog } from '../fault-log.ts';
import { valueAt, type Path } from '../path.ts';

/** Each doubles the number of statements. */
const MAX_OPTIONAL_FILTERS = 16;
/** They have no order. */
const UNORDERED: ReadonlySet<unknown> = new Set(['array', 'object']);

/** Checks what a schema cannot express of `filter`, `sort`, and `paging` by fields. Their SQL is for the database. */
export function checkClauses(root: unknown, capability: Path, faults: FaultLog): void {
  checkFilters(root, capability, faults);
  checkOrders(root, capability, faults);
  checkPages(root, capability, faults);
}

function checkFilters(root: unknown, capability: Path, faults: FaultLog): void {
  const sql = valueAt(root, [...capability, 'sql']);
  const params = valueAt(root, [...capability, 'params']);
  if (typeof sql !== 'string') return;
  const places = sql.split(PLACE_OF_FILTERS).length - 1;
  const filtered = Object.entries(isRecord(params) ? params : {}).filter(
    ([, spec]) => typeof valueAt(spec, ['filter']) === 'string',
  );
  for (const [name, spec] of filtered) {
    const path = [...capability, 'params', name, 'filter'];
    if (!new RegExp(`:${name}(?![A-Za-z0-9_])`).test(String(valueAt(spec, ['filter']))))
      faults.add(path, `must be one condition that uses :${name}`);
    else if (places === 0)
      faults.add(path, `has no place in \`sql\`: write \`where ${PLACE_OF_FILTERS}\` there`);
  }
  const optional = filtered.filter(([, spec]) => mayFallAway(spec));
  for (const [name] of optional.slice(MAX_OPTIONAL_FILTERS))
    faults.add(
      [...capability, 'params', name, 'filter'],
      `is one of ${optional.length} that may fall away: at most ${MAX_OPTIONAL_FILTERS} may, so make others required`,
    );
  const path = [...capability, 'sql'];
  if (places > 1) faults.add(path, `has ${PLACE_OF_FILTERS} ${places} times: it must stand once`);
  if (places === 1 && filtered.length === 0)
    faults.add(path, `has ${PLACE_OF_FILTERS}, but no parameter has a \`filter\`: add one, or remove it`);
}

function mayFallAway(spec: unknown): boolean {
  const isRequired = valueAt(spec, ['required']) === true || valueAt(spec, ['from']) !== undefined;
  // A default of `false` is a value.
  return !isRequired && (valueAt(spec, ['default']) ?? null) === null;
}

function checkOrders(root: unknown, capability: Path, faults: FaultLog): void {
  const orders = valueAt(root, [...capability, 'sort']);
  if (!isRecord(orders)) return;
  checkNotDeclared(root, capability, SORT_PARAM, 'sort', faults);
  if (isRecord(valueAt(root, [...capability, 'paging'])))
    faults.addForKey(
      [...capability, 'paging'],
      'must be a field of `result`, or a list of fields, beside `sort`: a mapping follows one order only',
    );
  for (const [name, text] of Object.entries(orders)) {
    if (typeof text !== 'string') continue;
    const path = [...capability, 'sort', name];
    const read = parseTerms(text);
    if (!read.ok) faults.add(path, read.problem);
    else
      checkFields(
        root,
        capability,
        read.terms.map(({ field }) => field),
        path,
        faults,
      );
  }
}

function checkPages(root: unknown, capability: Path, faults: FaultLog): void {
  const paging = valueAt(root, [...capability, 'paging']);
  if (typeof paging !== 'string' && !Array.isArray(paging)) return;
  checkNotDeclared(root, capability, CURSOR_PARAM, 'paging', faults);
  const fields: readonly unknown[] = Array.isArray(paging) ? paging : [paging];
  const names = fields.filter((field) => typeof field === 'string');
  const path = [...capability, 'paging'];
  checkFields(root, capability, names, path, faults);
  const mayBeNull = names.find(
    (name) => valueAt(root, [...capability, 'result', name, 'nullable']) !== false,
  );
  if (mayBeNull !== undefined)
    faults.add(path, `names \`${mayBeNull}\`, which may be null: set its \`nullable: false\` in \`result\``);
}

function checkNotDeclared(
  root: unknown,
  capability: Path,
  name: string,
  key: string,
  faults: FaultLog,
): void {
  if (valueAt(root, [...capability, 'params', name]) === undefined) return;
  faults.addForKey([...capability, 'params', name], `is the parameter that \`${key}\` makes: rename it`);
}

function checkFields(
  root: unknown,
  capability: Path,
  names: readonly string[],
  path: Path,
  faults: FaultLog,
): void {
  const fields = valueAt(root, [...capability, 'result']);
  if (!isRecord(fields)) return;
  for (const [at, name] of names.entries()) {
    const nearest = nearestWithin(name, Object.keys(fields));
    if (!Object.hasOwn(fields, name)) {
      const meant = nearest === undefined ? '' : `, did you mean \`${nearest}\`?`;
      faults.add(path, `names \`${name}\`, which is no field of \`result\`${meant}`);
    } else if (names.indexOf(name) < at) faults.add(path, `names \`${name}\` twice`);
    else if (UNORDERED.has(valueAt(fields, [name, 'type'])))
      faults.add(path, `names \`${name}\`, whose type has no order`);
  }
}
