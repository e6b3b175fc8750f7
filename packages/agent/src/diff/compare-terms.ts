import { formatSize } from '../capabilities/size.ts';
import type { Changes } from './change.ts';
import type { CapabilityTerms } from './contract.ts';

/** Compares what only capability files say: limits, who is served, the query. */
export function compareTerms(old: CapabilityTerms, now: CapabilityTerms, changes: Changes): void {
  const policy = changes.below('policy');
  compareCap(policy, 'max_rows', String, old.maxRows, now.maxRows);
  compareCap(policy, 'max_bytes', formatSize, old.maxBytes, now.maxBytes);
  compareCap(policy, 'timeout', (ms) => `${ms} ms`, old.timeoutMs, now.timeoutMs);
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
  if (old.sql !== now.sql)
    changes.add('compatible', ['sql'], 'changed: the same form of rows, maybe other rows');
}

function compareCap(
  changes: Changes,
  name: string,
  format: (value: number) => string,
  old: number,
  now: number,
): void {
  if (old === now) return;
  const values = `from ${format(old)} to ${format(now)}`;
  if (now < old) changes.add('risky', [name], `lowered ${values}: calls within the old cap may exceed it`);
  else changes.add('compatible', [name], `raised ${values}`);
}
