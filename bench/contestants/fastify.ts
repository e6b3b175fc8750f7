import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Postgres } from '@svc/testkit';
import { BOOKS_DATABASE, QUERIES } from './books.ts';
import { DATABASE_CONNECTIONS, type Contestant } from './contestant.ts';
import { PEERS_FOLDER } from './install-peers.ts';
import type { NodeExecutable } from './node-executable.ts';
import { startNodeProgram } from './node-program.ts';
import { restFace } from './rest-face.ts';

/** What a developer would write by hand, with Fastify and pg. */
export async function startFastify(
  { host, port, user, password }: Postgres,
  node: NodeExecutable,
): Promise<Contestant> {
  const { url, server } = await startNodeProgram(
    node,
    join(PEERS_FOLDER, 'fastify-service.mjs'),
    {
      database: { host, port, user, password, database: BOOKS_DATABASE },
      connections: DATABASE_CONNECTIONS,
      queries: Object.values(QUERIES),
    },
    { NODE_ENV: 'production' },
  );
  const [fastify, pg] = ['fastify', 'pg'].map((name) => {
    const text = readFileSync(join(PEERS_FOLDER, 'node_modules', name, 'package.json'), 'utf8');
    const { version }: { version: string } = JSON.parse(text);
    return version;
  });
  return {
    name: 'fastify',
    title: `Fastify ${fastify} + pg ${pg}, Node.js ${node.version}`,
    settings: 'schemas of body and answer, named prepared statements, no log, no key',
    url,
    processes: { fastify: server },
    wantsKey: false,
    faces: [
      restFace(
        (name) => `/${name}`,
        {},
        (answer) => {
          const { rows }: { rows: readonly unknown[] } = JSON.parse(answer);
          return rows;
        },
      ),
    ],
    stop: () => server.stop(),
  };
}
