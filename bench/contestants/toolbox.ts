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
import { BOOKS_DATABASE, QUERIES } from './books.ts';
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

/** A database as Toolbox is told of it: the kind of server, and the settings for that kind. */
export interface ToolboxSource {
  readonly type: 'postgres' | 'mysql' | 'sqlite';
  readonly settings: Readonly<Record<string, unknown>>;
}

export function postgresSource({ host, port, user, password }: Postgres): ToolboxSource {
  const address = { host, port: String(port), database: BOOKS_DATABASE, user, password };
  const queryParams = { pool_max_conns: String(DATABASE_CONNECTIONS) };
  return { type: 'postgres', settings: { ...address, queryExecMode: 'cache_statement', queryParams } };
}

/** Each document in YAML, whose values may be JSON. */
function configOf({ type, settings }: ToolboxSource): string {
  const tools = Object.values(QUERIES).map(({ name, parameter, sql }) => ({
    kind: 'tool',
    name,
    type: `${type}-sql`,
    source: 'books',
    description: 'Books of the library',
    parameters: [{ name: parameter, type: 'integer', description: 'A number of a book' }],
    statement: type === 'postgres' ? sql : sql.replace('$1', '?'),
  }));
  const documents = [{ kind: 'source', name: 'books', type, ...settings }, ...tools];
  return documents.map((document) => JSON.stringify(document)).join('\n---\n');
}

/** Without the log record that Toolbox writes for each request at its default level. */
export const TOOLBOX_SETTINGS = '--log-level WARN (no request log), statements cached';

/** MCP Toolbox for Databases as it is: one process, called directly. */
export async function startToolbox(source: ToolboxSource, releasers: Releasers): Promise<Contestant> {
  const folder = await temporaryFolder('toolbox');
  await releasers.add(() => folder.remove());
  const { command, args, version } = await toolboxCommand(source, folder.path);
  const port = await freePort();
  const toolbox = await startProcess(command, [...args, '--enable-api', '--port', String(port)]);
  await releasers.add(() => toolbox.stop());
  const url = `http://127.0.0.1:${port}`;
  await answers(url, toolbox);
  return {
    name: 'toolbox',
    title: `MCP Toolbox ${version}`,
    settings: `${TOOLBOX_SETTINGS}, no key`,
    url,
    processes: { toolbox },
    wantsKey: false,
    faces: toolboxFaces({}),
  };
}

/** The program with the flags of any transport; its configuration is written to `folder`. */
export async function toolboxCommand(
  source: ToolboxSource,
  folder: string,
): Promise<{ readonly command: string; readonly args: readonly string[]; readonly version: string }> {
  const { version }: { version: string } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
  const config = join(folder, 'tools.yaml');
  await writeFile(config, configOf(source));
  const command = join(PACKAGE, 'bin/toolbox');
  // npm unpacks it without the right to run it.
  chmodSync(command, 0o755);
  const args = ['--config', config, '--disable-reload', '--disable-version-check', '--log-level', 'WARN'];
  return { command, args, version };
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
