import { rename, writeFile } from 'node:fs/promises';
import type { Catalog } from '../catalog/catalog.ts';
import type { Observe } from '../observe/event.ts';
import { createDocuments } from './document.ts';

const FILE = 'openapi.json';

/**
 * GATEWAY_EMIT_OPENAPI_SNAPSHOT: each newly cached description is also written to `openapi.json` in
 * the working directory, whole or not at all.
 */
export function keepSnapshot(catalog: Catalog, publicUrl: string | undefined, observe: Observe): void {
  const documentFor = createDocuments(publicUrl);
  let last = Promise.resolve();
  catalog.onDescription((description) => {
    const { bytes } = documentFor(description, '*');
    last = last
      .then(() => replace(bytes))
      .catch((error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        observe({ event: 'config_warning', message: `cannot write ${FILE}: ${message}` });
      });
  });
}

async function replace(bytes: Buffer): Promise<void> {
  const draft = `${FILE}.${process.pid}.tmp`;
  await writeFile(draft, bytes);
  await rename(draft, FILE);
}
