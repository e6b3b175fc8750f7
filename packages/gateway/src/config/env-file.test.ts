import { describe, expect, it } from 'vitest';
import { readEnvFile } from './env-file.ts';

describe('readEnvFile', () => {
  it.each([
    ['A=plain value', 'plain value'],
    ['A = spaced  ', 'spaced'],
    ['export A=exported', 'exported'],
    ['A=', ''],
    ["A='$2b$10$abc' # the hash", '$2b$10$abc'],
    ['A=$2b$10$abc', '$2b$10$abc'],
    ['A="$2b$10$abc"', '$2b$10$abc'],
    [String.raw`A='[{"name":"a\nb"}]'`, String.raw`[{"name":"a\nb"}]`],
    [String.raw`A="[{\"name\":\"a\\nb\"}]"`, String.raw`[{"name":"a\nb"}]`],
    [String.raw`A="one\ntwo\qthree"`, 'one\ntwo\\qthree'],
    ["A='first\nsecond'", 'first\nsecond'],
    ['A=`it\'s "quoted"`', 'it\'s "quoted"'],
    ['A=https://example.com/#part', 'https://example.com/#part'],
    ['A=value # comment', 'value'],
    ['A=# comment', ''],
    ['A=first\nA=second', 'second'],
    ['\ufeffA=marked', 'marked'],
    ['# A=no\r\n\r\n  A=crlf\r\n', 'crlf'],
  ])('reads %j', (text, value) => {
    expect(readEnvFile(text)).toEqual({ values: { A: value } });
  });

  it('names each line that it cannot read and never shows its text', () => {
    const text = ['GOOD=1', 'secret-without-a-name', "B='secret' secret", "C='secret", 'D=4'].join('\n');
    const read = readEnvFile(text);
    expect(read).toEqual({
      faults: [
        { setting: 'line 2', message: expect.stringContaining('NAME=value') },
        { setting: 'line 3', message: expect.stringContaining('B has text after its closing') },
        { setting: 'line 4', message: expect.stringContaining('C has no closing') },
      ],
    });
    expect(JSON.stringify(read)).not.toContain('secret');
  });
});
