import type { CalledFunction } from './one-select.ts';

/** The functions that are called and that neither the dialect nor the capability allows, each once, as written. */
export function unknownFunctions(
  called: readonly CalledFunction[],
  known: ReadonlySet<string>,
  allowed: readonly string[],
): readonly string[] {
  const isAllowed = ({ schema, name, isQuoted }: CalledFunction): boolean => {
    // Quoted or with a schema it is one that somebody has made, whatever its name.
    if (schema === undefined && !isQuoted && known.has(name)) return true;
    return allowed.includes(name) || allowed.includes(`${schema?.toLowerCase()}.${name}`);
  };
  const titles = called
    .filter((each) => !isAllowed(each))
    .map(({ schema, name }) => (schema === undefined ? name : `${schema}.${name}`));
  return [...new Set(titles)];
}
