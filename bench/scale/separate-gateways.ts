import { join } from 'node:path';
import {
  createAgentSecret,
  createKey,
  gatewaySettings,
  makeAgentFolder,
  startAgent,
  startGateway,
  temporaryFolder,
} from '@svc/testkit';
import type { Load } from '../load/wrk.ts';
import { callPath, DATABASE, headersWith, pointBodies, pointNames, pointQueries } from './library.ts';
import type { Served } from './measured.ts';
import type { Scale } from './row.ts';

/** So many gateways of one process each, which have one agent, and a load for each. */
export async function startSeparateGateways(
  { postgres, releasers }: Scale,
  count: number,
  connections: number,
): Promise<{ readonly service: Served; readonly loads: readonly Load[] }> {
  const secret = createAgentSecret();
  const [key, folder] = await Promise.all([createKey('all', '*'), temporaryFolder('separate')]);
  await releasers.add(() => folder.remove());
  const settings = {
    ...gatewaySettings(secret.agent_public_key, [key.record]),
    GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '1000000',
  };
  const started = await Promise.all(Array.from({ length: count }, () => startGateway(settings)));
  for (const { process } of started) await releasers.add(() => process.stop());
  const gateways = started.map(({ process }) => process);
  const home = join(folder.path, 'agent');
  await makeAgentFolder(home, {
    'capability.yaml': `gateway:
  url: ${JSON.stringify(started.map(({ port }) => `ws://127.0.0.1:${port}/ws/agent`))}
  agent_private_key: ${secret.agent_private_key}
database:
  host: ${postgres.host}
  port: ${postgres.port}
  name: ${DATABASE}
  user: ${JSON.stringify(postgres.user)}
  password: ${JSON.stringify(postgres.password)}
capabilities:${pointQueries(pointNames(1))}
`,
  });
  const [first, ...others] = gateways;
  if (first === undefined) throw new TypeError('count must be at least 1');
  const listed = others.map((gateway) =>
    gateway.waitForLine((line) => line.includes('"event":"agent_connected"')),
  );
  const agent = await startAgent(first, home);
  await releasers.add(() => agent.stop());
  await Promise.all(listed);
  return {
    service: { gateways, agents: [agent] },
    loads: started.map(({ port }) => ({
      url: `http://127.0.0.1:${port}`,
      path: callPath(pointNames(1)[0] ?? ''),
      connections,
      headers: headersWith(key.api_key),
      bodies: pointBodies(),
    })),
  };
}
