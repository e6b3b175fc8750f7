import { spawnSync } from 'node:child_process';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram, temporaryFolder } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DASHBOARDS } from '../../../scripts/dashboards/dashboards.ts';
import { readDocument } from '../../documentation/documents.ts';
import { missing } from '../../fleet/programs/missing.testing.ts';
import { ALERTS_FILE, readDashboard, readRules } from '../ops-files.testing.ts';
import { startWatchedScene, type WatchedScene } from './watched-scene.testing.ts';

const lacks = missing('rules and dashboards with Prometheus', {
  prometheus: findProgram('prometheus') === undefined ? 'not installed' : undefined,
  promtool: findProgram('promtool') === undefined ? 'not installed' : undefined,
});

/** What Grafana would put into the queries when nothing is chosen. */
const CHOSEN: Readonly<Record<string, string>> = {
  $job: '.+',
  $instance: '.+',
  $service: '.*',
  $capability: '.*',
  $__rate_interval: '10s',
};

describe.skipIf(lacks)('promtool', () => {
  test.each([
    ['check', 'rules', '--lint=all', '--lint-fatal', ALERTS_FILE],
    ['test', 'rules', join(import.meta.dirname, 'alerts.cases.yaml')],
    ['test', 'rules', join(import.meta.dirname, 'alerts.slow-cases.yaml')],
  ])('%s %s', (...args) => {
    const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
    expect([status, stderr, stdout]).toEqual([0, '', expect.stringContaining('SUCCESS')]);
  });
});

test.skipIf(lacks)('the configuration of the guide is one', async () => {
  const folder = await temporaryFolder('prometheus-guide');
  const { blocks } = readDocument('docs/guides/dashboards-and-alerts.md');
  const shown = blocks.find(({ language, mark }) => language === 'yaml' && mark === 'prometheus')?.text ?? '';
  const file = join(folder.path, 'prometheus.yaml');
  await writeFile(file, shown);
  await copyFile(ALERTS_FILE, join(folder.path, 'alerts.yaml'));
  const { status, stdout } = spawnSync('promtool', ['check', 'config', file], { encoding: 'utf8' });
  expect([status, stdout]).toEqual([0, expect.stringContaining('rules found')]);
  await folder.remove();
});

describe.skipIf(lacks)('on real scrapes', () => {
  let scene: WatchedScene;
  beforeAll(async () => {
    scene = await startWatchedScene();
  });
  afterAll(() => scene?.stop());

  /** Those that answer no number. */
  async function silent(queries: readonly string[]): Promise<readonly string[]> {
    const answers = await Promise.all(queries.map((query) => scene.prometheus.query(query)));
    return queries.filter((_, at) => answers[at]?.every(Number.isNaN));
  }

  describe.each(Object.keys(DASHBOARDS))('%s', (path) => {
    const { panels, templating } = readDashboard(path);

    test('each query answers', async () => {
      let left: readonly string[] = panels
        .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
        .filter((expr) => scene.hasValkey || !/valkey|leases/.test(expr))
        .map((expr) => expr.replace(/\$\w+/g, (name) => CHOSEN[name] ?? name));
      expect(left.length).toBeGreaterThan(30);
      await expect.poll(async () => (left = await silent(left)), { interval: 500 }).toEqual([]);
    });

    test('each variable has values', async () => {
      const queries = templating.list.filter(({ name }) => name !== 'datasource');
      for (const { query } of queries) {
        const [, selector = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(query) ?? [];
        const match = selector.replace(/\$\w+/g, (name) => CHOSEN[name] ?? name);
        await expect.poll(() => scene.prometheus.labelValues(label, match)).not.toEqual([]);
      }
    });
  });

  test('alerts are quiet while only calls fail, and each other fault makes its own speak', async () => {
    const ofOthers = async (): Promise<readonly (readonly [name: string, state: string])[]> =>
      (await scene.prometheus.alerts())
        .map(({ labels, state }) => [labels.alertname, state] as const)
        .filter(([name]) => !name.startsWith('SvcCallsFail'));
    // For a moment a call may wait.
    expect((await ofOthers()).filter(([, state]) => state === 'firing')).toEqual([]);

    const seen = new Set<string>();
    async function becomes(...names: readonly string[]): Promise<void> {
      const unseen = async (): Promise<readonly string[]> => {
        for (const [name] of await ofOthers()) seen.add(name);
        return names.filter((name) => !seen.has(name));
      };
      await expect.poll(unseen, { interval: 500 }).toEqual([]);
    }
    await scene.overload();
    await becomes('SvcCallsQueue', 'SvcPoolExhausted', 'SvcReloadRefused', 'SvcDrift', 'SvcStrangers');
    await scene.loseDatabase();
    await becomes('SvcDatabaseAway');
    await scene.loseAgent();
    await becomes('SvcNoAgent');
    // What takes hours or a full disk is not among them: that promtool has shown.
    expect(seen.size).toBe(7);
    // On both sides.
    expect(await silent(['svc:call_failures:ratio_rate5m > 0', 'svc_gateway_reload_refused == 1'])).toEqual(
      [],
    );
  });

  test('no rule fails', async () => {
    const rules = await scene.prometheus.rules();
    expect(rules).toHaveLength(readRules().length);
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
  });
});
