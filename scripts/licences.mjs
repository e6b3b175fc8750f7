import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { root } from './install.mjs';

/** Texts for packages that bring none, and for what they hold beside their own code; licenses/README.md says which. */
const ownTexts = join(root, 'licenses');

/** The folders, relative to the root, of the packages whose code is in what esbuild made. */
export function bundledPackages(metafile) {
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  return inputs
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .flatMap(([file]) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file) ?? []);
}

/**
 * The licences of `packages` (folders, repeated or not) as one text, the same whatever their order. Throws an error
 * that names every package without a licence text, and every text in licenses/ that is for none of them, unless these are
 * only those of some `programs`.
 */
export async function thirdPartyLicences(packages, programs) {
  const found = await Promise.all([...new Set(packages)].map(licencesOf));
  const names = new Set(found.map(({ name }) => name));
  const faults = found.flatMap(({ fault }) => fault ?? []);
  for (const name of programs === undefined ? await foldersWithTexts() : []) {
    if (!names.has(name)) faults.push(`licenses/${name} is for a package that is not bundled: remove it`);
  }
  if (faults.length > 0) throw new Error(faults.toSorted().join('; '));
  // A package that lies in two folders in one version is one entry.
  const all = new Set(found.flatMap((licences) => licences.entries));
  const entries = [...all].toSorted((a, b) => (a < b ? -1 : 1));
  return [introductionOf(programs), ...entries].join(`\n${'-'.repeat(80)}\n`);
}

function introductionOf(programs = ['svc-gateway', 'svc-agent']) {
  const named = new Intl.ListFormat('en').format(programs);
  const [hold, themselves, their] =
    programs.length === 1
      ? ['The executable holds', 'itself', 'its']
      : [`The ${programs.length === 2 ? 'two' : programs.length} executables hold`, 'themselves', 'their'];
  return `Third-party software in ${named}

${hold} the software below. Each entry is its name and version, its licence, and the text of
that licence. The licence of ${named} ${themselves} is in the file LICENSE of ${their} source.
`;
}

async function licencesOf(folder) {
  const { name, version, license } = JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8'));
  const own = join(ownTexts, name);
  const shipped = await filesIn(join(root, folder), /^(?:licen[cs]e|copying|copyright|notice)/i);
  const added = await filesIn(own, /^LICENSE$/);
  const texts = await Promise.all([...shipped, ...added].map(read));
  const parts = (await filesIn(own, /\.txt$/)).map(async (file) => {
    const [, spdx, text] = /^SPDX-License-Identifier: (.+)\n\n([^]+)$/.exec(await read(file));
    return entry(`${basename(file, '.txt')}, in ${name} ${version}`, spdx, text);
  });
  return {
    name,
    entries: [entry(`${name} ${version}`, license, texts.join('\n')), ...(await Promise.all(parts))],
    fault: faultOf(name, license, shipped, added),
  };
}

function faultOf(name, license, shipped, added) {
  if (typeof license !== 'string') return `${name} names no licence in its package.json: use another package`;
  if (shipped.length + added.length === 0) {
    return `${name} is bundled and has no licence text: put it into licenses/${name}/LICENSE`;
  }
  if (shipped.length > 0 && added.length > 0) {
    return `${name} has a licence text of its own now: remove licenses/${name}/LICENSE`;
  }
  return undefined;
}

function entry(title, licence, text) {
  return `${title}\nLicence: ${licence}\n\n${text}`;
}

/** Paths in the order of their names; none for a folder that is not there. */
async function filesIn(folder, pattern) {
  const found = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = found.filter((file) => file.isFile() && pattern.test(file.name)).map(({ name }) => name);
  return names.toSorted().map((name) => join(folder, name));
}

/** The names of the packages that licenses/ has a folder for, `@scope/name` included. */
async function foldersWithTexts() {
  const found = await readdir(ownTexts, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = found.filter((file) => file.isFile() && file.parentPath !== ownTexts);
  const folders = files.map((file) => file.parentPath.slice(ownTexts.length + 1).replaceAll('\\', '/'));
  return [...new Set(folders)];
}

async function read(file) {
  const text = await readFile(file, 'utf8');
  return `${text
    .replace(/^\uFEFF/, '')
    .replaceAll('\r\n', '\n')
    .trim()}\n`;
}
