import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProcess } from '@svc/testkit';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../../documentation/documents.ts';
import { chartFolder, NAMESPACE, RELEASE, snapshotFile, VALUE_SETS, valuesFile } from '../charts.testing.ts';
import { findTool } from './tools.testing.ts';

/**
 * What Helm and kubeconform say of the charts. `npm run test:chart` installs both;
 * `npm run test:chart -- --update` writes snapshots and READMEs again: look at the difference.
 */
const INSTALL = 'npm run test:chart, which needs Go';
const helm = findTool('helm', 'the tests that render the Helm charts', INSTALL);
const kubeconform = findTool('kubeconform', 'the tests of the manifests against schemas', INSTALL);
const helmDocs = findTool('helm-docs', "the test of the charts' READMEs", INSTALL);

const template = (chart: string, ...args: readonly string[]): ReturnType<typeof runProcess> =>
  runProcess(helm ?? '', ['template', RELEASE, chartFolder(chart), '--namespace', NAMESPACE, ...args]);

const SETS = VALUE_SETS.map((set) => ({ ...set, file: valuesFile(set), snapshot: snapshotFile(set) }));

describe.each(SETS)('$chart with the $values values', ({ chart, file, snapshot }) => {
  test.skipIf(helm === undefined)('lint finds nothing', async () => {
    const { code, stdout } = await runProcess(helm ?? '', [
      'lint',
      '--strict',
      chartFolder(chart),
      '-f',
      file,
    ]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('0 chart(s) failed') });
  });

  test.skipIf(helm === undefined)('gives the manifests that were looked at', async () => {
    const { code, stdout, stderr } = await template(chart, '-f', file);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    await expect(stdout).toMatchFileSnapshot(snapshot);
  });

  test.skipIf(helm === undefined || kubeconform === undefined)('Kubernetes knows every field', async () => {
    const { stdout: input } = await template(chart, '-f', file);
    const schemas = join(ROOT, 'tests/deploy/schemas/{{.ResourceKind}}{{.KindSuffix}}.json');
    const { status, stdout } = spawnSync(
      kubeconform ?? '',
      ['-strict', '-summary', '-schema-location', schemas],
      { input, encoding: 'utf8' },
    );
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringContaining('Invalid: 0, Errors: 0, Skipped: 0'),
    });
  });
});

const gateway = SETS[0]?.file ?? '';
const agent = SETS.find(({ chart }) => chart === 'svc-agent')?.file ?? '';

test.skipIf(helm === undefined).each([
  { chart: 'svc-gateway', file: gateway, set: 'image=', said: 'image is required' },
  { chart: 'svc-gateway', file: gateway, set: 'apiKeys.secretName=', said: 'no agent could connect' },
  {
    chart: 'svc-gateway',
    file: gateway,
    set: 'agentPublicKeys[0]=JaBcK5sQsUjir6nZ2mfgyNJqqc3-9d2dyM0_JmKfRJ4,apiKeys.secretName=',
    said: 'nobody could call',
  },
  {
    chart: 'svc-gateway',
    file: gateway,
    set: 'issuers[0].name=idp',
    said: 'publicUrl is required with issuers',
  },
  {
    chart: 'svc-gateway',
    file: gateway,
    set: 'shutdownDelay=20s',
    said: 'terminationGracePeriodSeconds must be above 45',
  },
  {
    chart: 'svc-gateway',
    file: gateway,
    set: 'autoscaling.minReplicas=11',
    said: 'autoscaling.minReplicas is above autoscaling.maxReplicas',
  },
  {
    chart: 'svc-gateway',
    file: gateway,
    set: 'serviceMonitor.enabled=true,metrics.enabled=false',
    said: 'serviceMonitor.enabled needs metrics.enabled',
  },
  {
    chart: 'svc-gateway',
    file: gateway,
    set: 'settings.GATEWAY_ADDR=:1',
    said: 'settings.GATEWAY_ADDR: the chart sets it from another value',
  },
  {
    chart: 'svc-gateway',
    file: gateway,
    set: 'autoscaling.maxReplicas=17',
    said: '/autoscaling/maxReplicas',
  },
  { chart: 'svc-gateway', file: gateway, set: 'httpRoute.enabled=true', said: '/httpRoute/parentRefs' },
  { chart: 'svc-gateway', file: gateway, set: 'imagePullpolicy=Never', said: 'imagePullpolicy' },
  { chart: 'svc-agent', file: agent, set: 'image=', said: 'image is required' },
  {
    chart: 'svc-agent',
    file: agent,
    set: 'secretName=',
    said: 'secretName is required',
  },
  { chart: 'svc-agent', file: agent, set: 'replica=3', said: 'replica' },
])('$chart refuses $set', async ({ chart, file, set, said }) => {
  const { code, stderr } = await template(chart, '-f', file, '--set', set);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(said) });
});

test.skipIf(helm === undefined).each([
  { set: 'workers=1', requests: { cpu: '1', memory: '256Mi' }, limits: { memory: '512Mi' } },
  { set: 'workers=4', requests: { cpu: '4', memory: '640Mi' }, limits: { memory: '1280Mi' } },
  {
    set: 'workers=4,resources.limits.memory=2Gi',
    requests: { cpu: '4', memory: '640Mi' },
    limits: { memory: '2Gi' },
  },
])('with $set a gateway gets what its processes need', async ({ set, requests, limits }) => {
  const only = ['--show-only', 'templates/workload.yaml'];
  const { stdout, stderr } = await template('svc-gateway', '-f', gateway, '--set', set, ...only);
  expect(stderr).toBe('');
  expect(parse(stdout).spec.template.spec.containers[0].resources).toEqual({ requests, limits });
});

test.skipIf(helm === undefined).each([
  { url: 'rediss://valkey.data.svc:6380', port: 6380 },
  { url: 'redis://10.0.0.7', port: 6379 },
  { url: 'rediss://gateway@valkey1/2', port: 6379 },
  { url: 'redis://[2001:db8::7]:7000', port: 7000 },
  { url: 'redis://[2001:db8::7]', port: 6379 },
])('the network policy opens port $port for $url', async ({ url, port }) => {
  const only = ['--show-only', 'templates/network-policy.yaml'];
  const { stdout, stderr } = await template(
    'svc-gateway',
    '-f',
    gateway,
    '--set',
    `valkey.url=${url}`,
    ...only,
  );
  expect(stderr).toBe('');
  expect(parse(stdout).spec.egress[1]).toEqual({ ports: [{ protocol: 'TCP', port }] });
});

test.skipIf(helmDocs === undefined)('the READMEs tell of every value', async () => {
  const folder = join(ROOT, 'deploy/helm');
  const { code, stdout } = await runProcess(helmDocs ?? '', ['--dry-run', '--chart-search-root', folder]);
  const readmes = ['svc-agent', 'svc-gateway'].map((chart) =>
    readFileSync(join(folder, chart, 'README.md'), 'utf8').trim(),
  );
  expect(code).toBe(0);
  for (const readme of readmes) expect(stdout).toContain(readme);
});
