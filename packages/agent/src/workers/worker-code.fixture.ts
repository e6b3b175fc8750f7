import { fileURLToPath } from 'node:url';
import type { OwnCode } from '@svc/edge';
import { build } from 'esbuild';

/** The code of a worker, as the executable holds it. */
export async function workerCode(): Promise<OwnCode> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('../worker-child.ts', import.meta.url))],
    write: false,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['pg-native', './verifier.ts'],
  });
  return { command: 'internal-worker', text: outputFiles[0]?.text ?? '' };
}
