import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { buildExecutables } from './bundle.mjs';
import { install, readJson, root } from './install.mjs';
import { thirdPartyLicences } from './licences.mjs';
import { makeBinaryArchives, makeExecutables } from './packages/binaries.mjs';
import { writeChecksums } from './packages/checksums.mjs';
import { makeMarketplace, makeServerJson, nameProblem, releaseUrl } from './packages/client-files.mjs';
import { makeImages } from './packages/images.mjs';
import { bundleName, makeMcpBundle } from './packages/mcp-bundle.mjs';
import { findNode } from './packages/node-binary.mjs';
import { NotMade } from './packages/not-made.mjs';
import { makeNpmTarball } from './packages/npm-tarball.mjs';
import { removeAtEnd, stopOnSignals } from './packages/removed-at-end.mjs';
import { sbom } from './packages/sbom.mjs';
import { sourceDate as readSourceDate, stage } from './packages/stage.mjs';
import { installNfpm, makeSystemPackages } from './packages/system-packages.mjs';
import { readOptions } from './read-options.mjs';

const usage = `Usage: npm run package -- [--npm-name NAME] [--mcp-name NAME [--bundle-url URL]] [--out DIR] [--node PATH]
                          [--base IMAGE] [--json]

Makes what this machine has the tools for, and names the rest: a package for npm, a bundle for Claude Desktop, executables
with Node.js inside, packages for Debian and for Red Hat and its kin, images, bills of materials, checksums. Twice the
same bytes.

  --out DIR     where to, in place of packages that are there (dist/packages)
  --node PATH   the Node.js, 26 or newer, that goes into the executables, with its licence one folder above (one from
                the npm registry)
  --base IMAGE  what the images stand on, by its digest or as an archive (that of deploy/oci/Containerfile)
  --json        prints what was made and what was not as JSON

What names the package where it is published has no default. Without a name it is not made, and that is said:

  --npm-name NAME   what the package is called in an npm registry, for it, marketplace.json and server.json
  --mcp-name NAME   what the server is called in the registry of MCP servers, such as io.github.example/reports, for the
                    package and server.json
  --bundle-url URL  where the .mcpb is published, for server.json (for io.github.OWNER/NAME that of a release v0.0.0 of
                    the repository)
`;

/** With Node.js inside, in packages of systems and in images. `svc` starts from npm and in a bundle. */
const SERVICES = new Set(['svc-gateway', 'svc-agent']);

const { values } = readOptions(
  usage,
  {
    out: { type: 'string', default: join(root, 'dist/packages') },
    node: { type: 'string' },
    base: { type: 'string' },
    json: { type: 'boolean', default: false },
    'npm-name': { type: 'string' },
    'mcp-name': { type: 'string' },
    'bundle-url': { type: 'string' },
  },
  { fault: faultOf },
);
process.exitCode = await main({ ...values, out: resolve(values.out) });

function faultOf({ base, out, ...names }) {
  const problem = nameProblem(names);
  if (problem !== undefined) return problem;
  // A tag may be another image tomorrow.
  if (base !== undefined && !/@sha256:[0-9a-f]{64}$|^oci-archive:/.test(base)) {
    return '--base must end with @sha256: and a digest, or begin with oci-archive:';
  }
  return hasOtherFiles(out)
    ? `${resolve(out)} has other files than packages: name another folder`
    : undefined;
}

async function main({ out, json, ...inputs }) {
  await install();
  stopOnSignals();
  const work = mkdtempSync(join(tmpdir(), 'svc-packages-'));
  // Whole or not at all.
  const draft = `${out}.${process.pid}.tmp`;
  removeAtEnd(work, draft);
  try {
    mkdirSync(draft, { recursive: true });
    const report = { ...(await makeAll({ ...inputs, out: draft, work })), folder: out };
    rmSync(out, { recursive: true, force: true });
    renameSync(draft, out);
    process.stdout.write(json ? `${JSON.stringify(report, undefined, 2)}\n` : table(report));
    return 0;
  } catch (error) {
    process.stderr.write(`cannot make the packages: ${error.message}\n`);
    return 1;
  }
}

/** Who names a folder of theirs by mistake loses nothing. */
function hasOtherFiles(folder) {
  return existsSync(folder) && readdirSync(folder).length > 0 && !existsSync(join(folder, 'SHA256SUMS'));
}

async function makeAll({
  out,
  work,
  node: givenNode,
  base,
  'npm-name': npmName,
  'mcp-name': mcpName,
  'bundle-url': givenUrl,
}) {
  const { version, description, license: licence } = readJson('package.json');
  const sourceDate = readSourceDate(process.env);
  const built = await buildExecutables();
  const inside = { version, licence, sourceDate };
  const all = built.map(({ output, packages }) => {
    const name = output.replace('dist/', '');
    return { name, packages, file: join(root, output), sbom: sbom({ ...inside, program: name, packages }) };
  });
  const licences = {
    LICENSE: { file: join(root, 'LICENSE') },
    THIRD_PARTY_LICENSES: { file: join(root, 'dist/THIRD_PARTY_LICENSES') },
  };
  const ofClients = all.filter(({ name }) => !SERVICES.has(name));
  let programs = all.filter(({ name }) => SERVICES.has(name));
  const context = { work, out, programs, licences, version, description, sourceDate, base };
  const bundle = bundleName(version);
  const bundleUrl = givenUrl ?? releaseUrl(mcpName, version, bundle);
  const forClients = { ...context, npmName, mcpName, bundleUrl, bundle };
  const ofPrograms = async (chosen) => {
    const names = chosen.map(({ name }) => name);
    const text = await thirdPartyLicences(
      chosen.flatMap(({ packages }) => packages),
      names,
    );
    return { ...forClients, programs: chosen, licences: { ...licences, THIRD_PARTY_LICENSES: { text } } };
  };

  const files = [];
  const notMade = [];
  const make = async (kind, maker) => {
    // The programs are waited for without a look at signals: one that came meanwhile ends it here.
    await setImmediate();
    try {
      files.push(...(await maker()).map((made) => ({ kind, ...made })));
    } catch (error) {
      if (!(error instanceof NotMade)) throw error;
      notMade.push({ kind, reason: error.message });
    }
  };

  await make('npm', async () => makeNpmTarball(await ofPrograms(all)));
  await make('mcpb', async () => makeMcpBundle(await ofPrograms(ofClients)));
  await make('server', () => makeServerJson(forClients));
  await make('marketplace', () => makeMarketplace(forClients));
  let executables;
  let noExecutables;
  try {
    const node = await findNode(givenNode);
    programs = programs.map((program) => {
      const { name, packages } = program;
      const binarySbom = sbom({ ...inside, program: name, packages, node: node.versions });
      return { ...program, binarySbom };
    });
    executables = makeExecutables({ ...context, programs, node });
  } catch (error) {
    if (!(error instanceof NotMade)) throw error;
    noExecutables = error;
  }
  const withExecutables = (maker) => () => {
    if (noExecutables !== undefined) throw noExecutables;
    return maker({ ...context, executables });
  };
  await make('binary', withExecutables(makeBinaryArchives));
  for (const kind of ['deb', 'rpm']) {
    await make(
      kind,
      withExecutables((given) => makeSystemPackages(kind, { ...given, nfpm: installNfpm() })),
    );
  }
  await make('image', () => makeImages(context));
  await make('sbom', () => {
    const documents = [...programs, ...ofClients].flatMap(({ name, sbom: text, binarySbom }) => [
      [`${name}-${version}.cdx.json`, { text }],
      ...(binarySbom === undefined
        ? []
        : [[`${name}-${version}-linux-${process.arch}.cdx.json`, { text: binarySbom }]]),
    ]);
    stage(out, Object.fromEntries(documents));
    return documents.map(([file]) => ({ file }));
  });
  const summed = await writeChecksums(
    out,
    files.map(({ file }) => file),
  );
  return {
    version,
    source_date_epoch: sourceDate,
    made: files.map((made, index) => ({ ...made, ...summed[index] })),
    not_made: notMade,
  };
}

function table({ folder, made, not_made: notMade }) {
  const size = (bytes) => `${(bytes / 1024 / 1024).toFixed(1)} MB`.padStart(9);
  const lines = made.map(
    ({ kind, file, bytes, sha256 }) =>
      `${kind.padEnd(11)} ${file.padEnd(44)} ${size(bytes)}  ${sha256.slice(0, 16)}`,
  );
  const missing = notMade.map(({ kind, reason }) => `${kind.padEnd(11)} NOT MADE: ${reason}`);
  return [...lines, ...missing, `\n${folder} has them, with SHA256SUMS`, ''].join('\n');
}
