import { formatSize } from '../capabilities/size.ts';
import { changesInto, SEVERITIES, type Change, type Changes } from './change.ts';
import { compareValues } from './compare-values.ts';
import type {
  CapabilityContract,
  CapabilityTerms,
  Contract,
  FieldContract,
  Named,
  ParamContract,
} from './contract.ts';

/** What callers of `old` meet with `now`, the worst first, in the order of the old capabilities. */
export function compareContracts(old: Contract, now: Contract): readonly Change[] {
  const list: Change[] = [];
  const changes = changesInto(list);
  compareService(old, now, changes);
  const isMixed = (old.file === undefined) !== (now.file === undefined);
  for (const name of new Set([...old.capabilities.keys(), ...now.capabilities.keys()]))
    compareCapability(old.capabilities.get(name), now, name, isMixed, changes.below('capabilities', name));
  return SEVERITIES.flatMap((severity) => list.filter((change) => change.severity === severity));
}

function compareService(old: Contract, now: Contract, changes: Changes): void {
  if (old.title !== now.title) changes.add('compatible', ['service', 'title'], 'changed');
  if (old.version !== now.version) changes.add('compatible', ['service', 'version'], 'changed');
  if (old.description !== now.description)
    changes.add('risky', ['service', 'description'], 'changed: models read it');
  if (old.file !== undefined && now.file !== undefined) {
    const [before, after] = [old.file.serviceId, now.file.serviceId];
    const service = changes.below('service', 'id');
    const effect = 'calls of other services are refused';
    if (before !== after && after === undefined) service.add('compatible', [], 'removed');
    else if (before === undefined && after !== undefined) service.add('risky', [], `new: ${effect}`);
    else if (before !== after) service.add('breaking', [], `changed: ${effect}`);
    if (JSON.stringify(old.file.identity) !== JSON.stringify(now.file.identity))
      changes.add('risky', ['identity'], 'changed: other callers than before may be refused');
  } else if (old.file === undefined && now.file === undefined) {
    compareErrors(old, now, changes);
  }
}

/** A gateway adds codes of its own to what an agent describes, so these are compared between gateways only. */
function compareErrors(old: Contract, now: Contract, changes: Changes): void {
  // A key that sees no capability sees no codes either.
  if (old.capabilities.size === 0 || now.capabilities.size === 0) return;
  for (const code of now.errorCodes)
    if (!old.errorCodes.has(code))
      changes.add('risky', ['errors', code], 'new: clients with a fixed list of codes do not know it');
  for (const code of old.errorCodes)
    if (!now.errorCodes.has(code)) changes.add('compatible', ['errors', code], 'no longer answered');
}

function compareCapability(
  old: CapabilityContract | undefined,
  { capabilities, file }: Contract,
  name: string,
  isMixed: boolean,
  changes: Changes,
): void {
  const now = capabilities.get(name);
  if (old === undefined) {
    if (now?.file?.isHidden !== true || !isMixed) changes.add('compatible', [], 'new');
    return;
  }
  if (now === undefined) {
    // A gateway does not show what is hidden.
    if (old.file?.isHidden === true && file === undefined) return;
    const or = file === undefined ? ', or the key may not call it any more' : '';
    changes.add('breaking', [], `gone${or}: calls are refused`);
    return;
  }
  if (now.file?.isHidden === true && old.file?.isHidden !== true)
    changes.add('breaking', ['expose_in_openapi'], 'false: tools and generated clients lose it');
  else if (old.file?.isHidden === true && now.file?.isHidden !== true)
    changes.add('compatible', ['expose_in_openapi'], 'true: it is shown now');
  if (old.description !== now.description)
    changes.add('risky', ['description'], 'changed: models read it to choose a tool');
  if (old.examplesJson !== now.examplesJson) changes.add('compatible', ['examples'], 'changed');
  compareParams(old.params, now.params, isMixed, changes.below('params'));
  compareFields(old.fields, now.fields, changes.below('result'));
  compareExtras(old.extras, now.extras, changes);
  if (old.file !== undefined && now.file !== undefined) compareTerms(old.file, now.file, changes);
}

/** Compares parameters: whether what callers of the old ones send is taken and means the same now. */
function compareParams(
  old: Named<ParamContract>,
  now: Named<ParamContract>,
  isMixed: boolean,
  changes: Changes,
): void {
  for (const [name, before] of old) {
    const after = now.get(name);
    if (after === undefined) changes.add('breaking', [name], 'gone: calls that send it are refused');
    else compareParam(before, after, isMixed, changes.below(name));
  }
  for (const [name, { isRequired, defaultJson }] of now) {
    if (old.has(name)) continue;
    if (isRequired) changes.add('breaking', [name], 'new and required: calls without it are refused');
    else if (defaultJson !== undefined)
      changes.add('risky', [name], `new, with the default ${defaultJson}: it applies to all earlier calls`);
    else changes.add('compatible', [name], 'new and optional');
  }
}

function compareParam(old: ParamContract, now: ParamContract, isMixed: boolean, changes: Changes): void {
  if (!old.isRequired && now.isRequired)
    changes.add('breaking', ['required'], 'true now: calls without it are refused');
  if (old.isRequired && !now.isRequired) changes.add('compatible', ['required'], 'false now');
  compareValues(old.value, now.value, isMixed, changes);
  if (old.defaultJson !== now.defaultJson) {
    const is = `${old.defaultJson ?? 'none'} became ${now.defaultJson ?? 'none'}`;
    changes.add('risky', ['default'], `${is}: calls without the parameter get another answer`);
  }
  if (old.description !== now.description)
    changes.add('risky', ['description'], 'changed: models read it to fill it in');
}

/** Compares the fields of rows: whether what is answered now is what readers of the old ones expect. */
function compareFields(old: Named<FieldContract>, now: Named<FieldContract>, changes: Changes): void {
  for (const [name, before] of old) {
    const after = now.get(name);
    if (after === undefined) changes.add('breaking', [name], 'gone: readers of it find nothing');
    else compareField(before, after, changes.below(name));
  }
  for (const name of now.keys()) {
    if (!old.has(name))
      changes.add('risky', [name], 'new: clients that take listed fields only refuse the row');
  }
  const keptNames = (fields: typeof old, others: typeof old): string =>
    JSON.stringify([...fields.keys()].filter((name) => others.has(name)));
  if (keptNames(old, now) !== keptNames(now, old))
    changes.add('compatible', [], 'in another order, which only readers of CSV by position notice');
}

function compareField(old: FieldContract, now: FieldContract, changes: Changes): void {
  const [before, after] = [old.value, now.value];
  if (before.type !== after.type) {
    changes.add('breaking', ['type'], `retyped from ${before.type} to ${after.type}: readers misread it`);
  } else if (before.format !== after.format) {
    const is = `${before.format ?? 'none'} became ${after.format ?? 'none'}`;
    if (before.format === undefined)
      changes.add('risky', ['format'], `${is}: newly generated clients may read another type`);
    else changes.add('breaking', ['format'], `${is}: typed clients misread it`);
  }
  if (!old.isNullable && now.isNullable)
    changes.add('breaking', ['nullable'], 'can be null now, which readers do not expect');
  if (old.isNullable && !now.isNullable) changes.add('compatible', ['nullable'], 'is never null any more');
  if (old.description !== now.description) changes.add('risky', ['description'], 'changed: models read it');
  const rules = ({ items, others }: FieldContract['value']): string => JSON.stringify([items, others]);
  if (before.type === after.type && rules(before) !== rules(after))
    changes.add('risky', [], 'has other rules, which this version cannot judge');
}

function compareExtras(old: Named<unknown>, now: Named<unknown>, changes: Changes): void {
  for (const name of new Set([...old.keys(), ...now.keys()])) {
    const [before, after] = [old.get(name), now.get(name)];
    if (JSON.stringify(before) === JSON.stringify(after)) continue;
    if (before === undefined)
      changes.add('risky', ['answer', name], 'new: clients that take listed fields only refuse it');
    else
      changes.add('breaking', ['answer', name], after === undefined ? 'gone' : 'retyped: clients misread it');
  }
}

/** Compares what only capability files say: limits, who is served, the query. */
function compareTerms(old: CapabilityTerms, now: CapabilityTerms, changes: Changes): void {
  const policy = changes.below('policy');
  const compareCap = (name: string, before: number, after: number, shown: (cap: number) => string): void => {
    const values = `from ${shown(before)} to ${shown(after)}`;
    if (after > before) policy.add('compatible', [name], `raised ${values}`);
    if (after < before)
      policy.add('risky', [name], `lowered ${values}: calls within the old cap may exceed it`);
  };
  compareCap('max_rows', old.maxRows, now.maxRows, String);
  compareCap('max_bytes', old.maxBytes, now.maxBytes, formatSize);
  compareCap('timeout', old.timeoutMs, now.timeoutMs, (ms) => `${ms} ms`);
  if (old.onLimit !== now.onLimit) {
    const effect =
      now.onLimit === 'error'
        ? 'what was cut short before is an error now'
        : 'what was an error before is cut short now';
    policy.add('risky', ['on_limit'], `${old.onLimit} became ${now.onLimit}: ${effect}`);
  }
  if (old.allowFunctions.join() !== now.allowFunctions.join())
    policy.add('compatible', ['allow_functions'], 'changed');
  if (old.allowForeignTables.join() !== now.allowForeignTables.join())
    policy.add('compatible', ['allow_foreign_tables'], 'changed');
  for (const need of now.needs.filter((each) => !old.needs.includes(each)))
    changes.add('breaking', ['params'], `takes ${need} from who calls now: callers without it are refused`);
  for (const need of old.needs.filter((each) => !now.needs.includes(each)))
    changes.add('compatible', ['params'], `no longer takes ${need} from who calls`);
  compareClauses(old, now, changes);
  if (old.sql !== now.sql)
    changes.add('compatible', ['sql'], 'changed: the same form of rows, maybe other rows');
}

/** Of what both have: what one has is a parameter, or one of its values. */
function compareClauses(old: CapabilityTerms, now: CapabilityTerms, changes: Changes): void {
  for (const [name, filter] of old.filters) {
    const after = now.filters.get(name);
    if (after !== undefined && after !== filter)
      changes.add(
        'risky',
        ['params', name, 'filter'],
        'changed: calls with the parameter may get other rows',
      );
  }
  for (const [name, terms] of old.orders) {
    const after = now.orders.get(name);
    const path = name === '' ? ['paging'] : ['sort', name];
    if (after !== undefined && after !== terms)
      changes.add('risky', path, 'changed: rows come in another order, and cursors of before are refused');
  }
}

/** What could not be compared, since one side does not show it. */
export function notesOn(old: Contract, now: Contract): readonly string[] {
  const ofFile =
    'a capability file is read without its database, which may narrow parameters further, to the range of a column or to the labels of an enum';
  const ofGateway =
    'a gateway shows what the API key may call, and neither limits nor queries, so those are not compared';
  const isFile = new Set([old, now].map(({ file }) => file !== undefined));
  return [...(isFile.has(true) ? [ofFile] : []), ...(isFile.has(false) ? [ofGateway] : [])];
}
