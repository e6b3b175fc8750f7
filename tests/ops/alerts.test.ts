import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LOG_FILE } from '../../packages/agent/src/telemetry/log-destination.ts';
import { FAULTS } from '../../scripts/dashboards/gateway-and-callers.ts';
import { AGENT_RECORDS } from '../../scripts/docs/agent-records.ts';
import type { AnyRecordDoc } from '../../scripts/docs/log-record.ts';
import { GATEWAY_RECORDS } from '../../scripts/docs/gateway-records.ts';
import { AGENT_METRICS, GATEWAY_METRICS } from '../../scripts/docs/metrics.ts';
import { readDocument, ROOT } from '../documentation/documents.ts';
import { readRules } from './ops-files.testing.ts';

const rules = readRules();
const alerts = rules.filter(({ alert }) => alert !== undefined);

test('there are ten alerts, each of which says how bad it is, and what', { tags: ['ops:alerts'] }, () => {
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(10);
  for (const { alert, labels, annotations } of alerts) {
    expect(labels).toEqual({ severity: expect.stringMatching(/^(critical|warning)$/) });
    expect([alert, Object.keys(annotations ?? {})]).toEqual([
      alert,
      ['summary', 'description', 'runbook_url'],
    ]);
  }
});

test('each has a section that says what it means, what to look at and what to do', () => {
  for (const { alert, annotations } of alerts) {
    const [path = '', section] = annotations?.['runbook_url']?.split('#') ?? [];
    const text = readDocument(path).text.split(`\n### ${alert}\n`)[1]?.split('\n### ')[0] ?? '';
    expect(section).toBe(alert?.toLowerCase());
    for (const part of ['**Means:**', '**Look:**', '**Do:**']) {
      expect([alert, text]).toEqual([alert, expect.stringContaining(part)]);
    }
  }
});

test('the commands look for records that the programs write, where the units have them', () => {
  const text = ['dashboards-and-alerts', 'troubleshooting', 'security-access']
    .map((guide) => readDocument(`docs/guides/${guide}.md`).text)
    .join('\n');
  const commands = [...text.matchAll(/^ *(?:(journalctl -u svc-gateway) .*)?grep (?:-E )?'([^']+)'(.*)$/gm)];
  const sought = commands.map(([, journal, pattern = '', rest = '']) => {
    const records: Readonly<Record<string, AnyRecordDoc>> =
      journal === undefined ? AGENT_RECORDS : GATEWAY_RECORDS;
    // The example of a request has no error.
    const found = Object.entries(records).some(([event, { example }]) =>
      new RegExp(pattern.replace(/(?<="error_code":")[A-Z_]+/, '')).test(
        JSON.stringify({ event, ...example }),
      ),
    );
    return { pattern, found, file: journal === undefined ? rest.trim().split(' ')[0] : undefined };
  });
  expect(sought.length).toBeGreaterThan(6);
  expect(sought.filter(({ found }) => !found)).toEqual([]);

  const unit = readFileSync(join(ROOT, 'deploy/systemd/svc-agent.service'), 'utf8');
  const home = `/var/lib/${/^StateDirectory=(.+)$/m.exec(unit)?.[1] ?? ''}`;
  expect(unit).toMatch(new RegExp(`^ExecStart=${home}/svc-agent `, 'm'));
  const files = new Set(text.match(/\/var\/lib\/[\w./-]+\.log/g));
  expect([...files]).toEqual([`${home}/${LOG_FILE}`]);
  expect(new Set(sought.flatMap(({ file }) => file ?? []))).toEqual(files);
});

test('they ask for metrics that there are, and for series that a rule makes', () => {
  const metrics = [...GATEWAY_METRICS, ...AGENT_METRICS].map(({ name }) => name);
  const known = new Set([...metrics, ...rules.map(({ record }) => record)]);
  const asked = rules.flatMap(({ expr }) => expr.match(/\bsvc[_:][\w:]+/g) ?? []);
  expect(asked.length).toBeGreaterThan(30);
  expect(asked.filter((name) => !known.has(name))).toEqual([]);
});

test('calls that fail are those of every code that is not the fault of callers', () => {
  const counted = rules.find(({ record }) => record === 'svc:call_failures:rate5m');
  expect(/code=~"([A-Z_|]+)"/.exec(counted?.expr ?? '')?.[1]).toBe(FAULTS);
});
