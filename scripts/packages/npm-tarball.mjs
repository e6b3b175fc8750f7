import { join } from 'node:path';
import { npm, readJson, root } from '../install.mjs';
import { stage } from './stage.mjs';

/** One package with both programs: no dependencies, no scripts. npm gives each file in it the same time. */
export async function makeNpmTarball({ work, out, programs, licences }) {
  const folder = join(work, 'npm');
  const { name, version, description, keywords, license, engines } = readJson('package.json');
  const bin = Object.fromEntries(programs.map((program) => [program.name, `bin/${program.name}`]));
  const manifest = { name, version, description, keywords, license, engines, bin };
  stage(folder, {
    'package.json': { text: `${JSON.stringify(manifest, undefined, 2)}\n` },
    'README.md': { file: join(root, 'README.md') },
    ...licences,
    ...Object.fromEntries(
      programs.flatMap((program) => [
        [`bin/${program.name}`, { file: program.file, mode: 0o755 }],
        [`${program.name}.cdx.json`, { text: program.sbom }],
      ]),
    ),
  });
  const { code, output } = await npm(['pack', '--ignore-scripts', '--pack-destination', out], folder);
  if (code !== 0) throw new Error(`npm pack ended with ${code}: ${output}`);
  return [{ file: `${name}-${version}.tgz` }];
}
