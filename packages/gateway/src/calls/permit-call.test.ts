import { expect, test } from 'vitest';
import type { AgentResult } from '../agents/callable-link.ts';
import { keyPrincipal } from '../core/principal.testing.ts';
import type { CapabilityCall } from './call-capability.ts';
import { createCallSlots } from '../access/call-slots.ts';
import { limitConcurrentCalls } from './permit-call.ts';

const RESULT: AgentResult = { kind: 'result', rows: [], count: 0, truncated: false, release: () => {} };

function of(name: string): CapabilityCall {
  return {
    capability: 'get',
    params: Buffer.from('{}'),
    principal: keyPrincipal(name),
    requestId: '',
    traceparent: undefined,
    signal: new AbortController().signal,
  };
}

test('a principal has so many calls under way at most, whatever ends them, and others have theirs', async () => {
  const open: { end: () => void; fail: () => void }[] = [];
  const call = limitConcurrentCalls(
    createCallSlots(2),
    () =>
      new Promise((resolve, reject) => {
        open.push({ end: () => resolve(RESULT), fail: () => reject(new Error('lost')) });
      }),
  );
  const tooMany = expect.objectContaining({ code: 'GATEWAY_RATE_LIMITED' });
  const [first, second] = [call(of('a')), call(of('a'))];
  await expect(call(of('a'))).rejects.toEqual(tooMany);
  const other = call(of('b'));
  expect(open).toHaveLength(3);
  open[0]?.end();
  expect(await first).toBe(RESULT);
  const third = call(of('a'));
  await expect(call(of('a'))).rejects.toEqual(tooMany);
  open[1]?.fail();
  await expect(second).rejects.toThrow('lost');
  const fourth = call(of('a'));
  await expect(call(of('a'))).rejects.toEqual(tooMany);
  for (const { end } of open) end();
  await Promise.all([other, third, fourth]);
});
