import { expect, test } from 'vitest';
import { AnswerScan } from './answer-scan.ts';

const MAX_BYTES = 65_536;
const ANSWERS = [
  '+OK\r\n',
  '-WRONGPASS invalid\r\n',
  ':-17\r\n',
  '_\r\n',
  '$0\r\n\r\n',
  '$4\r\na\r\nb\r\n',
  '*0\r\n',
  '*2\r\n$1\r\n1\r\n$5\r\n0.000\r\n',
  '%2\r\n$6\r\nserver\r\n$6\r\nvalkey\r\n$7\r\nmodules\r\n*1\r\n%1\r\n+name\r\n*0\r\n',
];

test.each(ANSWERS)('%j is one answer, however it is cut', (answer) => {
  const bytes = Buffer.from(answer);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const scan = new AnswerScan(MAX_BYTES);
    scan.check(bytes.subarray(0, cut), 1);
    scan.check(bytes.subarray(cut), 1);
    // It is over: the next byte begins another.
    expect(() => scan.check(Buffer.from('+'), 0)).toThrow('not asked for');
  }
  const byBytes = new AnswerScan(MAX_BYTES);
  for (const byte of bytes) byBytes.check(Buffer.of(byte), 1);
  expect(() => byBytes.check(Buffer.from('+'), 0)).toThrow('not asked for');
});

test('as many answers as were asked for are taken, and no more', () => {
  const all = Buffer.from(ANSWERS.join(''));
  new AnswerScan(MAX_BYTES).check(all, ANSWERS.length);
  expect(() => new AnswerScan(MAX_BYTES).check(all, ANSWERS.length - 1)).toThrow('not asked for');
});

test('the rest of an answer counts as the one that it belongs to', () => {
  const scan = new AnswerScan(MAX_BYTES);
  scan.check(Buffer.from('+O'), 1);
  expect(() => scan.check(Buffer.from('K\r\n+OK\r\n'), 1)).toThrow('not asked for');
});

test('an answer may have as many bytes as are said, with what is around it', () => {
  const full = Buffer.from(`$65526\r\n${'x'.repeat(65_526)}\r\n`);
  expect(full.length).toBe(MAX_BYTES);
  new AnswerScan(MAX_BYTES).check(full, 1);
  expect(() => new AnswerScan(MAX_BYTES - 1).check(full, 1)).toThrow('more than 65535 bytes');
});

test('an answer in more pieces than any network makes of it is refused', () => {
  const scan = new AnswerScan(MAX_BYTES);
  scan.check(Buffer.from('+'), 1);
  const feed = (): void => {
    for (let piece = 0; piece < 20_000; piece++) scan.check(Buffer.from('x'), 1);
  };
  expect(feed).toThrow('too many pieces');
});
