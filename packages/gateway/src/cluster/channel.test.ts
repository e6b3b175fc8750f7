import { join } from 'node:path';
import { runProcess } from '@svc/testkit';
import { describe, expect, it } from 'vitest';
import type { FromWorker } from './channel.ts';
import { inProcessWire } from './in-process-wire.testing.ts';
import type { StartOrder } from './messages.ts';
import { createPrimaryChannel } from './primary/primary-channel.ts';
import { startOrder } from './start-order.testing.ts';
import { createWorkerChannel } from './worker/worker-channel.ts';

const ORDER = startOrder();

function start(order: () => StartOrder | Promise<StartOrder> = () => ORDER) {
  const primary = createPrimaryChannel();
  const heard: string[] = [];
  primary.answer('start', order);
  primary.onJoin((worker) => heard.push(`joined ${worker}`));
  primary.onLeave((worker) => heard.push(`left ${worker}`));
  const attach = (worker: number) => {
    const { primary: there, worker: here } = inProcessWire();
    primary.attach(worker, there);
    return { wire: here, channel: createWorkerChannel(here) };
  };
  return { primary, heard, attach };
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

describe('the channel between a primary and its workers', () => {
  it('answers each question, and sends what comes with the join right behind the start order', async () => {
    const { primary, heard, attach } = start();
    primary.onJoin((worker) => primary.send(worker, 'shut_down', { signal: `to ${worker}` }));
    const { channel } = attach(1);
    await expect(channel.ask('start', { version: '' })).resolves.toEqual(ORDER);
    await turn();
    // The listener comes late, the message waits.
    const said: string[] = [];
    channel.on('shut_down', ({ signal }) => said.push(signal));
    expect(said).toEqual(['to 1']);
    expect(heard).toEqual(['joined 1']);
  });

  it('broadcasts to those that have joined, in order, but not to the one left out', async () => {
    const { primary, attach } = start();
    const said: string[] = [];
    const workers = [0, 1, 2].map((worker) => {
      const { channel } = attach(worker);
      channel.on('shut_down', ({ signal }) => said.push(`${worker} ${signal}`));
      return channel;
    });
    await Promise.all(workers.slice(0, 2).map((channel) => channel.ask('start', { version: '' })));
    primary.broadcast('shut_down', { signal: 'a' });
    primary.broadcast('shut_down', { signal: 'b' }, 0);
    await turn();
    expect(said).toEqual(['0 a', '1 a', '1 b']);
  });

  it('rejects with the reason of the primary', async () => {
    const { attach } = start(() => Promise.reject(new Error('no config')));
    await expect(attach(0).channel.ask('start', { version: '' })).rejects.toThrow('no config');
  });

  it('rejects what is open and what is asked later when the primary is gone', async () => {
    const { heard, attach } = start(() => new Promise(() => {}));
    const { wire, channel } = attach(0);
    const open = channel.ask('start', { version: '' });
    let lost = 0;
    channel.onLost(() => lost++);
    wire.cut();
    await expect(open).rejects.toThrow('gone');
    await expect(channel.ask('start', { version: '' })).rejects.toThrow('gone');
    channel.onLost(() => lost++);
    expect(lost).toBe(2);
    // It had not joined.
    expect(heard).toEqual([]);
  });

  it('tells that a worker left before another with its number joins', async () => {
    const { heard, attach } = start();
    const first = attach(0);
    await first.channel.ask('start', { version: '' });
    first.wire.cut();
    await turn();
    await attach(0).channel.ask('start', { version: '' });
    await turn();
    expect(heard).toEqual(['joined 0', 'left 0', 'joined 0']);
  });

  it('ends where the other process takes nothing more, and keeps no more than it may', async () => {
    const primary = createPrimaryChannel();
    primary.answer('start', () => ORDER);
    let cut = 0;
    let sent = 0;
    const ends: (() => void)[] = [];
    let hear = (_message: FromWorker): void => {};
    primary.attach(0, {
      send: () => void sent++,
      onMessage: (listener) => void (hear = listener),
      onEnd: (listener) => void ends.push(listener),
      cut() {
        cut++;
        for (const listener of ends) listener();
      },
    });
    hear({ type: 'question', id: 1, kind: 'start', content: undefined });
    await turn();
    for (let index = 0; index < 20_000; index++) primary.broadcast('shut_down', { signal: '' });
    expect(cut).toBe(1);
    expect(sent).toBeLessThanOrEqual(10_001);
  });

  it('crosses processes with bytes whole, and outlives a killed primary', async () => {
    const fixture = join(import.meta.dirname, 'channel.fixture.ts');
    const { stdout, stderr } = await runProcess(process.execPath, ['--import', 'tsx', fixture], {
      withinMs: 15_000,
    });
    expect(stderr).toBe('');
    expect(stdout.split('\n')).toEqual([
      'start true 255,0',
      'behind the start order',
      'lost',
      'PrimaryAway: the primary of the replica is gone',
      '',
    ]);
  });
});
