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
  const reason = whyInstall();
  if (reason === undefined) return;
  const started = Date.now();
  process.stderr.write(`Installing dependencies (${reason}); the first time takes up to a minute ...\n`);
  // A user's own settings must not leave out the tools or the platform's binaries.
  const { code, output } = await npm(['ci', '--include=dev', '--include=optional']);
  if (code !== 0) fail(1, `${output}\ncannot install the dependencies: npm ended with ${code}, see above.`);
  process.stderr.write(`Installed dependencies in ${((Date.now() - started) / 1000).toFixed(1)} s\n`);
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
function whyInstall() {
  const wanted = readJson('package-lock.json').packages;
  let installed;
  try {
    installed = readJson('node_modules/.package-lock.json').packages;
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
  const named = entry.os !== undefined || entry.cpu !== undefined;
  const fits =
    named &&
    entry.libc === undefined &&
    (entry.os === undefined || entry.os.includes(process.platform)) &&
    (entry.cpu === undefined || entry.cpu.includes(process.arch));
  return !fits;
}

/** Runs npm in `folder`; resolves to its exit code and all that it wrote. */
export function npm(args, folder = root) {
  const cli = process.env.npm_execpath;
  const child =
    cli !== undefined && basename(cli) === 'npm-cli.js'
      ? spawn(process.execPath, [cli, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
      : spawn('npm', args, {
          cwd: folder,
          stdio: ['ignore', 'pipe', 'pipe'],
          shell: process.platform === 'win32',
        });
  const interrupted = (signal) => {
    child.kill(signal);
    process.exit(1);
  };
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  return new Promise((resolve) => {
    let output = '';
    const collect = (chunk) => (output += chunk);
    const finish = (code) => {
      process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
      resolve({ code, output });
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.on('error', (error) => {
      output += `cannot run npm: ${error.message}`;
      finish(1);
    });
    child.on('close', (code, signal) => finish(code ?? signal));
  });
}

function fail(code, message) {
  process.stderr.write(`${message.trimStart()}\n`);
  process.exit(code);
}
