import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createKey, startProcess, SVC_GATEWAY, temporaryFolder } from '@svc/testkit';
import { expect, onTestFinished, test } from 'vitest';
import { askOnce, codeOf, gatewayEnvironment, recordsOf } from '../requirements/lone-gateway.testing.ts';
import { childrenOf } from './workers.testing.ts';

test.each([1, 2])(
  'a gateway of %i workers whose working folder is removed still compares new keys, and replaces its workers',
  async (workers) => {
    const folder = await temporaryFolder('removed');
    onTestFinished(() => folder.remove());
    const { api_key: apiKey, record } = await createKey('one', '*');
    const cwd = join(folder.path, 'cwd');
    await mkdir(cwd);
    const env = await gatewayEnvironment([record], { GATEWAY_WORKERS: String(workers) });
    const gateway = await startProcess(SVC_GATEWAY, [], { cwd, env });
    const line = await gateway.waitForLine((text) => text.includes('"event":"listening"'));
    const port = Number(/"port":(\d+)/.exec(line)?.[1]);
    await rm(cwd, { recursive: true });

    const ask = async (key: string): Promise<string> => {
      const answer = await askOnce(port, 'GET', '/openapi.json', { headers: { 'X-API-Key': key } });
      return `${answer.status} ${codeOf(answer)}`;
    };
    // It is known: there is no agent.
    expect(await ask(apiKey)).toBe('503 GATEWAY_AGENT_OFFLINE');
    expect(await ask(`${apiKey.slice(0, -1)}x`)).toBe('401 GATEWAY_UNAUTHORIZED');
    if (workers > 1) {
      const [killed = 0, ...others] = await childrenOf(gateway.pid);
      process.kill(killed, 'SIGKILL');
      await gateway.waitForLine((text) => text.includes('"event":"worker_ended"'));
      await expect.poll(async () => (await childrenOf(gateway.pid)).length).toBe(1 + others.length);
      expect(await ask(apiKey)).toBe('503 GATEWAY_AGENT_OFFLINE');
    }
    expect(recordsOf(gateway).filter(({ event }) => event === 'internal_error')).toEqual([]);
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
  },
);
