import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { root } from '../install.mjs';
import { createTools } from '../tools.mjs';
import { NotMade, run } from './not-made.mjs';
import { stage } from './stage.mjs';

/** Newer ones have needed modules that the proxy of Go modules does not serve. */
const NFPM = 'github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0';
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' };
const RPM_ARCHITECTURES = { x64: 'x86_64', arm64: 'aarch64' };
const MAINTAINER = 'svc contributors <svc@example.invalid>';
/** What the executable of Node.js is linked with. */
const DEPENDS = {
  deb: ['libc6 (>= 2.28)', 'libstdc++6 (>= 8)', 'libgcc-s1', 'libatomic1'],
  rpm: ['glibc >= 2.28', 'libstdc++', 'libgcc', 'libatomic'],
};
const SUMMARIES = {
  'svc-gateway': 'Gateway to named, read-only database queries over REST and MCP',
  'svc-agent': 'Runs the named queries of a gateway beside their database',
};

export function installNfpm() {
  const folder = join(root, '.cache/package-tools');
  createTools(folder).installWithGo({ nfpm: NFPM });
  const nfpm = join(folder, 'nfpm');
  if (!existsSync(nfpm)) throw new NotMade('needs nfpm, which Go builds');
  return nfpm;
}

/** Packages of Debian (`deb`) or of Red Hat and its kin (`rpm`) around the executables, with their units. */
export function makeSystemPackages(kind, { work, out, executables, version, description, sourceDate, nfpm }) {
  return executables.map((executable) => {
    const { name } = executable;
    const folder = join(work, kind, name);
    const contents = contentsOf(kind, executable, { version, sourceDate });
    stage(folder, Object.fromEntries(contents.map(({ dst, ...content }) => [`root${dst}`, content])));
    const scripts = { postinstall: 'postinst', preremove: 'prerm', postremove: 'postrm' };
    const textOf = (script) => template(`${kind}/${script}`, name);
    stage(
      folder,
      Object.fromEntries(Object.values(scripts).map((script) => [script, { text: textOf(script) }])),
    );
    // Its keys are those of YAML, which JSON is.
    const config = {
      name,
      version,
      arch: ARCHITECTURES[process.arch],
      section: 'net',
      priority: 'optional',
      maintainer: MAINTAINER,
      description: `${SUMMARIES[name]}\n${wrapped(description)}`,
      // Debian has it in the file of copyrights.
      ...(kind === 'rpm' ? { license: 'MIT' } : {}),
      mtime: new Date(sourceDate * 1000).toISOString(),
      depends: DEPENDS[kind],
      suggests: name === 'svc-agent' ? ['svc-gateway'] : [],
      contents: contents.map(({ dst, type, mode = 0o644 }) => ({
        src: join(folder, `root${dst}`),
        dst,
        type,
        file_info: { mode, owner: 'root', group: 'root', mtime: new Date(sourceDate * 1000).toISOString() },
      })),
      scripts: Object.fromEntries(
        Object.entries(scripts).map(([event, script]) => [event, join(folder, script)]),
      ),
      rpm: { summary: SUMMARIES[name], buildhost: 'localhost', compression: 'zstd' },
    };
    stage(folder, { 'nfpm.json': { text: JSON.stringify(config) } });
    const arch = kind === 'deb' ? ARCHITECTURES[process.arch] : RPM_ARCHITECTURES[process.arch];
    const file = kind === 'deb' ? `${name}_${version}_${arch}.deb` : `${name}-${version}-1.${arch}.rpm`;
    const args = ['package', '--config', join(folder, 'nfpm.json'), '--packager', kind];
    run(nfpm, [...args, '--target', join(out, file)], {
      env: { ...process.env, SOURCE_DATE_EPOCH: String(sourceDate) },
    });
    return { file };
  });
}

function contentsOf(kind, { name, binary, beside, help, completions }, { version, sourceDate }) {
  const doc = `/usr/share/doc/${name}`;
  const debian = [
    { dst: `${doc}/changelog.gz`, text: gzip(debianChangelog(name, version, sourceDate)) },
    { dst: `${doc}/copyright`, text: copyright() },
    { dst: `/usr/share/lintian/overrides/${name}`, text: template('lintian-overrides', name) },
  ];
  const gateway = [
    { dst: '/etc/svc/gateway.env', text: template('gateway.env'), mode: 0o600, type: 'config|noreplace' },
  ];
  const agent = [
    { dst: `${doc}/examples/capability.yaml`, file: join(root, 'examples/library/capability.yaml') },
  ];
  return [
    { dst: `/usr/bin/${name}`, file: binary, mode: 0o755 },
    { dst: `/usr/lib/systemd/system/${name}.service`, text: unitOf(name) },
    { dst: `/usr/share/man/man1/${name}.1.gz`, text: gzip(manual(name, help)) },
    { dst: `/usr/share/bash-completion/completions/${name}`, text: completions.bash },
    {
      dst: `/usr/share/zsh/${kind === 'deb' ? 'vendor-completions' : 'site-functions'}/_${name}`,
      text: completions.zsh,
    },
    { dst: `/usr/share/fish/vendor_completions.d/${name}.fish`, text: completions.fish },
    ...Object.entries(beside).map(([file, { text, file: from }]) => ({
      dst: `${doc}/${file}.gz`,
      text: gzip(text ?? readFileSync(from)),
    })),
    ...(name === 'svc-gateway' ? gateway : agent),
    ...(kind === 'deb' ? debian : []),
  ];
}

/** The unit of deploy/systemd for an executable that is installed, and has no folder of its own to write to. */
function unitOf(name) {
  const path = join(root, 'deploy/systemd', `${name}.service`);
  let unit = readFileSync(path, 'utf8');
  const replace = (pattern, text) => {
    const changed = unit.replace(pattern, text);
    if (changed === unit) throw new Error(`${path} has nothing like ${pattern} any more`);
    unit = changed;
  };
  replace(/^#.*\n\n/, '');
  if (name === 'svc-gateway') {
    replace('ExecStart=/opt/svc/', 'ExecStart=/usr/bin/');
    return unit;
  }
  replace(/# The agent writes its log[^]*?\nExecStartPre=.*\n/, '# Its log goes to the journal.\n');
  replace(/ExecStart=\S+/, 'ExecStart=/usr/bin/svc-agent');
  return unit;
}

/** What the program says of itself. */
function manual(name, help) {
  const lines = help.split('\n').map((line) => line.replaceAll('\\', '\\e').replace(/^(?=[.'])/, '\\&'));
  const text = lines.join('\n').replaceAll('-', '\\-');
  const title = name.replaceAll('-', '\\-');
  return `.TH ${name.toUpperCase()} 1\n.SH NAME\n${title} \\- ${SUMMARIES[name]}\n.SH DESCRIPTION\n.nf\n${text}.fi\n`;
}

function debianChangelog(name, version, sourceDate) {
  const date = new Date(sourceDate * 1000).toUTCString().replace('GMT', '+0000');
  const change = '  * What has changed is in CHANGELOG.md of the source.';
  return `${name} (${version}) unstable; urgency=medium\n\n${change}\n\n -- ${MAINTAINER}  ${date}\n`;
}

function copyright() {
  const licence = readFileSync(join(root, 'LICENSE'), 'utf8').trim().split('\n');
  const [, , holders, , ...terms] = licence;
  return [
    'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/',
    'Comment: Node.js and libraries are in the executable; their licences are in the files LICENSE.node.gz',
    ' and THIRD_PARTY_LICENSES.gz beside this one.',
    '',
    'Files: *',
    `Copyright: ${holders.replace(/^Copyright \(c\) /, '')}`,
    'License: Expat',
    ...terms.map((line) => ` ${line || '.'}`),
    '',
  ].join('\n');
}

function template(name, program) {
  return readFileSync(join(root, 'deploy/packages', name), 'utf8').replaceAll('@PROGRAM@', program);
}

/** In lines as long as a terminal is wide. */
function wrapped(text) {
  return text.replaceAll(/(.{1,76})(?: |$)/g, '$1\n').trim();
}

/** Without a time. */
function gzip(text) {
  return gzipSync(text, { level: 9 });
}
