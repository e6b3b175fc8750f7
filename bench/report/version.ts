import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runProcess } from '@svc/testkit';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Of this service, e.g. `0.1.0 (67014a1)`; without the commit where there is no git. */
export async function version(): Promise<string> {
  const { version }: { version: string } = JSON.parse(await readFile(`${ROOT}/package.json`, 'utf8'));
  const commit = await git('rev-parse', '--short', 'HEAD');
  if (commit === '') return version;
  const changed = await git('status', '--porcelain', '--', 'packages', 'package-lock.json');
  return `${version} (${commit}${changed === '' ? '' : ', changed'})`;
}

async function git(...args: readonly string[]): Promise<string> {
  const { code, stdout } = await runProcess('git', ['-C', ROOT, ...args]).catch(() => ({
    code: 1,
    stdout: '',
  }));
  return code === 0 ? stdout.trim() : '';
}
