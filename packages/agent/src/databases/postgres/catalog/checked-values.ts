/** As the server writes `= any (array['a'::text, 'b'::text])` of a column, or of VALUE in a domain. */
const LIST =
  /^CHECK \(\(+("(?:[^"]|"")+"|[\w$]+)\)?(?:::[a-z ]+)? = ANY \(+ARRAY\[(.*?)\](?:\)?::[a-z ]+\[\])?\)+(?: NOT VALID)?$/s;
const ITEM = /'((?:[^']|'')*)'::[a-z ]+(?:\([0-9]+\))?(?:::[a-z ]+)?(?:, |$)/gy;
/** As the server writes `jsonb_typeof(tags) = 'array'`; of a constraint that holds for every row. */
const JSON_KIND = /^CHECK \(\(jsonb?_typeof\((?:"(?:[^"]|"")+"|[\w$]+)\) = '(array|object)'::text\)\)$/;

/** The values that a CHECK lets a text column have; undefined where it says something else. */
export function checkedValues(definition: string): readonly string[] | undefined {
  const items = LIST.exec(definition)?.[2];
  if (items === undefined) return undefined;
  const values: string[] = [];
  let end = 0;
  for (const match of items.matchAll(ITEM)) {
    values.push((match[1] ?? '').replaceAll("''", "'"));
    end = match.index + match[0].length;
  }
  return end === items.length && values.length > 0 ? values : undefined;
}

/** The one kind of JSON that a CHECK lets a column have; undefined where it says something else. */
export function checkedJsonKind(definition: string): 'array' | 'object' | undefined {
  const kind = JSON_KIND.exec(definition)?.[1];
  return kind === 'array' || kind === 'object' ? kind : undefined;
}
