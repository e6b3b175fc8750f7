import { fileURLToPath } from 'node:url';
import { QUERIES, type Query } from './books.ts';
import type { Contestant } from './contestant.ts';
import type { NodeExecutable } from './node-executable.ts';
import { startNodeProgram } from './node-program.ts';
import { restFace } from './rest-face.ts';

/** A server that does nothing but answer this text to a query. */
export async function startNodeHttp(
  answers: Readonly<Record<Query, string>>,
  node: NodeExecutable,
): Promise<Contestant> {
  const program = fileURLToPath(new URL('fixed-answer.mjs', import.meta.url));
  const { url, server } = await startNodeProgram(node, program, {
    [`/${QUERIES.point.name}`]: answers.point,
    [`/${QUERIES.list.name}`]: answers.list,
  });
  return {
    name: 'node-http',
    title: `node:http, Node.js ${node.version}`,
    settings: 'answers the same bytes to all, without a database',
    url,
    processes: { server },
    wantsKey: false,
    faces: [restFace((name) => `/${name}`, {}, undefined)],
    stop: () => server.stop(),
  };
}
