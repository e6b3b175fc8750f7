import type { Capability, Param } from '../capabilities/model.ts';
import { compileParameters } from '../capabilities/parameters.ts';
import { CANDIDATES } from './capability-pairs.testing.ts';

/** Whether the agent would run a call with a body. */
export function takerOf(capability: Capability): (body: Readonly<Record<string, unknown>>) => boolean {
  const read = compileParameters(capability);
  return (body) => {
    try {
      read(Buffer.from(JSON.stringify(body)));
      return true;
    } catch {
      return false;
    }
  };
}

/** What the parameter takes of what is around its rules; undefined stands for nothing. */
function takenOf(capability: Capability, param: Param): readonly unknown[] {
  const takes = takerOf({ ...capability, params: [param] });
  const candidates = [undefined, null, ...(CANDIDATES[param.schema.type] ?? [])];
  return candidates.filter((value) => takes({ [param.name]: value }));
}

/** Bodies that the old capability takes, each value of each parameter at least once. */
export function bodiesOf(capability: Capability): readonly Readonly<Record<string, unknown>>[] {
  const taken = capability.params.map((param) => [param.name, takenOf(capability, param)] as const);
  const length = Math.max(1, ...taken.map(([, values]) => values.length));
  if (taken.some(([, values]) => values.length === 0)) return [];
  return Array.from({ length }, (_, at) =>
    Object.fromEntries(taken.map(([name, values]) => [name, values[at % values.length]])),
  );
}
