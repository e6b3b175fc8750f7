import type { Example } from '../example.ts';

/** The parameters that callers are shown, each once, for their schema, which tools have, too; never rows: those are data. */
export function publishedExamples(examples: readonly Example[]): { readonly examples?: readonly unknown[] } {
  const shown = examples.filter(({ isPublished, params }) => isPublished && Object.keys(params).length > 0);
  const distinct = new Map(shown.map(({ params }) => [JSON.stringify(params), params]));
  return distinct.size === 0 ? {} : { examples: [...distinct.values()] };
}
