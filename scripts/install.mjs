import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, basename } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root folder. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Makes the repository ready to build: a Node.js new enough, and the dependencies of package-lock.json
 * installed. Ends the process with code 2 when Node.js is too old and 1 when the installation fails.
 */
export async function install() {
  const floor = nodeFloor();
  if (!isAtLeast(process.versions.node, floor)) {
    fail(
      2,
      `cannot run on Node.js ${process.versions.node}: this repository needs ${floor} or newer. ` +
        'Install a current release from https://nodejs.org and run the command again.',
    );
  }
  await installIn('.', 'dependencies', 'the first time takes up to a minute', ['--include=dev']);
}

/**
 * Makes node_modules in `folder`, relative to the root, what the lock file there says. Says on standard error what it
 * installs and why, with `note`, and ends the process with code 1 when it fails.
 */
export async function installIn(folder, what, note, options = []) {
  const reason = whyInstall(folder);
  if (reason === undefined) return;
  const started = performance.now();
  process.stderr.write(`Installing ${what} (${reason}); ${note} ...\n`);
  // A user's own settings must not leave out the tools or the platform's binaries.
  const { code, output } = await npm(['ci', ...options, '--include=optional'], join(root, folder));
  // npm ends with 0 without what is optional and cannot be had. The repository itself can do without.
  if (code !== 0 || (folder !== '.' && whyInstall(folder) !== undefined)) {
    fail(1, `${output}\ncannot install ${what}: npm ended with ${code}, see above.`);
  }
  process.stderr.write(`Installed ${what} in ${seconds(started)}\n`);
}

export function seconds(since) {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

/** The oldest Node.js that works, as `20.19`; package.json's `engines.node` is the only place that says so. */
export function nodeFloor() {
  const range = readJson('package.json').engines.node;
  const floor = /^>=(\d+\.\d+(?:\.\d+)?)$/.exec(range);
  if (floor === null) throw new Error(`cannot read engines.node "${range}": write it as >=MAJOR.MINOR`);
  return floor[1];
}

export function readJson(path) {
  return JSON.parse(readFileSync(join(root, path), 'utf8'));
}

function isAtLeast(version, floor) {
  const have = version.split('.').map(Number);
  const need = floor.split('.').map(Number);
  for (const [index, part] of need.entries()) {
    if (have[index] !== part) return have[index] > part;
  }
  return true;
}

/**
 * npm records what it installed in node_modules/.package-lock.json, last of all. The two files are compared
 * by content: times say nothing after a clone, a checkout or a restored cache.
 */
function whyInstall(folder) {
  const wanted = readJson(`${folder}/package-lock.json`).packages;
  let installed;
  try {
    installed = readJson(`${folder}/node_modules/.package-lock.json`).packages;
  } catch {
    return 'node_modules is missing or incomplete';
  }
  for (const [path, entry] of Object.entries(wanted)) {
    if (!path.startsWith('node_modules/') && !path.includes('/node_modules/')) continue;
    const found = installed[path];
    if (found === undefined) {
      if (!isForOtherMachine(entry)) return `${path} is missing`;
    } else if (found.version !== entry.version || found.integrity !== entry.integrity) {
      return `${path} is out of date`;
    }
  }
  return undefined;
}

function isForOtherMachine(entry) {
  if (entry.optional !== true && entry.devOptional !== true) return false;
  // npm leaves out what is optional for other reasons, too.
  if (entry.libc !== undefined || (entry.os ?? entry.cpu) === undefined) return true;
  const { os = process.platform, cpu = process.arch } = entry;
  return ![os].flat().includes(process.platform) || ![cpu].flat().includes(process.arch);
}

/** Runs npm in `folder`; resolves to its exit code and all that it wrote. */
export function npm(args, folder = root) {
  const cli = process.env.npm_execpath;
  const options = { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] };
  const child =
    cli !== undefined && basename(cli) === 'npm-cli.js'
      ? spawn(process.execPath, [cli, ...args], options)
      : spawn('npm', args, { ...options, shell: process.platform === 'win32' });
  const interrupted = (signal) => {
    child.kill(signal);
    process.exit(1);
  };
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  return ended(child).finally(() => process.off('SIGINT', interrupted).off('SIGTERM', interrupted));
}

/** Resolves, when the child has ended, to its exit code or signal and all that it wrote. */
export function ended(child) {
  let output = '';
  const collect = (text) => (output += text);
  child.stdout.setEncoding('utf8').on('data', collect);
  child.stderr.setEncoding('utf8').on('data', collect);
  return new Promise((resolve) => {
    child.on('error', ({ message }) => {
      resolve({ code: 1, output: `${output}cannot run ${child.spawnfile}: ${message}` });
    });
    child.on('close', (code, signal) => resolve({ code: code ?? signal, output }));
  });
}

function fail(code, message) {
  process.stderr.write(`${message.trimStart()}\n`);
  process.exit(code);
}
