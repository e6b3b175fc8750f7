import { expect, test } from 'vitest';
import { readableRecords } from './output-sink.ts';

const TIME = '2025-06-30T12:00:00.000Z';

function line(record: object): string {
  return `${JSON.stringify({ time: TIME, level: 'info', ...record })}\n`;
}

test('each record is one line: time, level, event, and the fields by name', () => {
  const first = line({ event: 'connected', gateway: 'wss://g.example/ws/agent', worker: 0 });
  const second = line({ level: 'error', event: 'crashed', detail: 'line 1\n  "at" x=1', code: '' });
  expect(readableRecords(first + second, false)).toBe(
    `${TIME} info  connected gateway=wss://g.example/ws/agent worker=0\n` +
      `${TIME} error crashed detail="line 1\\n  \\"at\\" x=1" code=""\n`,
  );
});

test('no text of a record is a command to the terminal', () => {
  const text = readableRecords(line({ event: 'disconnected', reason: '\u001b[2J\u009b\u2028' }), false);
  expect(text).toBe(`${TIME} info  disconnected reason="\\u001b[2J\\u009b\\u2028"\n`);
});

test('what is no record stays as it is', () => {
  expect(readableRecords('{"time":"2025\n', true)).toBe('{"time":"2025\n');
});

test('with colours the level stands out, and the text is the same without them', () => {
  const lines = line({ level: 'warn', event: 'links_short', links: 1 });
  const coloured = readableRecords(lines, true);
  expect(coloured).toContain('\u001b[33mwarn \u001b[0m');
  // oxlint-disable-next-line no-control-regex
  expect(coloured.replaceAll(/\u001b\[\d+m/g, '')).toBe(readableRecords(lines, false));
});
