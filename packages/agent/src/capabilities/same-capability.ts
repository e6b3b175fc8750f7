import { isDeepStrictEqual } from 'node:util';
import type { Capability } from './model.ts';

/** Whether two files define a capability in the same way, at any position. */
export function sameCapability(a: Capability, b: Capability): boolean {
  return isDeepStrictEqual(withoutPositions(a), withoutPositions(b));
}

function withoutPositions(capability: Capability): unknown {
  const { position: _own, sqlPosition: _sql, params, result, examples, ...rest } = capability;
  return {
    ...rest,
    params: params.map(({ position: _position, ...param }) => param),
    result: result.map(({ position: _position, ...field }) => field),
    examples: examples?.map(({ position: _position, ...example }) => example),
  };
}
