import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { npm, readJson, root } from '../install.mjs';
import { mcpServers, pluginManifest } from './client-files.mjs';
import { stage } from './stage.mjs';

/**
 * One package with all programs: no dependencies, no scripts. npm gives each file in it the same time. It is a plugin of
 * Claude Code, too.
 */
export async function makeNpmTarball({ work, out, programs, licences, npmName, mcpName }) {
  const folder = join(work, 'npm');
  const { name, version, description, keywords, license, engines } = readJson('package.json');
  const bin = Object.fromEntries(programs.map((program) => [program.name, `bin/${program.name}`]));
  const manifest = {
    name: npmName ?? name,
    version,
    ...(mcpName !== undefined && { mcpName }),
    description,
    keywords,
    license,
    engines,
    bin: { ...bin, ...commandOf(npmName, bin) },
  };
  stage(folder, {
    'package.json': { text: `${JSON.stringify(manifest, undefined, 2)}\n` },
    'README.md': { file: join(root, 'README.md') },
    '.claude-plugin/plugin.json': { text: pluginManifest({ version, description, license }) },
    '.mcp.json': { text: mcpServers() },
    ...licences,
    ...Object.fromEntries(
      programs.flatMap((program) => [
        [`bin/${program.name}`, { file: program.file, mode: 0o755 }],
        [`${program.name}.cdx.json`, { text: program.sbom }],
      ]),
    ),
  });
  const destination = join(work, 'npm-packed');
  mkdirSync(destination);
  const { code, output } = await npm(['pack', '--ignore-scripts', '--pack-destination', destination], folder);
  if (code !== 0) throw new Error(`npm pack ended with ${code}: ${output}`);
  // Faults of svc name the file, whatever name the package has in a registry.
  const file = `${name}-${version}.tgz`;
  const [packed = ''] = readdirSync(destination);
  // The two folders may be on different disks.
  copyFileSync(join(destination, packed), join(out, file));
  return [{ file }];
}

/** `npx NAME` runs the command that is called as the package, without its scope. */
function commandOf(npmName, bin) {
  const command = npmName?.split('/').at(-1);
  return command === undefined || Object.hasOwn(bin, command) ? {} : { [command]: bin.svc };
}
