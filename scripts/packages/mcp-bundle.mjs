import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zipSync } from 'fflate';
import { readJson } from '../install.mjs';
import { AUTHOR, CLIENT_NAME } from './client-files.mjs';

/** Claude Desktop starts it with other words on the command line. */
const ENTRY = `'use strict';
const program = require('node:path').join(__dirname, 'svc');
process.argv.splice(1, process.argv.length, program, 'stdio');
require(program);
`;

/** The name of the file. */
export const bundleName = (version) => `svc-${version}.mcpb`;

/** A bundle for Claude Desktop, which unpacks and starts it with two settings. */
export function makeMcpBundle({ out, programs: [svc], licences, version, sourceDate }) {
  const files = {
    'manifest.json': { text: `${JSON.stringify(manifestOf(version), undefined, 2)}\n` },
    'server/index.cjs': { text: ENTRY },
    'server/svc': { file: svc.file },
    'svc.cdx.json': { text: svc.sbom },
    ...licences,
  };
  const day = new Date(sourceDate * 1000);
  // In zip a time has no zone. No zone skips noon.
  const mtime = new Date(day.getUTCFullYear(), day.getUTCMonth(), day.getUTCDate(), 12);
  const contents = Object.entries(files).map(([name, { text, file }]) => [
    name,
    text === undefined ? readFileSync(file) : Buffer.from(text),
  ]);
  // Made on Unix, all readable.
  const same = { mtime, level: 9, os: 3, attrs: 0o100644 << 16 };
  const file = bundleName(version);
  writeFileSync(join(out, file), zipSync(Object.fromEntries(contents), same));
  return [{ file }];
}

/* oxlint-disable no-template-curly-in-string -- Claude Desktop puts values in. */
function manifestOf(version) {
  const { description, keywords, license, engines } = readJson('package.json');
  return {
    manifest_version: '0.3',
    name: CLIENT_NAME,
    display_name: 'svc',
    version,
    description,
    author: AUTHOR,
    server: {
      type: 'node',
      entry_point: 'server/index.cjs',
      mcp_config: {
        command: 'node',
        args: ['${__dirname}/server/index.cjs'],
        env: {
          SVC_DATABASE_URL: '${user_config.database_url}',
          AGENT_CAPABILITY_FILE: '${user_config.capability_file}',
        },
      },
    },
    tools_generated: true,
    keywords,
    license,
    compatibility: { platforms: ['darwin', 'win32', 'linux'], runtimes: { node: engines.node } },
    user_config: {
      database_url: {
        type: 'string',
        title: 'Database URL',
        description:
          'postgres://, mysql:// or mariadb://. svc proposes read-only queries for its tables; nobody has reviewed them. Leave it empty if you have a capability file.',
        required: false,
        sensitive: true,
      },
      capability_file: {
        type: 'file',
        title: 'Capability file',
        description:
          'A file with queries that somebody has reviewed. Leave it empty if you give a database URL.',
        required: false,
      },
    },
  };
}
