import { fileURLToPath } from 'node:url';
import { QUERIES, type Query } from './books.ts';
import type { Contestant } from './contestant.ts';
import { startNodeProgram } from './node-program.ts';
import { restFace } from './rest-face.ts';

/** A server that does nothing but answer this text to a query. */
export async function startNodeHttp(answers: Readonly<Record<Query, string>>): Promise<Contestant> {
  const program = fileURLToPath(new URL('fixed-answer.mjs', import.meta.url));
  const { url, server } = await startNodeProgram(program, {
    [`/${QUERIES.point.name}`]: answers.point,
    [`/${QUERIES.list.name}`]: answers.list,
  });
  return {
    name: 'node-http',
    title: `node:http ${process.versions.node}, fixed answer`,
    settings: 'answers the same bytes to all, without a database',
    url,
    processes: { server },
    faces: [restFace((name) => `/${name}`, {}, undefined)],
    stop: () => server.stop(),
  };
}
