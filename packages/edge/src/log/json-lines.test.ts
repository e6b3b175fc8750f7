import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createJsonLines, printable, type JsonLines } from './json-lines.ts';

interface Sink {
  readonly written: string[];
  /** Confirms what was written last; while false is set, nothing is confirmed by itself. */
  standsStill: boolean;
  confirm(): void;
  readonly lines: JsonLines;
}

const exitListeners = process.listeners('exit');
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
  for (const listener of process.listeners('exit')) {
    if (!exitListeners.includes(listener)) process.off('exit', listener);
  }
});

function open(): Sink {
  const written: string[] = [];
  let done = (): void => {};
  const sink: Sink = {
    written,
    standsStill: false,
    confirm: () => done(),
    lines: createJsonLines({
      write(text, confirm) {
        written.push(text);
        done = confirm;
        if (!sink.standsStill) confirm();
      },
      writeAtExit: (begun, rest) => void written.push(`last: ${begun}|${rest}`),
    }),
  };
  return sink;
}

function records(sink: Sink): Record<string, unknown>[] {
  return sink.written
    .join('')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

test('what is urgent is written at once, with what was gathered before it', () => {
  const sink = open();
  sink.lines.write('info', { n: 1 }, false);
  expect(sink.written).toEqual([]);
  sink.lines.write('warn', { n: 2 }, true);
  expect(sink.written).toHaveLength(1);
  expect(records(sink)).toMatchObject([
    { level: 'info', n: 1 },
    { level: 'warn', n: 2 },
  ]);
});

test('the rest is gathered for 100 ms or 32 KiB', () => {
  const sink = open();
  sink.lines.write('info', { n: 1 }, false);
  sink.lines.write('info', { n: 2 }, false);
  vi.advanceTimersByTime(99);
  expect(sink.written).toHaveLength(0);
  vi.advanceTimersByTime(1);
  expect(sink.written).toHaveLength(1);
  sink.lines.write('info', { n: 3, text: 'x'.repeat(32_700) }, false);
  expect(sink.written).toHaveLength(1);
  sink.lines.write('info', { n: 4, text: 'x'.repeat(100) }, false);
  expect(sink.written).toHaveLength(2);
  expect(records(sink).map(({ n }) => n)).toEqual([1, 2, 3, 4]);
});

test('a sink gets one batch at a time, and the next when it has written the last', () => {
  const sink = open();
  sink.standsStill = true;
  for (let n = 0; n < 5; n++) sink.lines.write('info', { n }, true);
  expect(records(sink).map(({ n }) => n)).toEqual([0]);
  sink.standsStill = false;
  sink.confirm();
  expect(records(sink).map(({ n }) => n)).toEqual([0, 1, 2, 3, 4]);
});

test('a sink that stands still does not fill the memory, and the log says how much it lost', async () => {
  const sink = open();
  sink.standsStill = true;
  const text = 'x'.repeat(1000);
  const total = 40_000;
  for (let n = 0; n < total; n++) sink.lines.write('info', { n, text }, false);
  sink.standsStill = false;
  sink.confirm();
  vi.advanceTimersByTime(100);
  expect(records(sink).at(-1)).toMatchObject({ event: 'log_records_lost' });
  expect(await sink.lines.close()).toBe(0);
  const kept = records(sink);
  const last = kept.pop();
  expect(kept.map(({ n }) => n)).toEqual(kept.map((_, n) => n));
  expect(sink.written.join('').length).toBeLessThan(17 * 1024 * 1024);
  expect(last).toMatchObject({ level: 'error', event: 'log_records_lost', count: total - kept.length });
  expect(sink.lines.lost).toBe(total - kept.length);
});

test('closing waits for the sink, but not for ever', async () => {
  const quick = open();
  quick.standsStill = true;
  quick.lines.write('info', { n: 1 }, true);
  quick.lines.write('info', { n: 2 }, false);
  const closed = quick.lines.close();
  expect(quick.lines.close(), 'closing twice is closing once').toBe(closed);
  quick.standsStill = false;
  quick.confirm();
  expect(await closed).toBe(0);
  expect(records(quick).map(({ n }) => n)).toEqual([1, 2]);

  const still = open();
  still.standsStill = true;
  for (let n = 0; n < 3; n++) still.lines.write('info', { n }, true);
  const given = still.lines.close();
  vi.advanceTimersByTime(2000);
  expect(await given, 'records that are lost').toBe(3);
  expect(vi.getTimerCount()).toBe(0);
});

test('when the process just ends, the sink gets what it has begun and the rest', async () => {
  const sink = open();
  sink.standsStill = true;
  sink.lines.write('info', { n: 1 }, true);
  sink.lines.write('info', { n: 2 }, false);
  const [begun] = sink.written;
  for (const listener of process.listeners('exit')) {
    if (!exitListeners.includes(listener)) listener(0);
  }
  expect(sink.written.at(-1)).toMatch(/^last: \{.*"n":1\}\n\|\{.*"n":2\}\n$/s);
  expect(sink.written.at(-1)).toContain(begun);
});

test('one line per record, without control characters, whatever it contains', async () => {
  const nasty = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\r\n{"event":"forged"}', '\u2028', '\u0085', '\u001b[2J', '\u009b2J', '"\\', '\ud800'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(nasty, { minLength: 1 }), async (texts) => {
      const sink = open();
      for (const text of texts) sink.lines.write('info', { text }, false);
      await sink.lines.close();
      expect(records(sink).map(({ text }) => text)).toEqual(texts);
      expect(sink.written.join('').replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
    }),
  );
});

test('text for a terminal keeps to its line and commands nothing', () => {
  expect(printable('a\r\nb\u001b[2J\u009b\u007f\u2028\u2029 ü🐈')).toBe(
    'a\\u000d\\u000ab\\u001b[2J\\u009b\\u007f\\u2028\\u2029 ü🐈',
  );
});
