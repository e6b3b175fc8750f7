/** Files that state the version of the release, with the text that each must have. */
const STATED = (version) => ({
  'deploy/compose/compose.yaml': [`svc-gateway:${version}`, `svc-agent:${version}`],
  'deploy/helm/svc-gateway/Chart.yaml': [`appVersion: ${version}`],
  'deploy/helm/svc-agent/Chart.yaml': [`appVersion: ${version}`],
  'docs/guides/releasing.md': [`v${version}`],
  ...Object.fromEntries(
    ['agent', 'console', 'edge', 'gateway', 'identity', 'protocol', 'standalone'].map((name) => [
      `packages/${name}/package.json`,
      [`"version": "${version}"`],
    ]),
  ),
});

/** The files that state another version than `version`, one line each. `read` gives the text of a file by its path. */
export function versionFaults(version, read) {
  return Object.entries(STATED(version)).flatMap(([path, texts]) =>
    texts.filter((text) => !read(path).includes(text)).map((text) => `${path} does not have ${text}`),
  );
}

/** What keeps the changelog from being that of a release of `version`. */
export function changelogFaults(changelog, version) {
  const unreleased = sectionAfter(changelog, /^## Unreleased$/m);
  return [
    ...(releaseSection(changelog, version) === undefined
      ? [`CHANGELOG.md has no section "## ${version} (YYYY-MM-DD)"`]
      : []),
    ...(unreleased ? [`CHANGELOG.md has changes under "Unreleased": move them to ${version}`] : []),
  ];
}

/** The text of a version in the changelog, without its heading; undefined without one that has a day. */
export function releaseSection(changelog, version) {
  const escaped = version.replaceAll('.', String.raw`\.`);
  return sectionAfter(changelog, new RegExp(`^## ${escaped} \\(\\d{4}-\\d{2}-\\d{2}\\)$`, 'm'));
}

function sectionAfter(changelog, heading) {
  const found = heading.exec(changelog);
  if (found === null) return undefined;
  const rest = changelog.slice(found.index + found[0].length);
  const end = rest.search(/^## /m);
  return (end === -1 ? rest : rest.slice(0, end)).trim();
}

/** The message of the signed tag. It names the checksum of SHA256SUMS, so that the signature covers the packages. */
export function tagText(version, section, sums) {
  return `svc ${version}\n\n${plain(section)}\n\nSHA256SUMS: ${sums}\n`;
}

/** Git takes lines that begin with # out of the message of a tag. */
function plain(section) {
  return section.replaceAll(/^#+ (.+)$/gm, '$1:');
}

/** The notes beside a release: what changed, how to check and install it, what it was made of and with. */
export function notesOf({
  version,
  section,
  made,
  not_made: notMade,
  commit,
  source_date_epoch: sourceDate,
  tools,
}) {
  const rows = made.map(
    ({ file, bytes, sha256 }) => `| ${file} | ${(bytes / 2 ** 20).toFixed(1)} MB | \`${sha256}\` |`,
  );
  const missing = notMade.map(({ kind, reason }) => `- ${kind}: ${reason}`);
  return `# svc ${version}

${section}

## Packages

| file | size | SHA-256 |
| --- | --- | --- |
${rows.join('\n')}

\`sha256sum --check SHA256SUMS\` checks them.
${missing.length === 0 ? '' : `\nNot part of this release:\n\n${missing.join('\n')}\n`}
## Made of

Commit ${commit}, SOURCE_DATE_EPOCH=${sourceDate}. The same commit gives the same bytes with:

${tools.map((tool) => `- ${tool}`).join('\n')}
`;
}
