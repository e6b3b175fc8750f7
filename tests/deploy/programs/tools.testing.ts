import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../documentation/documents.ts';

/** Path of a program that `npm run test:chart` has installed, or that the machine has; else undefined, which is told. */
export function findTool(name: string, tests: string, install: string): string | undefined {
  const own = join(ROOT, '.cache/chart-tools', name);
  if (existsSync(own)) return own;
  if (spawnSync('which', [name]).status === 0) return name;
  process.stderr.write(`\nSKIPPED: ${tests}, for want of ${name}; to run them: ${install}\n`);
  return undefined;
}
