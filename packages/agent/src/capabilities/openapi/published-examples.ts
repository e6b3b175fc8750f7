import type { Example } from '../example.ts';
import { holdsBigInt } from '../values/json-text.ts';

/** The parameters that callers are shown, each once, for their schema, which tools have, too; never rows: those are data. */
export function publishedExamples(examples: readonly Example[]): { readonly examples?: readonly unknown[] } {
  const shown = examples.filter(isShown).map(({ params }) => withoutNull(params));
  const distinct = new Map(
    shown
      .filter((params) => Object.keys(params).length > 0)
      .map((params) => [JSON.stringify(params), params]),
  );
  return distinct.size === 0 ? {} : { examples: [...distinct.values()] };
}

/** An integer beyond 2^53 would be rounded on its way, by gateways and by those who read the schema. */
export function isShown({ isPublished, params }: Example): boolean {
  return isPublished && !holdsBigInt(params);
}

/** Null is as good as absent, and the schemas of tools do not have it. */
function withoutNull(params: Example['params']): Example['params'] {
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null));
}
