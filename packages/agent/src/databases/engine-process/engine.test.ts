import { existsSync, readFileSync } from 'node:fs';
import type { OwnCode } from '@svc/edge';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { numbers } from '../conformance/capability.testing.ts';
import { startEngine, type Engine, type EngineOptions } from './engine.ts';
import { engineCodeOf } from './engine-code.testing.ts';
import { ASK } from './engine-questions.fixture.ts';

let code: OwnCode;
beforeAll(async () => {
  code = await engineCodeOf('internal-test', new URL('engine-child.fixture.ts', import.meta.url));
});

function open(options: Partial<EngineOptions> = {}): Engine {
  const engine = startEngine({ code, memoryBytes: 256_000_000, ...options });
  onTestFinished(() => engine.kill());
  return engine;
}

function ended(engine: Engine): Promise<void> {
  return new Promise((resolve) => engine.onEnd(resolve));
}

const limit = { timeoutMs: 30_000, signal: new AbortController().signal };

test('questions get each its own answer, whatever their length', async () => {
  const engine = open();
  const bodies = [0, 1, 10, 70_000, 3_000_000].map((length) => Buffer.alloc(length, 'é'));
  const areEqual = bodies.map(async (body) => (await engine.ask(ASK.echo, body, limit)).body.equals(body));
  expect(await Promise.all(areEqual)).toEqual(bodies.map(() => true));
});

test('a question whose time is up or that is aborted ends the process, though it does nothing but count', async () => {
  const late = open();
  await expect(late.ask(ASK.spin, Buffer.alloc(0), { ...limit, timeoutMs: 100 })).rejects.toMatchObject({
    kind: 'timeout',
  });
  await ended(late);
  const aborted = open();
  await aborted.ask(ASK.echo, Buffer.alloc(0));
  const abort = new AbortController();
  const spinning = aborted.ask(ASK.spin, Buffer.alloc(0), { ...limit, signal: abort.signal });
  const behind = aborted.ask(ASK.echo, Buffer.alloc(0), limit);
  abort.abort();
  await expect(spinning).rejects.toMatchObject({ kind: 'cancelled' });
  await expect(behind).rejects.toMatchObject({ kind: 'unavailable' });
  await expect(aborted.ask(ASK.echo, Buffer.alloc(0))).rejects.toMatchObject({ kind: 'unavailable' });
});

test('an interrupt that has an effect leaves the process alive, one that has none does not', async () => {
  const interrupt = { kind: ASK.interrupt, graceMs: 300 };
  const engine = open({ interrupt });
  const timeoutMs = 50;
  await expect(engine.ask(ASK.never, Buffer.alloc(0), { ...limit, timeoutMs })).rejects.toMatchObject({
    kind: 'timeout',
  });
  expect((await engine.ask(ASK.echo, Buffer.from('x'))).body.toString()).toBe('x');
  await expect(engine.ask(ASK.spin, Buffer.alloc(0), { ...limit, timeoutMs })).rejects.toMatchObject({
    kind: 'timeout',
  });
  await ended(engine);
});

test('one that fails says how it ended, for the log', async () => {
  const engine = open();
  await expect(engine.ask(ASK.exit, Buffer.alloc(0), limit)).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('the fixture ends'),
    advice: expect.stringMatching(/\S/),
  });
});

test.runIf(existsSync('/proc/self/statm'))('one that takes more memory than it may is ended', async () => {
  const engine = open();
  await expect(engine.ask(ASK.hog, Buffer.alloc(0), limit)).rejects.toMatchObject({
    kind: 'failed',
    message: expect.stringContaining('memory'),
  });
});

function head(length: number, kind: number = ASK.echo): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt32BE(length);
  bytes.writeUInt8(kind, 4);
  return bytes;
}

test.each<readonly [string, Buffer, number]>([
  ['a length of 4 GiB', head(0xffff_ffff), 68_000_000],
  ['a length of zero', head(0), 68_000_000],
  ['an answer without a number', Buffer.concat([head(3), Buffer.from('xx')]), 68_000_000],
  ['an answer to no question', Buffer.concat([head(5), Buffer.from([0x7f, 0, 0, 9])]), 68_000_000],
  ['text', Buffer.from('Segmentation fault (core dumped)\n'), 68_000_000],
  ['an answer that is longer than it may be', head(1_000_000), 900_000],
])('one that sends %s is ended, alone', async (_title, bytes, mostBytes) => {
  const engine = open();
  const other = open();
  const before = process.memoryUsage().rss;
  await expect(engine.ask(ASK.raw, bytes, { ...limit, mostBytes })).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('it has sent'),
  });
  await ended(engine);
  expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
  expect((await other.ask(ASK.echo, Buffer.from('x'), limit)).body.toString()).toBe('x');
});

test('closed, it answers what it was asked and ends', async () => {
  const engine = open();
  const answers = numbers(3).map(async (n) =>
    (await engine.ask(ASK.echo, Buffer.from(`${n}`))).body.toString(),
  );
  engine.close();
  expect(await Promise.all(answers)).toEqual(['1', '2', '3']);
  await ended(engine);
});

test.runIf(existsSync('/proc/self/environ'))('it has nothing of the environment', async () => {
  const engine = open();
  await engine.ask(ASK.echo, Buffer.alloc(0));
  expect(readFileSync(`/proc/${engine.pid}/environ`, 'utf8')).toBe('');
});
