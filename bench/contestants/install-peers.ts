import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProcess } from '@svc/testkit';
import { say } from '../report/options.ts';

/** Where the programs to measure against are listed, locked and installed. */
export const PEERS_FOLDER: string = fileURLToPath(new URL('../peers', import.meta.url));

type Packages = Readonly<Record<string, { readonly version?: string; readonly optional?: boolean }>>;

/** Installs what the lock file names, unless it is there. Rejects with what npm said. */
export async function installPeers(): Promise<void> {
  if (isInstalled()) return;
  const started = performance.now();
  say('Installing the peers to measure against (some 450 MB) ...');
  const { code, stdout, stderr } = await runProcess(
    'npm',
    // Without scripts: nothing in there needs one, and some of it asks for a newer Node.js than it needs.
    ['ci', '--include=optional', '--ignore-scripts', '--engine-strict=false'],
    { cwd: PEERS_FOLDER, env: process.env, withinMs: 600_000 },
  );
  if (code !== 0 || !isInstalled()) {
    throw new Error(`cannot install what bench/peers needs: npm ended with ${code}\n${stdout}${stderr}`);
  }
  say(`Installed them in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

/** npm writes its record of what it installed last of all. */
function isInstalled(): boolean {
  const wanted = packagesIn('package-lock.json');
  let installed: Packages;
  try {
    installed = packagesIn('node_modules/.package-lock.json');
  } catch {
    return false;
  }
  return Object.entries(wanted).every(([path, { version, optional }]) => {
    if (path === '') return true;
    return installed[path] === undefined ? optional === true : installed[path].version === version;
  });
}

function packagesIn(file: string): Packages {
  const { packages }: { packages: Packages } = JSON.parse(readFileSync(join(PEERS_FOLDER, file), 'utf8'));
  return packages;
}
