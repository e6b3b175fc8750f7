import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { dial, SVC_GATEWAY, startProcess } from '@svc/testkit';
import { expect, test } from 'vitest';
import { askOnce, gatewayEnvironment } from '../requirements/lone-gateway.testing.ts';
import { metricsPortOf } from '../requirements/metrics-ports.testing.ts';
import { answersIn } from './attack.testing.ts';

const DESCRIPTORS = 60;
const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n';

async function openAndHold(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

test('a gateway without descriptors serves who is connected, and everybody once it has some again', async () => {
  const env = await gatewayEnvironment([], { GATEWAY_METRICS_ADDR: '127.0.0.1:0' });
  const limited = ['-c', `ulimit -n ${DESCRIPTORS} && exec "$0"`, SVC_GATEWAY];
  const gateway = await startProcess('sh', limited, { env });
  const line = await gateway.waitForLine((text) => text.includes('"event":"listening"'));
  const port = Number(/"port":(\d+)/.exec(line)?.[1]);
  const ports = [port, await metricsPortOf(gateway)];
  const kept = await dial(port);
  kept.send(HEALTH);
  await expect.poll(() => answersIn(kept.text()), { interval: 5 }).toEqual(['200']);

  const held = await Promise.all(Array.from({ length: 2 * DESCRIPTORS }, () => openAndHold(port)));
  await expect
    .poll(() => held.filter((socket) => socket.readyState !== 'open').length, { interval: 20 })
    .toBeGreaterThan(DESCRIPTORS);
  kept.send(HEALTH);
  await expect.poll(() => answersIn(kept.text()), { interval: 5 }).toEqual(['200', '200']);

  for (const socket of held) socket.destroy();
  for (const each of ports) {
    const path = each === port ? '/healthz' : '/metrics';
    await expect
      .poll(() => askOnce(each, 'GET', path).then(({ status }) => status, String), { interval: 20 })
      .toBe(200);
  }
  kept.socket.destroy();
  expect(await gateway.stop()).toEqual({ code: 0, signal: null });
});
