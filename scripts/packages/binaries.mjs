import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { need, run } from './not-made.mjs';
import { archive, stage } from './stage.mjs';

/** The programs with Node.js inside, one executable each, with what it says of itself and what lies beside it. */
export function makeExecutables({ work, programs, licences, node }) {
  // Without what only a debugger reads, a quarter of it.
  const stripped = join(work, 'node');
  run('strip', ['-o', stripped, node.file]);
  return programs.map((program) => {
    const binary = join(work, 'binaries', program.name);
    const config = join(work, `${program.name}.sea.json`);
    stage(work, { [`binaries/${program.name}`]: { text: '' } });
    writeFileSync(
      config,
      JSON.stringify({
        main: program.file,
        executable: stripped,
        output: binary,
        disableExperimentalSEAWarning: true,
        // It would differ each time.
        useCodeCache: false,
        // No SIGUSR1 opens the debugger, not even while Node.js itself starts. A young generation of 4 MiB keeps the memory
        // of a program under load low; NODE_OPTIONS cannot change it.
        execArgv: ['--disable-sigusr1', '--max-semi-space-size=4'],
      }),
    );
    run(node.file, ['--build-sea', config]);
    const beside = {
      ...licences,
      'LICENSE.node': { file: node.licence },
      [`${program.name}.cdx.json`]: { text: program.binarySbom },
    };
    const says = (...words) => run(binary, words);
    const [bash, zsh, fish] = ['bash', 'zsh', 'fish'].map((shell) => says('completion', shell));
    return { ...program, binary, beside, help: says('--help'), completions: { bash, zsh, fish } };
  });
}

/** An archive of each. */
export function makeBinaryArchives({ work, out, executables, version, sourceDate }) {
  need('tar', 'gzip');
  return executables.map(({ name, binary, beside }) => {
    const folder = `${name}-${version}-linux-${process.arch}`;
    stage(join(work, 'archives', folder), { ...beside, [name]: { file: binary, mode: 0o755 } });
    const file = `${folder}.tar.gz`;
    const names = [folder];
    const filter = ['--use-compress-program', 'gzip -n'];
    archive(join(out, file), { folder: join(work, 'archives'), names, sourceDate, filter });
    return { file };
  });
}
