import type { Postgres } from '@svc/testkit';
import type { Contestant } from './contestant.ts';
import { postgresSource, startToolboxServer, toolboxFaces } from './toolbox-server.ts';

/** MCP Toolbox as it is: one process, called directly. */
export async function startToolbox(postgres: Postgres): Promise<Contestant> {
  const toolbox = await startToolboxServer(postgresSource(postgres));
  const { title, settings, url, server } = toolbox;
  return {
    name: 'toolbox',
    title,
    settings: `${settings}, no key`,
    url,
    processes: { toolbox: server },
    wantsKey: false,
    faces: toolboxFaces({}),
    stop: () => toolbox.stop(),
  };
}
