import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  startGateway,
  startService,
  temporaryFolder,
  testDatabase,
  type RunningProcess,
  type TemporaryFolder,
} from '@svc/testkit';
import { gatewayEnvironment } from './requirements/lone-gateway.testing.ts';

/** At SIGUSR2 makes objects of which many outlive a collection, then says how far the young generation went. */
const CHURN = `
const { getHeapSpaceStatistics } = require('node:v8');
const megabytes = () =>
  getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size / 1048576;
process.on('SIGUSR2', () => {
  let kept = [];
  let most = 0;
  let turn = 0;
  setImmediate(function churn() {
    for (let made = 0; made < 4000; made++) kept.push({ made, text: 'made ' + made, list: [made] });
    if (kept.length > 40_000) kept = kept.slice(20_000);
    most = Math.max(most, megabytes());
    if (++turn < 400) setImmediate(churn);
    else process.stderr.write('young ' + most + '\\n');
  });
});
`;

let folder: TemporaryFolder;
let churn: string;
beforeAll(async () => {
  folder = await temporaryFolder('young');
  const file = join(folder.path, 'churn.cjs');
  await writeFile(file, CHURN);
  churn = `--require ${file}`;
});
afterAll(() => folder.remove());

async function mostMegabytes(process: RunningProcess): Promise<number> {
  process.signal('SIGUSR2');
  const line = await process.waitForLine((text) => text.startsWith('young '));
  return Number(line.split(' ')[1]);
}

test('both processes keep their young generation small', { tags: ['memory:young-generation'] }, async () => {
  const env = { NODE_OPTIONS: churn };
  const service = await startService({
    database: await testDatabase(),
    capabilities: `capabilities:
  one:
    description: Gives back one
    sql: select 1 as n
    result: { n: { type: integer } }
`,
    gatewayEnv: env,
    agentEnv: env,
  });
  for (const process of [service.gateway, ...service.agents]) {
    expect(await mostMegabytes(process)).toBeLessThan(26);
  }
  await service.stop();
});

test("the user's own size goes before it", { tags: ['memory:own-flags'] }, async () => {
  const env = { NODE_OPTIONS: `${churn} --max-semi-space-size=32` };
  const gateway = await startGateway(await gatewayEnvironment([], env));
  expect(await mostMegabytes(gateway.process)).toBeGreaterThan(26);
  await gateway.process.stop();
});
