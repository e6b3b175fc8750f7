import { startService, type Releasers, type ServiceOptions } from '@svc/testkit';
import { QUERIES, type QueryShape } from './books.ts';
import type { Contestant } from './contestant.ts';
import { mcpFace, restFace, REVISIONS, rowsMember } from './faces.ts';
import { pathWith, type NodeExecutable } from './node-executable.ts';

const RESULT = `{ id: { type: integer }, title: { type: string }, author: { type: string }, price: { type: number }, added_at: { type: datetime } }`;

function capability({ name, parameter, sql }: QueryShape): string {
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
  database: ServiceOptions['database'],
  node: NodeExecutable,
  releasers: Releasers,
): Promise<Contestant> {
  const { PATH, folder } = await pathWith(node);
  await releasers.add(() => folder.remove());
  const service = await startService({
    database,
    capabilities: `capabilities:\n${Object.values(QUERIES).map(capability).join('')}`,
    gatewayEnv: { PATH, GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '1000000' },
    agentEnv: { PATH },
  });
  await releasers.add(() => service.stop());
  const headers = { authorization: `Bearer ${service.apiKeys['all'] ?? ''}` };
  const [agent] = service.agents;
  return {
    name,
    title: `svc, Node.js ${node.version}`,
    settings: 'gateway and agent, API key, request log at info, rate limit, READ ONLY transaction per call',
    url: service.url,
    processes: { gateway: service.gateway, ...(agent === undefined ? {} : { agent }) },
    wantsKey: true,
    faces: [
      restFace((query) => `/api/v1/capabilities/${query}`, headers, rowsMember),
      ...REVISIONS.map((revision) => mcpFace(revision, headers, ([text = '']) => rowsMember(text))),
    ],
  };
}
