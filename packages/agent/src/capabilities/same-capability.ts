import { isDeepStrictEqual } from 'node:util';
import type { Capability } from './model.ts';

/** Whether two files define a capability alike, wherever it stands in them. */
export function sameCapability(a: Capability, b: Capability): boolean {
  return isDeepStrictEqual(withoutPositions(a), withoutPositions(b));
}

function withoutPositions({ sqlPosition: _sqlPosition, params, result, ...rest }: Capability): unknown {
  return {
    ...rest,
    params: params.map(({ position: _position, ...param }) => param),
    result: result.map(({ position: _position, ...field }) => field),
  };
}
