import { isRecord } from '../../packages/agent/src/capabilities/is-record.ts';
import type { CapabilityJson, Json } from '../../packages/agent/src/diff/capability-pairs.testing.ts';

/** What oasdiff says of a change, as `oasdiff breaking --format json` prints it. */
export interface Verdict {
  readonly id: string;
  /** Names the parameter between the first two backquotes, those of items as `name/items/`. */
  readonly text: string;
  readonly path: string;
  /** 3: an error. */
  readonly level: number;
}

interface Exception {
  /** What the parameter was before. */
  readonly holds: (old: Json) => boolean;
  readonly reason: string;
}

const OTHER_BOUND = 'the value was bounded by the exclusive bound before, or the other way round';
const hasLower = (old: Json): boolean => 'minimum' in old || 'exclusiveMinimum' in old;
const hasUpper = (old: Json): boolean => 'maximum' in old || 'exclusiveMaximum' in old;

/** Where oasdiff sees a new rule and no call is refused. `diff` has compared the values of the bounds. */
const EXCEPTIONS: Readonly<Record<string, Exception>> = {
  'request-property-min-set': { holds: hasLower, reason: OTHER_BOUND },
  'request-property-exclusive-min-set': { holds: hasLower, reason: OTHER_BOUND },
  'request-property-max-set': { holds: hasUpper, reason: OTHER_BOUND },
  'request-property-exclusive-max-set': { holds: hasUpper, reason: OTHER_BOUND },
  'request-property-multiple-of-set': {
    holds: ({ type }) => type === 'integer',
    reason: 'every whole number is a multiple of 1 and of 0.5',
  },
};

/** Whether oasdiff calls breaking what is none, for a reason of the list above. */
export function isMistaken({ id, text }: Verdict, old: CapabilityJson | undefined): boolean {
  const [name = '', ...path] = (text.split('`')[1] ?? '').split('/');
  const param = old?.params[name];
  const schema = path[0] === 'items' ? param?.['items'] : param;
  return isRecord(schema) && EXCEPTIONS[id]?.holds(schema) === true;
}
