import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nextRecord, startService, testDatabase, type Answer, type Service } from '@svc/testkit';

const CAPABILITIES = `
capabilities:
  echo:
    description: Gives back its number after a moment
    sql: select :n as n from (select pg_sleep(0.02)) as moment
    params:
      n: { type: integer, required: true }
    policy: { timeout: 5s, allow_functions: [pg_sleep] }
    result:
      n: { type: integer }
`;

// One service lives through all of it, each test with the agents that the one before has left.
let service: Service;
beforeAll(async () => {
  service = await startService({ database: await testDatabase(), capabilities: CAPABILITIES, agents: 2 });
});
afterAll(() => service.stop());

async function outcome(n: number): Promise<string> {
  const answer: Answer = await service.call('echo', { n });
  if (answer.status !== 200) return `${answer.status} ${answer.text}`;
  return answer.text === `{"rows":[{"n":${n}}],"count":1}` ? 'right' : `wrong: ${answer.text}`;
}

function outcomes(count: number): readonly Promise<string>[] {
  return Array.from({ length: count }, (_, n) => outcome(n));
}

test('calls spread over the agents', { tags: ['agent:several'] }, async () => {
  await Promise.all(outcomes(40));
  for (const index of [0, 1]) {
    const calls = async (): Promise<number> => {
      const log = await readFile(`${service.agentFolder(index)}/svc-agent.log`, 'utf8');
      return log.split('"event":"call"').length - 1;
    };
    await expect.poll(calls).toBeGreaterThan(5);
  }
});

test('an agent that is asked to stop answers what it has', { tags: ['shutdown:agent'] }, async () => {
  const gone = nextRecord(service.gateway, 'agent_disconnected');
  const running = outcomes(60);
  await Promise.race(running);
  const exit = await service.agents[0]?.stop();
  expect(exit?.code).toBe(0);
  expect(new Set(await Promise.all(running))).toEqual(new Set(['right']));
  await gone;
});

test(
  'killing one of two agents fails no call that can be tried again, and no later call',
  { tags: ['agent:retry'] },
  async () => {
    await service.startAgent();
    const lost = nextRecord(service.gateway, 'agent_disconnected');
    const running = outcomes(60);
    await Promise.race(running);
    service.agents[1]?.signal('SIGKILL');
    expect(new Set(await Promise.all(running))).toEqual(new Set(['right']));
    await lost;
    expect(new Set(await Promise.all(outcomes(60)))).toEqual(new Set(['right']));
  },
);

test(
  'without an agent calls are refused at once, the description stays',
  {
    tags: [
      'error:GATEWAY_AGENT_OFFLINE',
      'state:offline',
      'state:connect',
      'health:readyz',
      'health:agent_connected',
      'openapi:cached',
    ],
  },
  async () => {
    expect(await outcome(1)).toBe('right');
    const gone = nextRecord(service.gateway, 'agent_disconnected');
    await service.agents[2]?.stop();
    await gone;
    const refused = await service.call('echo', { n: 1 });
    expect([refused.status, refused.json]).toEqual([
      503,
      { error: { code: 'GATEWAY_AGENT_OFFLINE', message: 'agent is not connected' } },
    ]);
    expect((await service.get('/healthz')).json).toEqual({ ok: true, agent_connected: false });
    expect((await service.get('/readyz')).status).toBe(503);
    expect((await service.get('/openapi.json')).status).toBe(200);
    await service.startAgent();
    expect(await outcome(2)).toBe('right');
  },
);

test(
  'a gateway that is asked to stop answers what it accepted; agents find the next one',
  { tags: ['shutdown:gateway', 'agent:reconnect'] },
  async () => {
    const running = outcomes(30);
    await Promise.race(running);
    const exit = await service.gateway.stop();
    expect(exit.code).toBe(0);
    expect(new Set(await Promise.all(running))).toEqual(new Set(['right']));
    const gateway = await service.restartGateway();
    await gateway.waitForLine((line) => line.includes('"event":"agent_connected"'), 20_000);
    expect(await outcome(1)).toBe('right');
  },
);
