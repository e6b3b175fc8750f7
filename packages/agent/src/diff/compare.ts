import type { CapabilityContract, Contract } from './contract.ts';
import { changesInto, SEVERITIES, type Change, type Changes } from './change.ts';
import { compareFields } from './compare-fields.ts';
import { compareParams } from './compare-params.ts';
import { compareTerms } from './compare-terms.ts';

/** What callers of `old` meet with `now`, the worst first, in the order of the old capabilities. */
export function compareContracts(old: Contract, now: Contract): readonly Change[] {
  const list: Change[] = [];
  const changes = changesInto(list);
  compareService(old, now, changes);
  const isMixed = (old.file === undefined) !== (now.file === undefined);
  for (const name of new Set([...old.capabilities.keys(), ...now.capabilities.keys()])) {
    compareCapability(old.capabilities.get(name), now, name, isMixed, changes.below('capabilities', name));
  }
  return SEVERITIES.flatMap((severity) => list.filter((change) => change.severity === severity));
}

function compareService(old: Contract, now: Contract, changes: Changes): void {
  if (old.title !== now.title) changes.add('compatible', ['service', 'title'], 'changed');
  if (old.version !== now.version) changes.add('compatible', ['service', 'version'], 'changed');
  if (old.description !== now.description)
    changes.add('risky', ['service', 'description'], 'changed: models read it');
  if (old.file !== undefined && now.file !== undefined) {
    const [before, after] = [old.file.serviceId, now.file.serviceId];
    if (before !== after && after === undefined) changes.add('compatible', ['service', 'id'], 'removed');
    else if (before !== after)
      changes.add(
        before === undefined ? 'risky' : 'breaking',
        ['service', 'id'],
        `${before === undefined ? 'new' : 'changed'}: calls of other services are refused`,
      );
    if (JSON.stringify(old.file.identity) !== JSON.stringify(now.file.identity))
      changes.add('risky', ['identity'], 'changed: other callers than before may be refused');
  } else if (old.file === undefined && now.file === undefined) {
    compareErrors(old, now, changes);
  }
}

/** A gateway adds codes of its own to what an agent describes, so these are compared between gateways only. */
function compareErrors(old: Contract, now: Contract, changes: Changes): void {
  const codesOf = ({ errorCodes }: Contract): readonly string[] => [
    ...new Set(Object.values(errorCodes).flat()),
  ];
  // A key that sees no capability sees no codes either.
  if (old.capabilities.size === 0 || now.capabilities.size === 0) return;
  for (const code of codesOf(now)) {
    if (!codesOf(old).includes(code))
      changes.add('risky', ['errors', code], 'new: clients with a fixed list of codes do not know it');
  }
  for (const code of codesOf(old)) {
    if (!codesOf(now).includes(code)) changes.add('compatible', ['errors', code], 'no longer answered');
  }
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

/** What an answer may have beside its rows. */
function compareExtras(
  old: ReadonlyMap<string, unknown>,
  now: ReadonlyMap<string, unknown>,
  changes: Changes,
): void {
  for (const name of new Set([...old.keys(), ...now.keys()])) {
    const [before, after] = [old.get(name), now.get(name)];
    if (JSON.stringify(before) === JSON.stringify(after)) continue;
    if (before === undefined)
      changes.add('risky', ['answer', name], 'new: clients that take listed fields only refuse it');
    else
      changes.add('breaking', ['answer', name], after === undefined ? 'gone' : 'retyped: clients misread it');
  }
}
