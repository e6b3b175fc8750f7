import type { SamplerConfig } from './traces-config.ts';
import type { SpanContext } from './trace-context.ts';

/** Whether the spans of a trace are made. */
export type Decide = (traceId: string, parent: SpanContext | undefined) => boolean;

export interface FlagBudget {
  readonly perSecond: number;
  readonly now: () => number;
}

/**
 * `budget` bounds the traces that are followed because others say so; those beyond it are left out. `ofRatio` tells by its
 * id whether a trace is one of the share.
 */
export function createDecide(
  { parentBased, ratio }: SamplerConfig,
  ofRatio: (traceId: string) => boolean,
  budget?: FlagBudget,
): Decide {
  const take = budget === undefined ? () => true : createTake(budget);
  return (traceId, parent) => {
    if (parentBased && parent !== undefined) return parent.sampled && take();
    return ratio === 1 || (ratio > 0 && ofRatio(traceId));
  };
}

/** As many at once as in a second. */
function createTake({ perSecond, now }: FlagBudget): () => boolean {
  let tokens = perSecond;
  let at = now();
  return () => {
    const time = now();
    tokens = Math.min(perSecond, tokens + ((time - at) / 1000) * perSecond);
    at = time;
    if (tokens < 1) return false;
    tokens--;
    return true;
  };
}
