import { expect, test } from 'vitest';
import type { AgentEvent } from '../telemetry/events.ts';
import { createNewsOf } from './found-records.ts';

const WARNING = { path: 'capabilities.a.params.size', message: 'may be negative' };
const FINDING = { problem: 'the account has TEMPORARY on database shop', remedy: 'REVOKE TEMPORARY' };

test('what was not found the last time is told, once as long as it is found', () => {
  const told: AgentEvent[] = [];
  const newsOf = createNewsOf({ warnings: [WARNING], findings: [] }, (event) => told.push(event));
  expect(newsOf({ warnings: [WARNING], findings: [] })).toBe(false);
  expect(told).toEqual([]);
  expect(newsOf({ warnings: [{ ...WARNING }], findings: [FINDING] })).toBe(true);
  expect(newsOf({ warnings: [], findings: [{ ...FINDING, remedy: 'another' }] })).toBe(false);
  expect(told).toEqual([{ event: 'account_finding', ...FINDING }]);
  expect(newsOf({ warnings: [WARNING], findings: [FINDING] })).toBe(false);
  expect(told.slice(1)).toEqual([{ event: 'startup_warning', ...WARNING }]);
});
