import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './install.mjs';

/** A registry that does not answer holds nothing up for longer. */
const INSTALL_MS = 600_000;

/**
 * Programs that a test command installs for itself in `folder`, where git sees nothing. Without what installs them
 * they are left out, and the tests say what they skip.
 */
export function createTools(folder) {
  mkdirSync(folder, { recursive: true });
  // Written last of all.
  const receipt = (name) => join(folder, `${name}.version`);

  const isInstalled = (name, version) =>
    existsSync(receipt(name)) && readFileSync(receipt(name), 'utf8') === version;

  /** Runs `program` with `args`, if there is one. */
  function install(name, version, needed, program, args) {
    if (isInstalled(name, version)) return;
    if (program === undefined) {
      process.stderr.write(`\nSKIPPED: ${name} cannot be installed without ${needed}\n\n`);
      return;
    }
    process.stderr.write(`Installing ${version}; the first time takes minutes ...\n`);
    const code = run(program, args, { GOBIN: folder, GOFLAGS: '' }, INSTALL_MS);
    if (code === 0) writeFileSync(receipt(name), version);
    else process.stderr.write(`\nSKIPPED: ${name}: ${program} ended with ${code}, see above\n\n`);
  }

  return {
    /** `modules`: name to module. Each is built as its authors locked it, and not as a module around it would have it. */
    installWithGo(modules) {
      const wanted = Object.entries(modules).filter(([name, module]) => !isInstalled(name, module));
      if (wanted.length === 0) return;
      const go = ['go', '/usr/local/go/bin/go', '/usr/lib/go/bin/go'].find(isThere);
      for (const [name, module] of wanted)
        install(name, module, 'Go (https://go.dev/dl/)', go, ['install', module]);
    },
    /** `packages`: name to package. Each goes into a folder of its own, without its scripts: none of them needs one. */
    installWithNpm(packages) {
      for (const [name, wanted] of Object.entries(packages)) {
        const target = join(folder, name);
        mkdirSync(target, { recursive: true });
        const args = [
          'install',
          '--prefix',
          target,
          '--no-save',
          '--ignore-scripts',
          '--engine-strict=false',
        ];
        install(name, wanted, 'npm', 'npm', [...args, wanted]);
      }
    },
    /** Into a folder of its own. */
    installWithPip(name, requirement, options = []) {
      const hasPip = spawnSync('python3', ['-m', 'pip', '--version']).status === 0;
      const target = join(folder, name);
      const args = ['-m', 'pip', 'install', '--quiet', ...options, '--target', target, '--upgrade'];
      install(name, requirement, 'Python with pip', hasPip ? 'python3' : undefined, [...args, requirement]);
    },
  };
}

/** Runs a program in the repository's root; returns its exit code. */
export function run(command, args, env = {}, timeout) {
  const { status } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    timeout,
    env: { ...process.env, ...env },
  });
  return status ?? 1;
}

function isThere(program) {
  return spawnSync(program, ['version']).status === 0;
}
