import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Registry } from '../agents/registry.ts';
import type { Observe } from '../observe/event.ts';
import { createDocuments } from './document.ts';

const FILE = 'openapi.json';

/**
 * GATEWAY_EMIT_OPENAPI_SNAPSHOT: each newly cached description is also written to `openapi.json` in
 * `folder`, whole or not at all.
 */
export function keepSnapshot(
  registry: Registry,
  publicUrl: string | undefined,
  observe: Observe,
  folder: string,
): void {
  const documentFor = createDocuments(publicUrl);
  let last = Promise.resolve();
  registry.onDescription((description) => {
    const { bytes } = documentFor(description, '*');
    last = last
      .then(() => replace(join(folder, FILE), bytes))
      .catch((error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        observe({ event: 'config_warning', message: `cannot write ${FILE}: ${message}` });
      });
  });
}

async function replace(path: string, bytes: Buffer): Promise<void> {
  const draft = `${path}.${process.pid}.tmp`;
  await writeFile(draft, bytes);
  await rename(draft, path);
}
