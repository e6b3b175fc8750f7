import { startService, type Executables, type Releasers, type ServiceOptions } from '@svc/testkit';
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

/** Packaged executables, or the built ones with a Node.js to run them. */
type Programs = Executables | NodeExecutable;

/** Gateway and agent as a user runs them, with everything switched on. */
export async function startSvc(
  { name, title, settings = '' }: Pick<Contestant, 'name' | 'title'> & { readonly settings?: string },
  database: ServiceOptions['database'],
  programs: Programs,
  releasers: Releasers,
): Promise<Contestant> {
  let env: { readonly PATH?: string } = {};
  if ('path' in programs) {
    const { PATH, folder } = await pathWith(programs);
    await releasers.add(() => folder.remove());
    env = { PATH };
  }
  const service = await startService({
    database,
    capabilities: `capabilities:\n${Object.values(QUERIES).map(capability).join('')}`,
    gatewayEnv: { ...env, GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '1000000' },
    agentEnv: env,
    executables: 'path' in programs ? undefined : programs,
  });
  await releasers.add(() => service.stop());
  const headers = { authorization: `Bearer ${service.apiKeys['all'] ?? ''}` };
  const [agent] = service.agents;
  return {
    name,
    title,
    settings: `gateway and agent, API key, request log at info, rate limit, READ ONLY transactions${settings}`,
    url: service.url,
    processes: { gateway: service.gateway, ...(agent === undefined ? {} : { agent }) },
    wantsKey: true,
    faces: [
      restFace((query) => `/api/v1/capabilities/${query}`, headers, rowsMember),
      ...REVISIONS.map((revision) => mcpFace(revision, headers, ([text = '']) => rowsMember(text))),
    ],
  };
}
