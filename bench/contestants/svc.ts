import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createKey,
  startProcess,
  startService,
  SVC,
  temporaryFolder,
  type Executables,
  type Releasers,
  type ServiceOptions,
} from '@svc/testkit';
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

const CAPABILITIES: string = `capabilities:\n${Object.values(QUERIES).map(capability).join('')}`;
/** More calls than any load makes. */
const SETTINGS = { GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '1000000' };

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
    capabilities: CAPABILITIES,
    gatewayEnv: { ...env, ...SETTINGS },
    agentEnv: env,
    executables: 'path' in programs ? undefined : programs,
  });
  await releasers.add(() => service.stop());
  const [agent] = service.agents;
  return {
    name,
    title,
    settings: `gateway and agent, API key, request log at info, rate limit, READ ONLY transactions${settings}`,
    url: service.url,
    processes: { gateway: service.gateway, ...(agent === undefined ? {} : { agent }) },
    wantsKey: true,
    faces: facesWith(service.apiKeys['all'] ?? ''),
  };
}

/** Gateway and agent in one process, as the npm package has it: a text that this Node.js runs. */
export async function startServe(
  { name, title }: Pick<Contestant, 'name' | 'title'>,
  database: ServiceOptions['database'],
  node: NodeExecutable,
  releasers: Releasers,
): Promise<Contestant> {
  const folder = await temporaryFolder('serve');
  await releasers.add(() => folder.remove());
  const config = join(folder.path, 'capability.yaml');
  await writeFile(config, capabilityFile(database));
  const { api_key: apiKey, record } = await createKey('all', '*');
  const env = { ...SETTINGS, GATEWAY_ADDR: '127.0.0.1:0', GATEWAY_API_KEYS_JSON: JSON.stringify([record]) };
  const serve = await startProcess(node.path, [SVC, 'serve', '--config', config], { cwd: folder.path, env });
  await releasers.add(() => serve.stop());
  const line = await serve.waitForLine((text) => text.includes('"event":"listening"'));
  const { port }: { readonly port: number } = JSON.parse(line);
  return {
    name,
    title: `${title}, Node.js ${node.version}`,
    settings: 'API key, logs of both sides at info, rate limit, READ ONLY transactions',
    url: `http://127.0.0.1:${port}`,
    processes: { serve },
    wantsKey: true,
    faces: facesWith(apiKey),
  };
}

/** The file of a process that needs no link to a gateway. */
export function capabilityFile(database: unknown): string {
  return `service: { title: Books, version: 1.0.0 }\ndatabase: ${JSON.stringify(database)}\n${CAPABILITIES}`;
}

function facesWith(apiKey: string): Contestant['faces'] {
  const headers = { authorization: `Bearer ${apiKey}` };
  return [
    restFace((query) => `/api/v1/capabilities/${query}`, headers, rowsMember),
    ...REVISIONS.map((revision) => mcpFace(revision, headers, ([text = '']) => rowsMember(text))),
  ];
}
