import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { npm, root } from '../install.mjs';
import { need, NotMade, run } from './not-made.mjs';
import { removeAtEnd } from './removed-at-end.mjs';

/** What goes into the binaries: a package with the executable of that release, its licence, and no scripts. */
const VERSION = '26.10.0';
const INTEGRITY = {
  x64: 'sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==',
  arm64: 'sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==',
};
/** The first that makes executables by itself. */
const FIRST_MAJOR = 26;

/** The Node.js that binaries are made with, by tar and strip, and of: paths of the executable and of its licence, and its `process.versions`. */
export async function findNode(given) {
  if (process.platform !== 'linux' || INTEGRITY[process.arch] === undefined) {
    throw new NotMade(`made on Linux (${Object.keys(INTEGRITY).join(', ')}) only`);
  }
  // Before it is downloaded, so that the same is named whether or not it was downloaded earlier.
  need('tar', 'strip');
  const node = given === undefined ? await download() : resolve(given);
  const licence = join(dirname(dirname(node)), 'LICENSE');
  if (!existsSync(licence)) throw new NotMade(`there is no licence of Node.js at ${licence}`);
  const versions = JSON.parse(run(node, ['-p', 'JSON.stringify(process.versions)'], { Failure: NotMade }));
  if (Number(versions.node.split('.')[0]) < FIRST_MAJOR) {
    throw new NotMade(`needs Node.js ${FIRST_MAJOR} or newer, and ${node} is ${versions.node}`);
  }
  return { file: node, licence, versions };
}

/** A registry that does not answer costs six minutes, in place of npm's fifteen. */
const BOUNDED = ['--fetch-retries=2', '--fetch-timeout=120000'];

/** Once; kept where git sees nothing. */
async function download() {
  const folder = join(root, '.cache/package-tools', `node-linux-${process.arch}-${VERSION}`);
  const node = join(folder, 'bin/node');
  if (!existsSync(node)) {
    await downloadNode(VERSION, folder, ['bin/node', 'LICENSE'], INTEGRITY[process.arch]);
  }
  return node;
}

/**
 * Puts these files of a version, or of the newest of a line such as 22, into `folder`: all of them or none. They come from
 * the registry of npm, whose packages of Node.js hold just the program. Rejects with NotMade if they cannot be had.
 */
export async function downloadNode(version, folder, files, integrity) {
  if (process.platform !== 'linux') throw new NotMade('there is none for this system');
  need('tar');
  process.stderr.write(`Downloading Node.js ${version} ...\n`);
  const draft = `${folder}.${process.pid}.tmp`;
  removeAtEnd(draft);
  try {
    mkdirSync(draft, { recursive: true });
    const name = `node-linux-${process.arch}@${version}`;
    const { code, output } = await npm(['pack', '--ignore-scripts', ...BOUNDED, name], draft);
    if (code !== 0) throw new NotMade(`cannot download Node.js ${version}: ${reasonOf(output)}`);
    const [tarball] = readdirSync(draft).map((file) => join(draft, file));
    const digest = createHash('sha512').update(readFileSync(tarball)).digest('base64');
    if (integrity !== undefined && integrity !== `sha512-${digest}`) {
      throw new Error(`${name} is not the package that it was: its sha512 is ${digest}`);
    }
    const members = files.map((file) => `package/${file}`);
    run('tar', ['-xzf', tarball, '--strip-components=1', ...members], { cwd: draft });
    rmSync(tarball);
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** npm says it among codes, advice and where its log is. */
function reasonOf(output) {
  const lines = output.trim().split('\n');
  const said = lines.find((line) => /^npm error (?!code |errno |syscall )/.test(line));
  return (said ?? lines[0]).replace('npm error ', '');
}
