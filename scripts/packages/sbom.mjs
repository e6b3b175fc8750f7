import { readJson } from '../install.mjs';

/**
 * What is inside a program, as CycloneDX: the packages that esbuild has put into it, and where Node.js is inside, that
 * with what its own build holds. The same bytes for the same contents.
 */
export function sbom({ program, version, licence, packages, sourceDate, node }) {
  const libraries = [...new Set(packages)].map((folder) => library(readJson(`${folder}/package.json`)));
  const runtime = node === undefined ? [] : runtimeOf(node);
  // A package that lies in two folders in one version is one component.
  const components = [
    ...new Map([...libraries, ...runtime].map((found) => [found['bom-ref'], found])).values(),
  ].toSorted((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1));
  const itself = {
    type: 'application',
    'bom-ref': `${program}@${version}`,
    name: program,
    version,
    licenses: [{ license: { id: licence } }],
  };
  const document = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: new Date(sourceDate * 1000).toISOString(),
      lifecycles: [{ phase: 'build' }],
      component: itself,
    },
    components,
    dependencies: [{ ref: itself['bom-ref'], dependsOn: components.map((found) => found['bom-ref']) }],
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/** What `process.versions` has that is no software; software that was left out has no version there. */
const INTERFACES = new Set(['modules', 'napi']);

function library({ name, version, license }) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  // Whether an id of SPDX or several, it is an expression.
  return { type: 'library', 'bom-ref': purl, name, version, purl, licenses: [{ expression: license }] };
}

/** `node` is `process.versions` of the Node.js that is inside. */
function runtimeOf({ node, ...inside }) {
  const part = (type, name, version) => {
    const purl = `pkg:generic/${name}@${encodeURIComponent(version)}`;
    return { type, 'bom-ref': purl, name, version, purl };
  };
  return [
    { ...part('platform', 'node', node), licenses: [{ license: { id: 'MIT' } }] },
    ...Object.entries(inside)
      .filter(([name, version]) => version !== '' && !INTERFACES.has(name))
      .map(([name, version]) => part('library', name.replaceAll('_', '-'), version)),
  ];
}
