import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { npm, root } from './install.mjs';

const folder = join(root, '.cache/sqlite-nodes');

/** The lines of Node.js that the driver of SQLite is tested on: the oldest that it takes, and the newest of two. */
export const NODE_LINES = ['22.16', '22', '24'];

/**
 * Downloads those of `lines` that are missing, once, from the registry of npm, whose packages hold just the program;
 * returns the paths of the programs that there are then. What cannot be had is said on standard error.
 */
export async function installNodes(lines) {
  const programs = [];
  for (const line of lines) {
    const program = join(folder, line, 'bin/node');
    const problem = existsSync(program) ? undefined : await download(line);
    if (problem === undefined) programs.push(program);
    else process.stderr.write(`\nSKIPPED: Node.js ${line}: ${problem}\n\n`);
  }
  return programs;
}

/** Returns what is wrong where it cannot be had. */
async function download(line) {
  if (process.platform !== 'linux') return 'there is none for this system';
  process.stderr.write(`Downloading Node.js ${line} ...\n`);
  const target = join(folder, line);
  const draft = `${target}.${process.pid}.tmp`;
  mkdirSync(draft, { recursive: true });
  try {
    const { code, output } = await npm(
      ['pack', '--ignore-scripts', `node-linux-${process.arch}@${line}`],
      draft,
    );
    if (code !== 0) return output.trim();
    const unpack = 'tar -xzf *.tgz --strip-components=1 package/bin/node && rm *.tgz';
    const { status, stderr } = spawnSync('sh', ['-c', unpack], { cwd: draft, encoding: 'utf8' });
    if (status !== 0) return stderr;
    renameSync(draft, target);
    return undefined;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
