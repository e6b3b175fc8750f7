import { isRecord } from '../capabilities/is-record.ts';

/** The keys and list indexes that lead from the root of the file to a value. */
export type Path = readonly string[];

/** As people write it: `capabilities.find_book.params.id`. */
export function dottedPath(path: Path): string {
  return path.map((key) => (/^[\w$-]+$/.test(key) ? key : JSON.stringify(key))).join('.');
}

/** Reads the JSON pointers of Ajv, also in their URI fragment form. */
export function fromPointer(pointer: string): Path {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The value at the path; undefined if there is none. */
export function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const key of path) {
    if (Array.isArray(value)) value = value[Number(key)];
    else if (isRecord(value) && Object.hasOwn(value, key)) value = value[key];
    else return undefined;
  }
  return value;
}
