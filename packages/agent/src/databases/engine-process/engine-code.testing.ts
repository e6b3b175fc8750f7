import type { OwnCode } from '@svc/edge';
import { build } from 'esbuild';

/** The code of an engine process, as the executable holds it. */
export async function engineCodeOf(command: string, entry: URL, external: string[] = []): Promise<OwnCode> {
  const { outputFiles } = await build({
    entryPoints: [entry.pathname],
    write: false,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external,
  });
  return { command, text: outputFiles[0]?.text ?? '' };
}
