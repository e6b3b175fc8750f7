import { CAPABILITY_PATH_PREFIX, type Description } from '@svc/protocol';

/** A path of the description that is a capability's. */
export interface ExposedOperation {
  readonly name: string;
  readonly path: string;
  /** The OpenAPI path item. */
  readonly item: unknown;
}

/** What may be shown at all: capabilities that are not hidden, in the order of the description. */
export function exposedOperations({ openapi, manifest }: Description): readonly ExposedOperation[] {
  const hidden = new Set(manifest.filter((entry) => !entry.exposed).map((entry) => entry.name));
  return Object.entries(openapi.paths).flatMap(([path, item]) => {
    const name = path.startsWith(CAPABILITY_PATH_PREFIX) ? path.slice(CAPABILITY_PATH_PREFIX.length) : '';
    return name === '' || hidden.has(name) ? [] : [{ name, path, item }];
  });
}
