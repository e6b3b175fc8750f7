import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { runProcess, temporaryFolder, type TemporaryFolder } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { addSystemFolders, copyWithLibraries } from './empty-root.testing.ts';
import { startCollector } from '../traces/collector.testing.ts';
import { firstAnswer, firstAnswerOfDev, NOBODY, type Installed } from './first-answer.testing.ts';
import { NAMES } from './make-packages.ts';
import { madeFiles, lacks } from './tools.testing.ts';

const [report] = inject('packages');
const debian = inject('debian');
const made = (kind: string): readonly string[] =>
  madeFiles(report, kind).map((file) => join(report.folder, file));

let temporary: TemporaryFolder;
beforeAll(async () => void (temporary = await temporaryFolder('installed')));
afterAll(() => temporary.remove());

/** A new folder that is to be a root. */
async function newRoot(name: string): Promise<string> {
  const root = join(temporary.path, name);
  await mkdir(root, { mode: 0o755 });
  return root;
}

/** What stands before the command lines of whoever owns nothing there and sees nothing else. */
const inRoot = (root: string): readonly string[] => ['chroot', `--userspec=${NOBODY}`, root];

const ANSWER = { status: 200, rows: [{ title: 'The Owl' }] };

/** The answer, and who sent spans of the call. */
async function watchedAnswer(installed: Installed): Promise<object> {
  const collector = await startCollector();
  try {
    const answer = await firstAnswer({ ...installed, collector });
    const traced = ['svc-agent', 'svc-gateway'];
    for (const name of traced) await collector.waitFor(({ resource }) => resource['service.name'] === name);
    return { ...answer, traced };
  } finally {
    await collector.close();
  }
}

/** With what is loaded only when it is asked for. */
const WATCHED_ANSWER = {
  ...ANSWER,
  page: expect.stringMatching(/^<!doctype html>[^]*<script/i),
  traced: ['svc-agent', 'svc-gateway'],
};

describe.runIf(made('npm').length > 0)('the package of npm', () => {
  test('has its commands and nothing to download or run, and answers a call', async () => {
    const root = await newRoot('npm');
    const [tarball = ''] = made('npm');
    const { code, stdout, stderr } = await runProcess(
      'npm',
      ['install', '--offline', '--prefix', root, tarball],
      {
        env: { npm_config_cache: join(root, 'cache'), npm_config_userconfig: join(root, 'npmrc') },
        withinMs: 60_000,
      },
    );
    expect({ code, stdout, stderr }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('added 1 package'),
    });
    const manifest = JSON.parse(readFileSync(join(root, 'node_modules', NAMES.npm, 'package.json'), 'utf8'));
    expect(Object.keys(manifest.bin)).toEqual(['svc-gateway', 'svc-agent', 'svc', 'reports']);
    expect(manifest).not.toHaveProperty('scripts');
    expect(manifest).not.toHaveProperty('dependencies');
    const bin = join(root, 'node_modules/.bin');
    const file = join(root, 'capability.yaml');
    expect(
      await watchedAnswer({
        root: '',
        gateway: [join(bin, 'svc-gateway')],
        agent: [join(bin, 'svc-agent'), '--config', file],
        capabilityFile: file,
      }),
    ).toEqual(WATCHED_ANSWER);
  });
});

describe.runIf(made('binary').length > 0)('the executables', () => {
  let root = '';
  beforeAll(async () => {
    root = await newRoot('binary');
    const unpacked = await newRoot('unpacked');
    for (const archive of made('binary')) {
      execFileSync('tar', ['-xzf', archive, '--strip-components=1', '-C', unpacked]);
    }
    copyWithLibraries(root, {
      '/svc/svc-gateway': join(unpacked, 'svc-gateway'),
      '/svc/svc-agent': join(unpacked, 'svc-agent'),
    });
    addSystemFolders(root);
  });
  const cannot = lacks('root', 'chroot', 'ldd');

  test.skipIf(cannot).each([1, 2])(
    'answer a call where there is nothing but the C library, by %d process(es)',
    async (workers) => {
      expect(
        await firstAnswer({
          root,
          within: inRoot(root),
          gateway: ['/svc/svc-gateway'],
          // Found beside the agent.
          agent: ['/svc/svc-agent'],
          capabilityFile: '/svc/capability.yaml',
          workers,
        }),
      ).toEqual(ANSWER);
    },
  );

  test.skipIf(cannot)('have the console and the traces inside', async () => {
    expect(
      await watchedAnswer({
        root,
        within: inRoot(root),
        gateway: ['/svc/svc-gateway'],
        agent: ['/svc/svc-agent'],
        capabilityFile: '/svc/capability.yaml',
      }),
    ).toEqual(WATCHED_ANSWER);
  });

  test.skipIf(cannot)('try capabilities out there', async () => {
    expect(
      await firstAnswerOfDev({
        root,
        within: inRoot(root),
        agent: ['/svc/svc-agent'],
        capabilityFile: '/svc/capability.yaml',
      }),
    ).toEqual(ANSWER);
  });

  test.skipIf(cannot)('take neither code nor commands of their own from outside', async () => {
    const { code, stdout, stderr } = await runProcess('/svc/svc-agent', ['--eval', 'console.log(1)'], {
      within: inRoot(root),
    });
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('--eval'),
    });
  });
});

describe.runIf(made('deb').length > 0 && debian !== undefined)('the packages of Debian', () => {
  test.skipIf(lacks('root', 'chroot', 'dpkg-deb'))(
    'are installed, answer a call, and are removed and purged',
    async () => {
      const root = join(temporary.path, 'debian');
      execFileSync('cp', ['-a', debian ?? '', root]);
      addSystemFolders(root);
      for (const file of made('deb')) await cp(file, join(root, 'tmp', basename(file)));
      const dpkg = (...args: readonly string[]): void =>
        void execFileSync('chroot', [root, 'sh', '-c', `dpkg ${args.join(' ')}`], { stdio: 'pipe' });
      dpkg('--install', '/tmp/*.deb');
      expect(findFiles(join(root, 'etc/systemd'), 'svc-*')).toEqual([]);
      const settings = join(root, 'etc/svc/gateway.env');
      await writeFile(settings, `${readFileSync(settings, 'utf8')}GATEWAY_LOG_LEVEL=info\n`);
      expect(
        await firstAnswer({
          root,
          within: inRoot(root),
          gateway: ['/usr/bin/svc-gateway'],
          agent: ['/usr/bin/svc-agent', '--config', '/etc/svc/capability.yaml'],
          capabilityFile: '/etc/svc/capability.yaml',
        }),
      ).toEqual(ANSWER);
      dpkg('--remove', 'svc-gateway', 'svc-agent');
      expect(existsSync(join(root, 'usr/bin/svc-gateway'))).toBe(false);
      expect(readFileSync(settings, 'utf8')).toContain('GATEWAY_LOG_LEVEL');
      dpkg('--purge', 'svc-gateway', 'svc-agent');
      expect(existsSync(settings)).toBe(false);
    },
  );

  test.skipIf(lacks('systemd-analyze'))('have units that systemd takes', async () => {
    const root = await newRoot('units');
    for (const file of made('deb')) execFileSync('dpkg-deb', ['-x', file, root]);
    for (const program of ['svc-gateway', 'svc-agent']) {
      const unit = join(root, `usr/lib/systemd/system/${program}.service`);
      // The executable and the files are looked for on this machine.
      const text = readFileSync(unit, 'utf8').replace('=/usr/bin/', `=${root}/usr/bin/`);
      const copy = join(root, `${program}.service`);
      await writeFile(copy, text);
      const { code, stderr } = await runProcess('systemd-analyze', ['verify', '--man=no', copy]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    }
  });
});

describe.runIf(made('rpm').length > 0)('the packages of Red Hat', () => {
  test.skipIf(lacks('root', 'chroot', 'ldd', 'rpm'))(
    'are installed into an empty root, and answer a call',
    async () => {
      const root = await newRoot('rpm');
      // What else a system has is not there: neither the packages that it needs nor a shell.
      execFileSync('rpm', ['--root', root, '--nodeps', '--noscripts', '--install', ...made('rpm')], {
        stdio: 'pipe',
      });
      copyWithLibraries(root, { '/usr/bin/svc-gateway': join(root, 'usr/bin/svc-gateway') });
      addSystemFolders(root);
      expect(existsSync(join(root, 'usr/lib/systemd/system/svc-agent.service'))).toBe(true);
      expect(
        await firstAnswer({
          root,
          within: inRoot(root),
          gateway: ['/usr/bin/svc-gateway'],
          agent: ['/usr/bin/svc-agent', '--config', '/etc/svc/capability.yaml'],
          capabilityFile: '/etc/svc/capability.yaml',
        }),
      ).toEqual(ANSWER);
    },
  );
});

describe.runIf(made('image').length > 0)('the images', () => {
  test.skipIf(lacks('root', 'chroot', 'unshare', 'tar'))(
    'run as nobody on a root that nobody may write',
    async () => {
      const images = await Promise.all(made('image').map((archive) => unpack(archive)));
      expect(images).toHaveLength(2);
      for (const { config } of images) expect(config).toMatchObject({ User: NOBODY });
      const [gateway, agent] = images;
      if (gateway === undefined || agent === undefined) return;
      expect([gateway.config.Entrypoint, agent.config.Entrypoint]).toEqual([
        ['node', '/opt/svc/svc-gateway'],
        ['node', '/opt/svc/svc-agent'],
      ]);
      for (const [index, program] of ['svc-gateway', 'svc-agent'].entries()) {
        const licences = join(images[index]?.root ?? '', 'usr/share/doc', program);
        expect((await readdir(licences)).toSorted()).toEqual(['LICENSE', 'THIRD_PARTY_LICENSES']);
      }
      // Both stand on the same files, so that one root can have both programs.
      await cp(join(agent.root, 'opt'), join(gateway.root, 'opt'), { recursive: true });
      const { root } = gateway;
      const env = Object.fromEntries(
        [...gateway.config.Env, ...agent.config.Env].map((line) => line.split(/=(.*)/s)),
      );
      expect(env).toMatchObject({ MALLOC_ARENA_MAX: '1', AGENT_CAPABILITY_FILE: '/etc/svc/capability.yaml' });
      const readOnly =
        'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec chroot --userspec=65532:65532 "$0" "$@"';
      expect(
        await firstAnswer({
          root,
          within: ['unshare', '--mount', 'sh', '-c', readOnly, root],
          gateway: ['/usr/local/bin/node', '/opt/svc/svc-gateway'],
          agent: ['/usr/local/bin/node', '/opt/svc/svc-agent'],
          capabilityFile: '/etc/svc/capability.yaml',
          env,
        }),
      ).toEqual(ANSWER);
    },
  );
});

function findFiles(folder: string, name: string): readonly string[] {
  const found = execFileSync('find', [folder, '-name', name], { encoding: 'utf8' });
  return found.split('\n').filter((line) => line !== '');
}

interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
}

/** The files and the configuration of an image that is one archive. */
async function unpack(archive: string): Promise<{ readonly root: string; readonly config: ImageConfig }> {
  const layout = await newRoot(`layout-${basename(archive)}`);
  const root = await newRoot(`image-${basename(archive)}`);
  execFileSync('tar', ['-xf', archive, '-C', layout]);
  const blob = (digest: string): string => join(layout, 'blobs', digest.replace(':', '/'));
  const json = (path: string): ReturnType<typeof JSON.parse> => JSON.parse(readFileSync(path, 'utf8'));
  const [{ digest }] = json(join(layout, 'index.json')).manifests;
  const manifest = json(blob(digest));
  for (const layer of manifest.layers) execFileSync('tar', ['-xf', blob(layer.digest), '-C', root]);
  addSystemFolders(root);
  return { root, config: json(blob(manifest.config.digest)).config };
}
