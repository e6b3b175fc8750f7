import { readFile } from 'node:fs/promises';
import { afterEach, expect, test } from 'vitest';
import { startService, testDatabase, type Answer, type Service } from '@svc/testkit';

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

let service: Service;
afterEach(() => service.stop());

function outcome(answer: Answer, n: number): string {
  if (answer.status !== 200) return `${answer.status} ${answer.text}`;
  return answer.text === `{"rows":[{"n":${n}}],"count":1}` ? 'right' : `wrong: ${answer.text}`;
}

test(
  'killing one of two agents fails no call that can be tried again, and no later call',
  { tags: ['agent:retry'] },
  async () => {
    service = await startService({ database: await testDatabase(), capabilities: CAPABILITIES, agents: 2 });
    const [first] = service.agents;
    const running = Array.from({ length: 60 }, async (_, n) => outcome(await service.call('echo', { n }), n));
    await Promise.race(running);
    first?.signal('SIGKILL');
    const lost = service.gateway.waitForLine((line) => line.includes('"event":"agent_disconnected"'));
    expect(new Set(await Promise.all(running))).toEqual(new Set(['right']));
    await lost;
    const later = Array.from({ length: 60 }, async (_, n) => outcome(await service.call('echo', { n }), n));
    expect(new Set(await Promise.all(later))).toEqual(new Set(['right']));
  },
);

test('calls spread over the agents', { tags: ['agent:several'] }, async () => {
  service = await startService({ database: await testDatabase(), capabilities: CAPABILITIES, agents: 2 });
  await Promise.all(Array.from({ length: 40 }, (_, n) => service.call('echo', { n })));
  await Promise.all(service.agents.map((agent) => agent.stop()));
  for (const index of [0, 1]) {
    const log = await readFile(`${service.agentFolder(index)}/svc-agent.log`, 'utf8');
    expect(log.split('"event":"call"').length - 1).toBeGreaterThan(5);
  }
});

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
    service = await startService({ database: await testDatabase(), capabilities: CAPABILITIES });
    expect((await service.call('echo', { n: 1 })).status).toBe(200);
    const gone = service.gateway.waitForLine((line) => line.includes('"event":"agent_disconnected"'));
    await service.agents[0]?.stop();
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
    expect((await service.call('echo', { n: 2 })).status).toBe(200);
  },
);

test('an agent that is asked to stop answers what it has', { tags: ['shutdown:agent'] }, async () => {
  service = await startService({ database: await testDatabase(), capabilities: CAPABILITIES, agents: 2 });
  const running = Array.from({ length: 60 }, async (_, n) => outcome(await service.call('echo', { n }), n));
  await Promise.race(running);
  const exit = await service.agents[0]?.stop();
  expect(exit?.code).toBe(0);
  expect(new Set(await Promise.all(running))).toEqual(new Set(['right']));
});

test(
  'a gateway that is asked to stop answers what it accepted; agents find the next one',
  { tags: ['shutdown:gateway', 'agent:reconnect'] },
  async () => {
    service = await startService({ database: await testDatabase(), capabilities: CAPABILITIES });
    const running = Array.from({ length: 30 }, async (_, n) => outcome(await service.call('echo', { n }), n));
    await Promise.race(running);
    const exit = await service.gateway.stop();
    expect(exit.code).toBe(0);
    expect(new Set(await Promise.all(running))).toEqual(new Set(['right']));
    const gateway = await service.restartGateway();
    await gateway.waitForLine((line) => line.includes('"event":"agent_connected"'), 20_000);
    expect((await service.call('echo', { n: 1 })).status).toBe(200);
  },
);
