import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  databaseUrl,
  runProcess,
  SVC,
  SVC_AGENT,
  temporaryFolder,
  type Postgres,
  type Releasers,
} from '@svc/testkit';
import { manyTables } from '../../tests/samples/samples.ts';
import { BOOKS_DATABASE, QUERIES } from '../contestants/books.ts';
import { DATABASE_CONNECTIONS } from '../contestants/contestant.ts';
import { rowsMember } from '../contestants/faces.ts';
import { PEERS_FOLDER } from '../contestants/install-peers.ts';
import type { NodeExecutable } from '../contestants/node-executable.ts';
import { capabilityFile } from '../contestants/svc.ts';
import { postgresSource, toolboxCommand, TOOLBOX_SETTINGS } from '../contestants/toolbox.ts';
import type { Command } from './client.ts';

export type StdioName = 'svc' | 'toolbox' | 'dbhub' | 'svc-file' | 'svc-url';

/** What a server is asked for, and its rows in an answer. */
interface Tool {
  readonly name: string;
  readonly parameter: string;
  /** The texts of an answer are those of its `content`. */
  rows(texts: readonly string[]): readonly unknown[];
}

export interface StdioContestant extends Command {
  readonly name: StdioName;
  readonly title: string;
  readonly settings: string;
  readonly tool: Tool;
  /** Whether it is asked for one row many times. The others are only started. */
  readonly isCalled: boolean;
}

/** The database whose tables are proposed as capabilities, the first with a row. */
export const TABLES_DATABASE = 'tables';
export const TABLES = 12;
export const TABLES_SQL: string = `${manyTables(TABLES)}; insert into t_0 (id, name) values (1, 'One')`;

interface Ground {
  readonly postgres: Postgres;
  readonly node: NodeExecutable;
  readonly folder: string;
}

/** Each with its files in a folder of its own. */
export async function stdioContestants(
  postgres: Postgres,
  node: NodeExecutable,
  releasers: Releasers,
): Promise<readonly StdioContestant[]> {
  const made: StdioContestant[] = [];
  for (const make of [svc, toolbox, dbhub, proposed]) {
    const folder = await temporaryFolder('stdio');
    await releasers.add(() => folder.remove());
    made.push(...[await make({ postgres, node, folder: folder.path })].flat());
  }
  return made;
}

async function svc({ postgres, node, folder }: Ground): Promise<StdioContestant> {
  const { host, port, user, password } = postgres;
  const file = join(folder, 'books.yaml');
  const database = { driver: 'postgres', host, port, name: BOOKS_DATABASE, user, password };
  await writeFile(file, capabilityFile(database));
  return {
    ...svcCommand(node, folder, ['--config', file]),
    name: 'svc',
    title: `svc stdio, Node.js ${node.version}`,
    settings: 'a capability file, READ ONLY transactions',
    tool: { ...POINT, rows: ([text = '']) => rowsMember(text) },
    isCalled: true,
  };
}

function svcCommand(node: NodeExecutable, folder: string, args: readonly string[]): Command {
  return { command: node.path, args: [SVC, 'stdio', ...args], env: {}, cwd: folder };
}

const POINT = { name: QUERIES.point.name, parameter: QUERIES.point.parameter };

async function toolbox({ postgres, folder }: Ground): Promise<StdioContestant> {
  const { command, args, version } = await toolboxCommand(postgresSource(postgres), folder);
  return {
    name: 'toolbox',
    title: `MCP Toolbox ${version}`,
    settings: `--stdio, ${TOOLBOX_SETTINGS}`,
    command,
    args: [...args, '--stdio'],
    env: {},
    cwd: folder,
    tool: { ...POINT, rows: (texts) => texts.map((text): unknown => JSON.parse(text)) },
    isCalled: true,
  };
}

/** Its own tools would let the model write SQL: the same query is a tool here, which is its fastest answer as well. */
async function dbhub({ postgres, node, folder }: Ground): Promise<StdioContestant> {
  const place = join(PEERS_FOLDER, 'node_modules/@bytebase/dbhub');
  const { version }: { version: string } = JSON.parse(await readFile(join(place, 'package.json'), 'utf8'));
  const file = join(folder, 'dbhub.toml');
  await writeFile(file, dbhubConfig(`${databaseUrl(postgres, BOOKS_DATABASE)}?sslmode=disable`));
  return {
    name: 'dbhub',
    title: `DBHub ${version}, Node.js ${node.version}`,
    settings: 'the query as a custom tool, no tool of its own',
    command: node.path,
    args: [join(place, 'dist/index.js'), '--transport', 'stdio', `--config=${file}`],
    env: { NODE_ENV: 'production' },
    cwd: folder,
    tool: { ...POINT, rows: dbhubRows },
    isCalled: true,
  };
}

function dbhubConfig(dsn: string): string {
  const { name, parameter, sql } = QUERIES.point;
  return `[[sources]]
id = "books"
dsn = ${JSON.stringify(dsn)}
pool_max_connections = ${DATABASE_CONNECTIONS}

[[tools]]
name = "${name}"
source = "books"
description = "Books of the library"
statement = "${sql}"

[[tools.parameters]]
name = "${parameter}"
type = "integer"
description = "A number of a book"
`;
}

function dbhubRows([text = '']: readonly string[]): readonly unknown[] {
  const {
    data,
  }: { readonly data: { readonly statements: readonly { readonly rows: readonly unknown[] }[] } } =
    JSON.parse(text);
  return data.statements.flatMap(({ rows }) => rows);
}

/** The files that `init` writes for the tables, and the same by `--url`, with the account that `init` creates. */
async function proposed({ postgres, node, folder }: Ground): Promise<readonly StdioContestant[]> {
  const env = { DATABASE_URL: databaseUrl(postgres, TABLES_DATABASE) };
  const init = ['init', '--create-account', '--yes'];
  const { code, stderr } = await runProcess(SVC_AGENT, init, { cwd: folder, env });
  if (code !== 0) throw new Error(`svc-agent init ended with ${code}\n${stderr}`);
  const files = join(folder, 'capability');
  const password = await readFile(join(files, 'secrets/db-password'), 'utf8');
  const reader = { ...postgres, user: `svc_reader_${TABLES_DATABASE}`, password: password.trim() };
  return [
    {
      ...svcCommand(node, folder, ['--config', join(files, 'capability.yaml')]),
      name: 'svc-file',
      title: `svc stdio --config, ${TABLES} tables`,
      settings: 'what svc-agent init writes',
      tool: PROPOSED,
      isCalled: false,
    },
    {
      ...svcCommand(node, folder, []),
      env: { SVC_DATABASE_URL: databaseUrl(reader, TABLES_DATABASE) },
      name: 'svc-url',
      title: `svc stdio --url, ${TABLES} tables`,
      settings: 'the same account and capabilities, proposed at the start',
      tool: PROPOSED,
      isCalled: false,
    },
  ];
}

const PROPOSED: Tool = {
  name: 'get_t_0',
  parameter: 'id',
  rows: ([text = '']) => rowsMember(text),
};
