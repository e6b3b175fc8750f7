import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** The code of a worker, as the executable holds it. */
export async function workerCode(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('../worker-child.ts', import.meta.url))],
    write: false,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['pg-native', './verifier.ts'],
  });
  return outputFiles[0]?.text ?? '';
}
