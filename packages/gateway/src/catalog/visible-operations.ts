import type { Sliced } from '@svc/edge';
import { CAPABILITY_PATH_PREFIX, type Description } from '@svc/protocol';

export interface ExposedOperation {
  readonly name: string;
  readonly path: string;
  /** The OpenAPI path item. */
  readonly item: unknown;
}

/** The capabilities that are not hidden, in the order of the description. */
export function* exposedOperations({ openapi, manifest }: Description): Sliced<readonly ExposedOperation[]> {
  const hidden = new Set<string>();
  for (const { name, exposed } of manifest) {
    if (!exposed) hidden.add(name);
    yield;
  }
  const operations: ExposedOperation[] = [];
  for (const [path, item] of Object.entries(openapi.paths)) {
    const name = path.startsWith(CAPABILITY_PATH_PREFIX) ? path.slice(CAPABILITY_PATH_PREFIX.length) : '';
    if (name !== '' && !hidden.has(name)) operations.push({ name, path, item });
    yield;
  }
  return operations;
}

const ROW_FIELDS = [
  'post',
  'responses',
  '200',
  'content',
  'application/json',
  'schema',
  'properties',
  'rows',
  'items',
  'properties',
];

/** The fields of a capability's rows, in their order; none when the description does not show the capability. */
export function describedFields(description: Description | undefined, capability: string): readonly string[] {
  let found: unknown = description?.openapi.paths[`${CAPABILITY_PATH_PREFIX}${capability}`];
  for (const key of ROW_FIELDS) found = Object(found)[key];
  return Object.keys(Object(found));
}
