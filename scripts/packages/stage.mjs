import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../install.mjs';
import { run } from './not-made.mjs';

/** Puts files into `folder`, a text or the path of a file each, with modes that no umask changes. */
export function stage(folder, files) {
  for (const [name, { text, file, mode = 0o644 }] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    if (text === undefined) copyFileSync(file, path);
    else writeFileSync(path, text);
    chmodSync(path, mode);
  }
}

/** An archive of `names` in `folder`: the same bytes whoever made them, and when. */
export function archive(file, { folder, names, sourceDate, filter = [] }) {
  const same = ['--sort=name', '--format=gnu', '--owner=0', '--group=0', '--numeric-owner'];
  const modes = ['--mode=u=rwX,go=rX', `--mtime=@${sourceDate}`];
  run('tar', ['--create', '--file', file, '--directory', folder, ...same, ...modes, ...filter, ...names]);
}

/** When the commit was made that is packaged, in seconds: all files in all packages are as old. */
export function sourceDate(env) {
  const given = env.SOURCE_DATE_EPOCH;
  if (given !== undefined) {
    if (!/^\d{1,11}$/.test(given)) throw new Error('SOURCE_DATE_EPOCH must be a number of seconds');
    return Number(given);
  }
  try {
    const shown = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, stdio: 'pipe' });
    return Number(String(shown));
  } catch {
    throw new Error('there is no git to ask when the commit was made: set SOURCE_DATE_EPOCH');
  }
}
