import { createReleasers, startService, type Postgres, type Releasers } from '@svc/testkit';
import { BOOKS_DATABASE, QUERIES, type QueryShape } from './books.ts';
import type { Contestant } from './contestant.ts';
import { mcpFace, REVISIONS } from './mcp-face.ts';
import { pathWith, type NodeExecutable } from './node-executable.ts';
import { restFace } from './rest-face.ts';

const RESULT = `{ id: { type: integer }, title: { type: string }, author: { type: string }, price: { type: number }, added_at: { type: datetime } }`;

export function capability({ name, parameter, sql }: QueryShape): string {
  return `  ${name}:
    description: Books of the library
    sql: ${sql.replace('$1', `:${parameter}`)}
    params: { ${parameter}: { type: integer, required: true, minimum: 1, description: A number of a book } }
    result: ${RESULT}
`;
}

/** Gateway and agent as a user runs them, with everything switched on. */
export async function startSvc(
  name: 'svc' | 'svc-other-node',
  postgres: Postgres,
  node: NodeExecutable,
): Promise<Contestant> {
  const releasers = createReleasers();
  try {
    return { name, ...(await start(postgres, node, releasers)) };
  } catch (error) {
    await releasers.closeAll();
    throw error;
  }
}

async function start(
  postgres: Postgres,
  node: NodeExecutable,
  releasers: Releasers,
): Promise<Omit<Contestant, 'name'>> {
  const { PATH, folder } = await pathWith(node);
  await releasers.add(() => folder.remove());
  const service = await startService({
    database: { ...postgres, name: BOOKS_DATABASE },
    capabilities: `capabilities:\n${Object.values(QUERIES).map(capability).join('')}`,
    gatewayEnv: { PATH, GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '1000000' },
    agentEnv: { PATH },
  });
  await releasers.add(() => service.stop());
  const headers = { authorization: `Bearer ${service.apiKeys['all'] ?? ''}` };
  const rowsOf = (answer: string): readonly unknown[] => {
    const { rows }: { rows: readonly unknown[] } = JSON.parse(answer);
    return rows;
  };
  const [agent] = service.agents;
  return {
    title: `svc, Node.js ${node.version}`,
    settings: 'gateway and agent, API key, request log at info, rate limit, READ ONLY transaction per call',
    url: service.url,
    processes: { gateway: service.gateway, ...(agent === undefined ? {} : { agent }) },
    wantsKey: true,
    faces: [
      restFace((name) => `/api/v1/capabilities/${name}`, headers, rowsOf),
      ...REVISIONS.map((revision) => mcpFace(revision, headers, ([text = '']) => rowsOf(text))),
    ],
    stop: () => releasers.closeAll(),
  };
}
