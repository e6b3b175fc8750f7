import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProcess, type Postgres, type Releasers, type RunningProcess } from '@svc/testkit';
import { BOOKS_DATABASE, QUERIES, type Query } from './books.ts';
import { DATABASE_CONNECTIONS, type Contestant, type Face } from './contestant.ts';
import { restFace, rowsMember } from './faces.ts';
import { PEERS_FOLDER } from './install-peers.ts';
import type { NodeExecutable } from './node-executable.ts';

/** What a developer would write by hand, with Fastify and pg. */
export async function startFastify(
  { host, port, user, password }: Postgres,
  node: NodeExecutable,
  releasers: Releasers,
): Promise<Contestant> {
  const settings = {
    database: { host, port, user, password, database: BOOKS_DATABASE },
    connections: DATABASE_CONNECTIONS,
    queries: Object.values(QUERIES),
  };
  const [fastify, pg] = ['fastify', 'pg'].map((name) => {
    const text = readFileSync(join(PEERS_FOLDER, 'node_modules', name, 'package.json'), 'utf8');
    const { version }: { version: string } = JSON.parse(text);
    return version;
  });
  const program = join(PEERS_FOLDER, 'fastify-service.mjs');
  const { url, server } = await startServer(node, program, settings, releasers);
  return {
    name: 'fastify',
    title: `Fastify ${fastify} + pg ${pg}, Node.js ${node.version}`,
    settings: 'schemas of body and answer, named prepared statements, no log, no key',
    url,
    processes: { fastify: server },
    wantsKey: false,
    faces: [faceOf(rowsMember)],
  };
}

/** A server that does nothing but answer this text to a query. */
export async function startNodeHttp(
  answers: Readonly<Record<Query, string>>,
  node: NodeExecutable,
  releasers: Releasers,
): Promise<Contestant> {
  const program = fileURLToPath(new URL('fixed-answer.mjs', import.meta.url));
  const settings = { [`/${QUERIES.point.name}`]: answers.point, [`/${QUERIES.list.name}`]: answers.list };
  const { url, server } = await startServer(node, program, settings, releasers);
  return {
    name: 'node-http',
    title: `node:http, Node.js ${node.version}`,
    settings: 'answers the same bytes to all, without a database',
    url,
    processes: { server },
    wantsKey: false,
    faces: [faceOf(undefined)],
  };
}

function faceOf(rows: Face['rows']): Face {
  return restFace((name) => `/${name}`, {}, rows);
}

/** Starts a server that takes its settings as one JSON argument and prints `listening on PORT`. */
async function startServer(
  node: NodeExecutable,
  file: string,
  settings: unknown,
  releasers: Releasers,
): Promise<{ readonly url: string; readonly server: RunningProcess }> {
  const env = { NODE_ENV: 'production' };
  const server = await startProcess(node.path, [file, JSON.stringify(settings)], { env });
  await releasers.add(() => server.stop());
  const line = await server.waitForLine((text) => text.startsWith('listening on '));
  return { url: `http://127.0.0.1:${line.slice('listening on '.length)}`, server };
}
