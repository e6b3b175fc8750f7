// What a developer would write by hand: one route per query, without keys, limits or a log.
import process from 'node:process';
import Fastify from 'fastify';
import pg from 'pg';

const { database, connections, queries } = JSON.parse(process.argv[2] ?? '');
const pool = new pg.Pool({ ...database, max: connections });
const app = Fastify({ logger: false });

const row = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    title: { type: 'string' },
    author: { type: 'string' },
    price: { type: 'string' },
    added_at: { type: 'string', format: 'date-time' },
  },
};
const answer = {
  type: 'object',
  properties: { rows: { type: 'array', items: row }, count: { type: 'integer' } },
};

for (const { name, parameter, sql } of queries) {
  const body = {
    type: 'object',
    properties: { [parameter]: { type: 'integer', minimum: 1 } },
    required: [parameter],
    additionalProperties: false,
  };
  app.post(`/${name}`, { schema: { body, response: { 200: answer } } }, async (request) => {
    const { rows } = await pool.query({ name, text: sql, values: [request.body[parameter]] });
    return { rows, count: rows.length };
  });
}

await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`listening on ${app.server.address().port}\n`);
process.once('SIGTERM', () => process.exit());
