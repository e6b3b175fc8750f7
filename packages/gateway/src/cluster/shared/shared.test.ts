import { createMetricsRegister, createMetricsSum } from '@svc/edge';
import { afterAll, describe, expect, it } from 'vitest';
import { createPrimaryChannel } from '../primary/primary-channel.ts';
import { createWorkerChannel } from '../worker/worker-channel.ts';
import { inProcessWire } from '../in-process-wire.testing.ts';
import { startOrder } from '../start-order.testing.ts';
import { cancelAnywhere, passCancels } from './mcp-cancels.ts';
import { createReplicaMetrics, reportMetrics } from './replica-metrics.ts';
import { tellOnce, writeSnapshots } from './once.ts';

const later = (ms = 5): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function createReplica() {
  const primary = createPrimaryChannel();
  primary.answer('start', () => startOrder());
  const join = async (worker: number) => {
    const wire = inProcessWire();
    primary.attach(worker, wire.primary);
    const channel = createWorkerChannel(wire.worker);
    await channel.ask('start', { version: '' });
    return { channel, cut: () => wire.worker.cut() };
  };
  return { primary, join };
}

describe('the metrics of a replica', () => {
  const ends: (() => void)[] = [];
  afterAll(() => {
    for (const end of ends) end();
  });

  async function counting(done: () => number, open: () => number) {
    const register = await createMetricsRegister();
    register.addReading({ name: 'done_total', type: 'counter', labels: [], help: 'h' }, done);
    register.addReading({ name: 'open', type: 'gauge', labels: [], help: 'h' }, open);
    const durations = register.addDurations({
      name: 'took_seconds',
      type: 'histogram',
      labels: [],
      help: 'h',
    });
    return { register, took: durations([]) };
  }
  const line = (text: string, name: string): string | undefined =>
    text.split('\n').find((candidate) => candidate.startsWith(`${name} `));

  it('sum what all count; what ended workers counted stays, what they had open does not', async () => {
    const { primary, join } = createReplica();
    const own = await counting(
      () => 1,
      () => 0,
    );
    const page = createReplicaMetrics({ channel: primary, own: own.register, sum: await createMetricsSum() });
    const [first, second] = await Promise.all([join(0), join(1)]);
    ends.push(first.cut, second.cut);
    const counts = [10, 100];
    for (const [at, { channel }] of [first, second].entries()) {
      const { register, took } = await counting(
        () => counts[at] ?? 0,
        () => 5,
      );
      took(1);
      reportMetrics(channel, register);
    }
    const before = await page.text();
    expect(line(before, 'done_total')).toBe('done_total 111');
    expect(line(before, 'open')).toBe('open 10');
    expect(line(before, 'took_seconds_count')).toBe('took_seconds_count 2');
    expect(before.match(/^# TYPE /gm)?.length).toBe((await own.register.text()).match(/^# TYPE /gm)?.length);
    first.cut();
    await later();
    counts[1] = 101;
    const after = await page.text();
    expect(line(after, 'done_total')).toBe('done_total 112');
    expect(line(after, 'open')).toBe('open 5');
    expect(line(after, 'took_seconds_count')).toBe('took_seconds_count 2');
    const again = await Promise.all([page.text(), page.text()]);
    expect(again.map((text) => line(text, 'done_total'))).toEqual(['done_total 112', 'done_total 112']);
    expect(line(after, 'process_start_time_seconds')).toBe(
      line(await own.register.text(), 'process_start_time_seconds'),
    );
  });
});

describe('a cancellation', () => {
  it('reaches the worker that has the call, and ends none where two have one of its name', async () => {
    const { primary, join } = createReplica();
    passCancels(primary);
    const aborted: string[] = [];
    const calls = [['a', 'twice'], ['twice'], []];
    const cancels = await Promise.all(
      calls.map(async (own, worker) => {
        const { channel } = await join(worker);
        return cancelAnywhere(channel, () => ({
          countOf: (call) => own.filter((name) => name === call).length,
          abort: (call) => own.includes(call) && aborted.push(`${worker} ${call}`),
        }));
      }),
    );
    for (const call of ['a', 'twice', 'none']) cancels[2]?.(call);
    await expect.poll(() => aborted, { interval: 2 }).toEqual(['0 a']);
    await later();
    expect(aborted).toEqual(['0 a']);
  });
});

describe('what all workers see', () => {
  it('is told once, and again when it happens again', async () => {
    const { primary, join } = createReplica();
    const clock = { ms: 0 };
    const told: string[] = [];
    tellOnce(
      primary,
      (event) => told.push(event.event),
      () => clock.ms,
    );
    const workers = await Promise.all([join(0), join(1)]);
    for (const ms of [0, 20_000]) {
      clock.ms = ms;
      for (const { channel } of workers) {
        channel.tell('seen_by_all', { event: 'config_warning', message: 'm' });
        await later(2);
      }
    }
    expect(told).toEqual(['config_warning', 'config_warning']);
  });
});

describe('snapshots', () => {
  it('are written once, however many workers tell the same', async () => {
    const { primary, join } = createReplica();
    const written: string[] = [];
    writeSnapshots(primary, (service, bytes) => written.push(`${service} ${Buffer.from(bytes).toString()}`));
    for (const text of ['one', 'two']) {
      for (const worker of [0, 1]) {
        const { channel } = await join(worker);
        channel.tell('snapshot', { service: 'default', bytes: Buffer.from(text) });
        await later(2);
      }
    }
    expect(written).toEqual(['default one', 'default two']);
  });
});
