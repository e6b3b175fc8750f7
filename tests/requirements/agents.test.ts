import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ask,
  freePort,
  makeAgentFolder,
  nextRecord,
  startAgent,
  startFaultProxy,
  startService,
  temporaryFolder,
  testDatabase,
  type Answer,
  type FaultProxy,
  type RunningProcess,
  type Service,
  type TemporaryFolder,
} from '@svc/testkit';
import { LOAD_CAPABILITIES, LOAD_SQL, startLoad, type SteadyLoad } from './steady-load.testing.ts';

const OFFLINE = '503 GATEWAY_AGENT_OFFLINE';
const CAPABILITIES = `${LOAD_CAPABILITIES}
  brief:
    description: One, within half a second
    sql: select 1 as one
    policy: { timeout: 500ms }
    result: { one: { type: integer } }
`;

let folder: TemporaryFolder;
let network: FaultProxy;
let service: Service;
let load: SteadyLoad;

beforeAll(async () => {
  folder = await temporaryFolder('agents');
  const port = await freePort();
  network = await startFaultProxy({ target: { host: '127.0.0.1', port } });
  service = await startService({
    database: await testDatabase({ sql: [LOAD_SQL] }),
    capabilities: CAPABILITIES,
    gatewayEnv: { GATEWAY_ADDR: `127.0.0.1:${port}` },
    linkPort: network.port,
  });
  load = startLoad(service, 15);
  await load.settled();
});
afterAll(async () => {
  await load.stop();
  await service.stop();
  await network.close();
  await folder.remove();
});

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function newest(agents: readonly RunningProcess[]): RunningProcess {
  const agent = agents.at(-1);
  if (agent === undefined) throw new Error('cannot take an agent: none was started');
  return agent;
}

/** The next record of that event which the gateway writes from now on. */
async function nextOf(event: string): Promise<Record<string, unknown>> {
  const record: Record<string, unknown> = JSON.parse(await nextRecord(service.gateway, event));
  return record;
}

describe('under load', { timeout: 120_000 }, () => {
  test(
    'of two agents one may be killed, again and again: no call fails',
    { tags: ['agent:retry'] },
    async () => {
      for (let round = 0; round < 2; round += 1) {
        const doomed = newest(service.agents);
        await service.startAgent();
        await load.settled();
        const gone = nextOf('agent_disconnected');
        doomed.signal('SIGKILL');
        expect((await gone)['reason']).toMatch(/\S/);
        await load.settled();
      }
      expect(load.faults()).toEqual([]);
    },
  );

  test('of two agents one may be stopped: no call fails', { tags: ['shutdown:agent'] }, async () => {
    const leaving = newest(service.agents);
    await service.startAgent();
    await load.settled();
    expect(await leaving.stop()).toEqual({ code: 0, signal: null });
    await load.settled();
    expect(load.faults()).toEqual([]);
  });

  test(
    'without the only agent every call is refused at once; with the next one all is well',
    { tags: ['error:GATEWAY_AGENT_OFFLINE', 'state:offline', 'state:connect', 'log:agent_disconnected'] },
    async () => {
      const gone = nextOf('agent_disconnected');
      newest(service.agents).signal('SIGKILL');
      expect(await gone).toMatchObject({
        conn_id: expect.any(String),
        instance_id: expect.any(String),
        reason: expect.stringMatching(/\S/),
      });
      const started = performance.now();
      const refused = await service.call('get_item', { id: 1 });
      expect(performance.now() - started).toBeLessThan(2500);
      expect([refused.status, refused.json]).toEqual([
        503,
        { error: { code: 'GATEWAY_AGENT_OFFLINE', message: 'agent is not connected' } },
      ]);
      expect((await service.get('/healthz')).json).toEqual({ ok: true, agent_connected: false });
      await service.startAgent();
      await load.settled();
      expect((await service.get('/healthz')).json).toEqual({ ok: true, agent_connected: true });
      expect(load.faults()).toEqual([OFFLINE]);
    },
  );

  test(
    'an agent that stands still is waited for as long as the capability may take and 2 s',
    { tags: ['error:GATEWAY_AGENT_TIMEOUT'] },
    async () => {
      const agent = newest(service.agents);
      agent.signal('SIGSTOP');
      const started = performance.now();
      const answer = await service.call('brief', {});
      const tookMs = performance.now() - started;
      await pause(started + 5000 - performance.now());
      agent.signal('SIGCONT');
      expect([answer.status, answer.json]).toMatchObject([504, { error: { code: 'GATEWAY_AGENT_TIMEOUT' } }]);
      expect(tookMs).toBeGreaterThan(2450);
      expect(tookMs).toBeLessThan(4500);
      await load.settled();
      const faults = load.faults();
      expect(faults.filter((fault) => !/^504 (?:GATEWAY_AGENT|AGENT_QUERY)_TIMEOUT$/.test(fault))).toEqual(
        [],
      );
    },
  );

  test(
    'a link that breaks is made again',
    { tags: ['agent:reconnect', 'log:agent_disconnected'] },
    async () => {
      for (let round = 0; round < 3; round += 1) {
        const gone = nextOf('agent_disconnected');
        const back = nextOf('agent_connected');
        network.cut();
        expect(await gone).toMatchObject({ reason: expect.stringContaining('1006') });
        await back;
      }
      await load.settled();
      expect(load.faults()).toEqual([OFFLINE]);
    },
  );

  test(
    'a gateway that is killed and started again is found again',
    { tags: ['agent:reconnect'] },
    async () => {
      service.gateway.signal('SIGKILL');
      await service.gateway.exited;
      const gateway = await service.restartGateway();
      await gateway.waitForLine((line) => line.includes('"event":"agent_connected"'));
      await load.settled();
      const faults = load.faults();
      expect(faults.filter((fault) => fault !== OFFLINE && !fault.startsWith('no answer: '))).toEqual([]);
    },
  );

  test(
    'a gateway that is stopped breaks no call: they are answered, or never accepted',
    { tags: ['shutdown:gateway'] },
    async () => {
      expect(await service.gateway.stop()).toEqual({ code: 0, signal: null });
      const gateway = await service.restartGateway();
      await gateway.waitForLine((line) => line.includes('"event":"agent_connected"'));
      await load.settled();
      const faults = load.faults();
      expect(faults.filter((fault) => fault !== OFFLINE && fault !== 'no answer: ECONNREFUSED')).toEqual([]);
    },
  );
});

describe('agents that differ', () => {
  const FIRST = `
capabilities:
  shared: { description: Both, sql: select 'first' as by, result: { by: { type: string } } }
  first_only: { description: One, sql: select 'first' as by, result: { by: { type: string } } }
`;
  let first: Service;
  let second: RunningProcess;
  beforeAll(async () => {
    first = await startService({ database: await testDatabase(), capabilities: FIRST });
    second = await startVariant(first, (file) =>
      file
        .replaceAll('first', 'second')
        .replace('description: Both', 'description: Both again')
        .replace('version: 1.0.0', 'version: 2.0.0'),
    );
  });
  afterAll(async () => {
    await second.stop();
    await first.stop();
  });

  async function answersOf(capability: string): Promise<Set<string>> {
    const answers = Array.from({ length: 30 }, async () => (await first.call(capability, {})).text);
    return new Set(await Promise.all(answers));
  }
  const by = (agent: string): string => `{"rows":[{"by":"${agent}"}],"count":1}`;

  test(
    'calls go to agents that have the capability',
    { tags: ['agent:capability', 'agent:several'] },
    async () => {
      expect(await answersOf('first_only')).toEqual(new Set([by('first')]));
      expect(await answersOf('second_only')).toEqual(new Set([by('second')]));
      expect(await answersOf('shared')).toEqual(new Set([by('first'), by('second')]));
      expect((await first.call('third_only', {})).status).toBe(404);
    },
  );

  test(
    'what they offer together is described, and stays while one of them is away',
    {
      tags: [
        'agent:catalogue',
        'agent:newest',
        'log:descriptions_differ',
        'error:GATEWAY_AGENT_OFFLINE',
        'error:GATEWAY_CAPABILITY_NOT_FOUND',
      ],
    },
    async () => {
      const documents = async (): Promise<readonly Answer[]> => [
        await first.get('/openapi.json'),
        await listTools(first),
      ];
      const both = await documents();
      for (const { text } of both) {
        for (const name of ['shared', 'first_only', 'second_only']) {
          expect(text.split(new RegExp(`"name":"${name}"|"/api/v1/capabilities/${name}"`))).toHaveLength(2);
        }
        expect(text).toContain('Both again');
      }
      expect(both[0]?.json).toMatchObject({ info: { version: '2.0.0' } });
      await second.stop();
      expect((await documents()).map(({ text }) => text)).toEqual(both.map(({ text }) => text));
      expect((await first.call('second_only', {})).json).toMatchObject({
        error: { code: 'GATEWAY_AGENT_OFFLINE' },
      });
      expect((await first.call('third_only', {})).json).toMatchObject({
        error: { code: 'GATEWAY_CAPABILITY_NOT_FOUND' },
      });
      expect(await answersOf('shared')).toEqual(new Set([by('first')]));
      const records = first.gateway.output('stdout').split('\n');
      expect(records.filter((line) => line.includes('descriptions_differ'))).toEqual([
        expect.stringMatching(/"level":"warn".*"capability":"shared"/),
      ]);
    },
  );
});

/** A further agent whose file differs from that of the first; resolves once the gateway lists it. */
async function startVariant(of: Service, change: (file: string) => string): Promise<RunningProcess> {
  const home = join(folder.path, 'variant');
  const file = await readFile(join(of.agentFolder(0), 'capability.yaml'), 'utf8');
  await makeAgentFolder(home, { 'capability.yaml': change(file) });
  return await startAgent(of.gateway, home);
}

function listTools(at: Service): Promise<Answer> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  return ask(`${at.url}/mcp`, { method: 'POST', apiKey: at.apiKeys['all'], body });
}
