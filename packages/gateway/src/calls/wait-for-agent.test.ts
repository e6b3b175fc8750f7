import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { agentByHand } from '../agents/agent-by-hand.testing.ts';
import type { AgentSession } from '../agents/agent-session.ts';
import { createResultBudget } from '../agents/result-budget.ts';
import { createAgentWait, type AgentWait } from './wait-for-agent.ts';

const WAIT_MS = 1000;

let wait: AgentWait;
let said: string[];
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  wait = createAgentWait(WAIT_MS);
  said = [];
});
afterEach(() => {
  wait.close();
  vi.useRealTimers();
});

function agent(...capabilities: readonly string[]): AgentSession {
  const byHand = agentByHand(createResultBudget(1));
  byHand.session.setDescription({
    manifest: capabilities.map((name) => ({ name, exposed: true, timeout_ms: 1000 })),
  });
  // Its timers are none of ours.
  byHand.lose();
  return byHand.session;
}

function waitFor(name: string, { capability = 'get', bytes = 2, mostMs = 10_000 } = {}): () => void {
  return wait.wait({ capability, params: new Uint8Array(bytes) }, mostMs, (came) => {
    said.push(`${name} ${came ? 'goes on' : 'gives up'}`);
  });
}

test('an agent counts as lost lately for 2 s, for what it has', () => {
  expect(wait.lostLately('get')).toBeUndefined();
  const lost = agent('get');
  wait.left(lost);
  expect(wait.lostLately('get')).toBe(lost);
  expect(wait.lostLately('other')).toBeUndefined();
  vi.advanceTimersByTime(1999);
  expect(wait.lostLately('get')).toBe(lost);
  vi.advanceTimersByTime(1);
  expect(wait.lostLately('get')).toBeUndefined();
});

test('calls go on in their order as soon as an agent comes that has what they want', () => {
  for (const name of ['first', 'second']) waitFor(name);
  waitFor('third', { capability: 'list' });
  wait.came(agent('other'));
  expect(said).toEqual([]);
  wait.came(agent('get'));
  expect(said).toEqual(['first goes on', 'second goes on']);
  wait.came(agent('get', 'list'));
  expect(said).toEqual(['first goes on', 'second goes on', 'third goes on']);
  vi.advanceTimersByTime(60_000);
  expect(said).toHaveLength(3);
});

test('a call waits for the time of the setting, or for its own where that is shorter', () => {
  waitFor('patient');
  waitFor('hasty', { mostMs: 300 });
  waitFor('late', { mostMs: 0 });
  expect(said).toEqual(['late gives up']);
  vi.advanceTimersByTime(300);
  expect(said).toEqual(['late gives up', 'hasty gives up']);
  vi.advanceTimersByTime(699);
  expect(said).toHaveLength(2);
  vi.advanceTimersByTime(1);
  expect(said).toEqual(['late gives up', 'hasty gives up', 'patient gives up']);
});

test('a call that is cancelled hears nothing more, and leaves no timer', () => {
  const cancel = waitFor('gone');
  cancel();
  cancel();
  expect(vi.getTimerCount()).toBe(0);
  wait.came(agent('get'));
  expect(said).toEqual([]);
});

test('what goes on may cancel what waits behind it', () => {
  wait.wait({ capability: 'get', params: new Uint8Array(2) }, 1000, () => cancel());
  const cancel = waitFor('second');
  wait.came(agent('get'));
  expect(said).toEqual([]);
});

test('at most 1,000 calls wait, and who leaves makes place', () => {
  const cancels = Array.from({ length: 1000 }, (_, n) => waitFor(`${n}`));
  waitFor('too many');
  expect(said).toEqual(['too many gives up']);
  cancels[7]?.();
  waitFor('one more');
  expect(said).toHaveLength(1);
});

test('what waits has 8 MiB of parameters at most', () => {
  const mebibyte = 1024 * 1024;
  for (let n = 0; n < 7; n += 1) waitFor(`${n}`, { bytes: mebibyte });
  waitFor('too large', { bytes: mebibyte + 1 });
  expect(said).toEqual(['too large gives up']);
  waitFor('fits', { bytes: mebibyte });
  waitFor('full', { bytes: 1 });
  expect(said).toEqual(['too large gives up', 'full gives up']);
  vi.advanceTimersByTime(WAIT_MS);
  waitFor('again', { bytes: 8 * mebibyte });
  expect(said).not.toContain('again gives up');
});

test('at the end all give up, and nobody waits any more', () => {
  wait.left(agent('get'));
  waitFor('first');
  wait.close();
  expect(said).toEqual(['first gives up']);
  wait.left(agent('get'));
  expect(wait.lostLately('get')).toBeUndefined();
  waitFor('second');
  expect(said).toEqual(['first gives up', 'second gives up']);
});
