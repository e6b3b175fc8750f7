import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../install.mjs';
import { need, NotMade, run } from './not-made.mjs';
import { archive } from './stage.mjs';

/** An image of each program as an archive of the Open Container Initiative. `base` goes before that of the Containerfile. */
export function makeImages({ work, out, programs, version, sourceDate, base }) {
  need('buildah', 'tar');
  const storage = join(work, 'storage.conf');
  // Of its own, so that nothing of it stays.
  const folders = { graphroot: join(work, 'images'), runroot: join(work, 'images-run') };
  const lines = Object.entries(folders).map(([name, path]) => `${name} = ${JSON.stringify(path)}`);
  writeFileSync(storage, ['[storage]', 'driver = "vfs"', ...lines, ''].join('\n'));
  const env = { ...process.env, CONTAINERS_STORAGE_CONF: storage };
  const containerfile = 'deploy/oci/Containerfile';
  const [, usual] = /^ARG BASE=(\S+)$/m.exec(readFileSync(join(root, containerfile), 'utf8'));
  const image = base ?? usual;
  // Without a way to its registry there is none; whatever goes wrong from here on is a fault.
  run('buildah', ['pull', '--quiet', image], { env, Failure: NotMade, timeout: 600_000 });
  return programs.map(({ name }) => {
    const file = `${name}-${version}-oci-${process.arch === 'x64' ? 'amd64' : process.arch}.tar`;
    const labels = { title: name, version, licenses: 'MIT' };
    const how = ['--isolation', 'chroot', '--format', 'oci', '--timestamp', String(sourceDate)];
    // A label of its own would name the version of buildah.
    const labelled = [
      '--identity-label=false',
      ...Object.entries(labels).flatMap((pair) => ['--label', `org.opencontainers.image.${pair.join('=')}`]),
    ];
    const layout = join(work, 'layouts', name);
    const from = ['--build-arg', `BASE=${image}`, '--file', containerfile, '--target', name];
    const what = [...from, '--tag', `oci:${layout}:${name}:${version}`, '.'];
    const args = ['build', ...how, ...labelled, ...what];
    mkdirSync(layout, { recursive: true });
    run('buildah', args, { cwd: root, env });
    // buildah could make the archive, but with the time of now in it.
    archive(join(out, file), { folder: layout, names: ['blobs', 'index.json', 'oci-layout'], sourceDate });
    return { file };
  });
}
