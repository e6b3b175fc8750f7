import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { root } from './install.mjs';
import {
  changelogFaults,
  notesOf,
  releaseSection,
  tagText,
  versionFaults,
} from './packages/release-texts.mjs';
import { readOptions } from './read-options.mjs';

const usage = `Usage: npm run release [-- --out DIR] [--npm-name NAME --mcp-name NAME] [--bundle-url URL] [--partial]

Makes the packages of the version in package.json, and beside them what a release needs: TAG, the text of the tag, and
NOTES.md, what changed with the checksums of all packages. It tags and publishes nothing; it prints the commands that do.

  --out DIR  where to (dist/release)
  --npm-name NAME, --mcp-name NAME, --bundle-url URL
             what it is published as; \`npm run package -- --help\` has more
  --partial  also when this machine cannot make all packages; NOTES.md names those that are missing
`;

const { values } = readOptions(usage, {
  out: { type: 'string', default: 'dist/release' },
  'npm-name': { type: 'string' },
  'mcp-name': { type: 'string' },
  'bundle-url': { type: 'string' },
  partial: { type: 'boolean', default: false },
});
process.exitCode = main();

function main() {
  const read = (path) => readFileSync(join(root, path), 'utf8');
  const { version } = JSON.parse(read('package.json'));
  const changelog = read('CHANGELOG.md');
  const faults = [...versionFaults(version, read), ...changelogFaults(changelog, version), ...changedFiles()];
  if (faults.length > 0) return refuse(faults);

  const out = resolve(root, values.out);
  const report = makePackages(out);
  if (report === undefined) return 1;
  const missing = report.not_made.map(({ kind, reason }) => `${kind} was not made: ${reason}`);
  if (missing.length > 0 && !values.partial)
    return refuse([...missing, 'install or name what is missing, or run it with --partial']);

  const section = releaseSection(changelog, version);
  const sums = createHash('sha256')
    .update(readFileSync(join(out, 'SHA256SUMS')))
    .digest('hex');
  writeFileSync(join(out, 'TAG'), tagText(version, section, sums));
  writeFileSync(
    join(out, 'NOTES.md'),
    notesOf({ ...report, section, commit: git('rev-parse', 'HEAD'), tools: toolVersions() }),
  );
  process.stdout.write(`${values.out} has the packages, SHA256SUMS, TAG and NOTES.md. Next:
  git tag --sign --file ${values.out}/TAG v${version}
  gpg --armor --detach-sign ${values.out}/SHA256SUMS
`);
  return 0;
}

function refuse(faults) {
  for (const fault of faults) process.stderr.write(`cannot release: ${fault}\n`);
  return 1;
}

/** Packages of files that no commit has could not be made again by anybody. */
function changedFiles() {
  const changed = git('status', '--porcelain');
  return changed === '' ? [] : [`these files are not committed:\n${changed}`];
}

function makePackages(out) {
  const names = ['npm-name', 'mcp-name', 'bundle-url'].flatMap((flag) =>
    values[flag] === undefined ? [] : [`--${flag}`, values[flag]],
  );
  const args = ['scripts/package.mjs', '--json', '--out', out, ...names];
  const { status, stdout } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 24,
  });
  return status === 0 ? JSON.parse(stdout) : undefined;
}

/** Other versions of these can make other bytes of the same commit. */
function toolVersions() {
  const lines = ['npm', 'tar', 'gzip', 'strip', 'go', 'buildah'].flatMap((program) => {
    const asked = program === 'go' ? 'version' : '--version';
    const { status, stdout } = spawnSync(program, [asked], { encoding: 'utf8' });
    return status === 0 ? [`${program}: ${stdout.split('\n')[0]}`] : [];
  });
  return [`node: ${process.version}`, ...lines];
}

function git(...args) {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
  return stdout.trimEnd();
}
