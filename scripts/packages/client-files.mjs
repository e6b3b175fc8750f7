import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NotMade } from './not-made.mjs';
import { stage } from './stage.mjs';

/** What clients call us: `svc` alone is the name of another's package. */
export const CLIENT_NAME = 'svc-stdio';
export const AUTHOR = { name: 'svc contributors' };
/** The registry of MCP servers takes 100 characters. */
const SUMMARY = 'Named, parameterised, read-only database queries as tools: no SQL from the model.';
const STDIO = { transport: { type: 'stdio' } };

/** The commands that `npx` runs for a package of such a name. */
const OTHER_COMMANDS = new Set(['svc-gateway', 'svc-agent']);

/** What is wrong with the names that are given to publish under. */
export function nameProblem({ 'npm-name': npmName, 'mcp-name': mcpName, 'bundle-url': bundleUrl }) {
  if (npmName !== undefined) {
    if (npmName.length > 214 || !/^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/.test(npmName))
      return '--npm-name must be a name of npm, such as @example/reports';
    if (npmName === 'svc')
      return '--npm-name must not be svc, which is the package of somebody else in the npm registry';
    if (OTHER_COMMANDS.has(npmName.split('/').at(-1)))
      return '--npm-name must not end like another command, which npx would run';
  }
  if (mcpName !== undefined && !(mcpName.length <= 200 && /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/.test(mcpName)))
    return '--mcp-name must have the form io.github.example/reports';
  if (bundleUrl !== undefined && !(bundleUrl.startsWith('https://') && URL.canParse(bundleUrl)))
    return '--bundle-url must begin with https://';
  return undefined;
}

/** Where a release of the repository that names the server has the file; undefined for names of other kinds. */
export function releaseUrl(mcpName = '', version, file) {
  const [, owner, repository] = /^io\.github\.([^/]+)\/(.+)$/.exec(mcpName) ?? [];
  return owner === undefined
    ? undefined
    : `https://github.com/${owner}/${repository}/releases/download/v${version}/${file}`;
}

const lines = (value) => `${JSON.stringify(value, undefined, 2)}\n`;

/** Makes a package of npm a plugin of Claude Code. */
export function pluginManifest({ version, description, license }) {
  return lines({ name: CLIENT_NAME, version, description, author: AUTHOR, license });
}

/** The server that the plugin starts: by `node`, since Windows starts no script by its first line. */
export function mcpServers() {
  // oxlint-disable-next-line no-template-curly-in-string -- Claude Code puts the folder in.
  const args = ['${CLAUDE_PLUGIN_ROOT}/bin/svc', 'stdio'];
  return lines({ mcpServers: { svc: { command: 'node', args } } });
}

/** The entry of a marketplace of Claude Code that has the package of npm as its source. */
export function makeMarketplace({ out, npmName, version, description }) {
  if (npmName === undefined)
    throw new NotMade('marketplace.json needs --npm-name, the name of the package in a registry');
  const plugin = {
    name: CLIENT_NAME,
    version,
    description,
    source: { source: 'npm', package: npmName, version },
  };
  stage(out, {
    'marketplace.json': {
      text: lines({ name: CLIENT_NAME, description: SUMMARY, owner: AUTHOR, plugins: [plugin] }),
    },
  });
  return [{ file: 'marketplace.json' }];
}

/** The description for the registry of MCP servers. */
export function makeServerJson({ out, npmName, mcpName, bundleUrl, bundle, version }) {
  const missing = [
    ...(npmName === undefined ? ['--npm-name, the name of the package in a registry'] : []),
    ...(mcpName === undefined ? ['--mcp-name, the name of the server in the registry of MCP servers'] : []),
    ...(mcpName !== undefined && bundleUrl === undefined
      ? ['--bundle-url, where the .mcpb is published']
      : []),
  ];
  if (missing.length > 0) throw new NotMade(`server.json needs ${missing.join(' and ')}`);
  const environmentVariables = [
    {
      name: 'SVC_DATABASE_URL',
      description: 'The URL of a database; or give AGENT_CAPABILITY_FILE.',
      isSecret: true,
    },
    {
      name: 'AGENT_CAPABILITY_FILE',
      description: 'The path of a capability file; or give SVC_DATABASE_URL.',
      format: 'filepath',
    },
  ];
  const server = {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: mcpName,
    description: SUMMARY,
    version,
    packages: [
      {
        registryType: 'npm',
        identifier: npmName,
        version,
        ...STDIO,
        packageArguments: [{ type: 'positional', value: 'stdio' }],
        environmentVariables,
      },
      {
        registryType: 'mcpb',
        identifier: bundleUrl,
        version,
        fileSha256: createHash('sha256')
          .update(readFileSync(join(out, bundle)))
          .digest('hex'),
        ...STDIO,
      },
    ],
  };
  stage(out, { 'server.json': { text: lines(server) } });
  return [{ file: 'server.json' }];
}
