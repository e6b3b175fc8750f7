import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DASHBOARDS } from '../../scripts/dashboards/dashboards.ts';
import { AGENT_METRICS, GATEWAY_METRICS } from '../../scripts/docs/metrics.ts';
import { ROOT } from '../documentation/documents.ts';
import { readDashboard } from './ops-files.testing.ts';

const all = Object.keys(DASHBOARDS).map((path) => ({ path, ...readDashboard(path) }));
const expressions = all
  .flatMap(({ panels }) => panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)))
  .join('\n');

/** Run `npm run docs` when it fails. */
test.each(Object.entries(DASHBOARDS))('%s is what the code says', (path, text) => {
  expect(readFileSync(join(ROOT, path), 'utf8') === text || 'out of date: run npm run docs').toBe(true);
});

test('every metric is in a panel', { tags: ['ops:dashboards'] }, () => {
  const names = [...GATEWAY_METRICS, ...AGENT_METRICS].map(({ name }) => name);
  expect(names.length).toBeGreaterThan(45);
  expect(names.filter((name) => !new RegExp(`\\b${name}(_bucket)?\\{`).test(expressions))).toEqual([]);
});

describe.each(all)('$path', ({ panels, templating }) => {
  const charts = panels.filter(({ type }) => type !== 'row');

  test('each panel has a title, a unit, the chosen data source, and says what it is', () => {
    expect(charts.length).toBeGreaterThan(20);
    for (const { title, description, fieldConfig, datasource, targets = [] } of charts) {
      expect([title, fieldConfig?.defaults.unit]).toEqual([title, expect.stringMatching(/./)]);
      expect([title, description]).toEqual([title, expect.stringMatching(/^[A-Z].{15,}\.$/)]);
      expect(datasource?.uid).toBe('${datasource}');
      expect(targets.length).toBeGreaterThan(0);
    }
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });

  test('no panel lies on another or beyond the grid', () => {
    const taken = new Set<string>();
    for (const { title, gridPos } of panels) {
      const { x, y, w, h } = gridPos;
      expect([title, x + w <= 24]).toEqual([title, true]);
      for (let column = x; column < x + w; column++) {
        for (let row = y; row < y + h; row++) {
          expect([title, taken.has(`${column} ${row}`)]).toEqual([title, false]);
          taken.add(`${column} ${row}`);
        }
      }
    }
  });

  test('each query keeps to what is chosen', () => {
    const variables = templating.list.map(({ name }) => name);
    expect(variables.slice(0, 3)).toEqual(['datasource', 'job', 'instance']);
    for (const { title, targets = [] } of charts) {
      for (const { expr } of targets) {
        const selectors = expr.match(/\{[^}]*\}/g) ?? [];
        expect([title, selectors.length > 0]).toEqual([title, true]);
        for (const selector of selectors) {
          expect(selector).toContain('job=~"$job", instance=~"$instance"');
        }
        for (const [, name = ''] of expr.matchAll(/"\$(\w+)"/g)) expect(variables).toContain(name);
      }
    }
  });
});
