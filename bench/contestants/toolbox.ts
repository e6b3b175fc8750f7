import { accessSync, chmodSync, constants, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  freePort,
  startProcess,
  temporaryFolder,
  type Postgres,
  type Releasers,
  type RunningProcess,
} from '@svc/testkit';
import { BOOKS_DATABASE, QUERIES, type QueryShape } from './books.ts';
import { DATABASE_CONNECTIONS, type Contestant, type Face } from './contestant.ts';
import { mcpFace, restFace, REVISIONS } from './faces.ts';
import { PEERS_FOLDER } from './install-peers.ts';

const PACKAGE = join(PEERS_FOLDER, 'node_modules/@toolbox-sdk', `server-${process.platform}-${process.arch}`);

export function whyNoToolbox(): string | undefined {
  try {
    accessSync(join(PACKAGE, 'package.json'), constants.R_OK);
    return undefined;
  } catch {
    return `there is no MCP Toolbox for ${process.platform}-${process.arch} in bench/peers/package.json`;
  }
}

/** A database as Toolbox is told of it. */
export interface ToolboxSource {
  readonly yaml: string;
  readonly tools: string;
  readonly placeholder: string;
}

export function postgresSource({ host, port, user, password }: Postgres): ToolboxSource {
  const yaml = `kind: source
name: books
type: postgres
host: ${host}
port: "${port}"
database: ${BOOKS_DATABASE}
user: ${user}
password: ${JSON.stringify(password)}
queryExecMode: cache_statement
queryParams:
  pool_max_conns: "${DATABASE_CONNECTIONS}"
`;
  return { yaml, tools: 'postgres-sql', placeholder: '$1' };
}

function tool({ tools, placeholder }: ToolboxSource, { name, parameter, sql }: QueryShape): string {
  return `kind: tool
name: ${name}
type: ${tools}
source: books
description: Books of the library
parameters:
  - name: ${parameter}
    type: integer
    description: A number of a book
statement: ${sql.replace('$1', placeholder)}
`;
}

interface ToolboxServer {
  readonly title: string;
  readonly settings: string;
  readonly url: string;
  readonly port: number;
  readonly server: RunningProcess;
}

/** MCP Toolbox as it is: one process, called directly. */
export async function startToolbox(source: ToolboxSource, releasers: Releasers): Promise<Contestant> {
  const { title, settings, url, server } = await startToolboxServer(source, releasers);
  return {
    name: 'toolbox',
    title,
    settings: `${settings}, no key`,
    url,
    processes: { toolbox: server },
    wantsKey: false,
    faces: toolboxFaces({}),
  };
}

/** MCP Toolbox for Databases, without the log record that it writes for each request at its default level. */
export async function startToolboxServer(
  source: ToolboxSource,
  releasers: Releasers,
): Promise<ToolboxServer> {
  const { version }: { version: string } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
  const folder = await temporaryFolder('toolbox');
  await releasers.add(() => folder.remove());
  const config = join(folder.path, 'tools.yaml');
  await writeFile(
    config,
    [source.yaml, ...Object.values(QUERIES).map((query) => tool(source, query))].join('---\n'),
  );
  const program = join(PACKAGE, 'bin/toolbox');
  // npm unpacks it without the right to run it.
  chmodSync(program, 0o755);
  const port = await freePort();
  const flags = ['--enable-api', '--disable-reload', '--disable-version-check', '--log-level', 'WARN'];
  const server = await startProcess(program, ['--config', config, '--port', String(port), ...flags]);
  await releasers.add(() => server.stop());
  const url = `http://127.0.0.1:${port}`;
  await answers(url, server);
  const settings = '--log-level WARN (no request log), statements cached';
  return { title: `MCP Toolbox ${version}`, settings, url, port, server };
}

export function toolboxFaces(headers: Readonly<Record<string, string>>): readonly Face[] {
  return [
    restFace(
      (name) => `/api/tool/${name}/invoke`,
      headers,
      (answer) => {
        const { result }: { result: string } = JSON.parse(answer);
        const rows: readonly unknown[] = JSON.parse(result);
        return rows;
      },
    ),
    ...REVISIONS.map((revision) =>
      mcpFace(revision, headers, (texts) => texts.map((text): unknown => JSON.parse(text))),
    ),
  ];
}

/** It says nothing at this log level once it listens, so it is asked. */
async function answers(url: string, server: RunningProcess): Promise<void> {
  let ended = false;
  void server.exited.then(() => (ended = true));
  for (const end = Date.now() + 20_000; Date.now() < end && !ended;) {
    const response = await fetch(url).catch(() => undefined);
    if (response !== undefined) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`cannot start MCP Toolbox: it ${ended ? 'ended' : 'does not answer'}\n${server.output()}`);
}
