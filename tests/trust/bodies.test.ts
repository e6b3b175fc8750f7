import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBooks, type Books } from '../requirements/books.testing.ts';
import { askOnce, codeOf, JSON_TYPE } from '../requirements/lone-gateway.testing.ts';
import { expectUnharmed } from './attack.testing.ts';

let books: Books;
beforeAll(async () => {
  books = await startBooks();
});
afterAll(async () => {
  await expectUnharmed({ port: books.service.port, process: books.service.gateway });
  await books.service.stop();
});

/** No body takes longer, whatever stands in it. */
const WITHIN_MS = 7500;
const REFUSED = '400 GATEWAY_INVALID_REQUEST';
const NO_PARAMETERS = '400 AGENT_INVALID_PARAMS';
const LIMIT = 1_048_576;

type Body = string | Buffer;
const text = (...bytes: number[]): Buffer =>
  Buffer.concat([Buffer.from('{"text":"'), Buffer.from(bytes), Buffer.from('"}')]);
const value = (json: string): string => `{"text":${json}}`;
const filled = (unit: string, before = '', after = ''): string =>
  before + unit.repeat(Math.floor((LIMIT - 200 - before.length - after.length) / unit.length)) + after;
const keys = Array.from({ length: 60_000 }, (_, n) => `"k${n}":1`).join(',');

async function overRest(body: Body, headers: Readonly<Record<string, string>> = JSON_TYPE): Promise<string> {
  const startedAt = performance.now();
  const answer = await books.send('list_books', body, { headers });
  expect(performance.now() - startedAt).toBeLessThan(WITHIN_MS);
  return answer.status === 200 ? '200' : `${answer.status} ${codeOf(answer)}`;
}

/** The same as the arguments of a tool. */
async function overMcp(body: Body): Promise<readonly [number, unknown]> {
  const [head, tail] = [
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_books","arguments":',
    '}}',
  ];
  const startedAt = performance.now();
  const answer = await askOnce(books.service.port, 'POST', '/mcp', {
    headers: { ...JSON_TYPE, 'X-API-Key': books.keys.get('all') ?? '', Accept: 'application/json' },
    body: Buffer.concat([Buffer.from(head), Buffer.from(body), Buffer.from(tail)]),
  });
  expect(performance.now() - startedAt).toBeLessThan(WITHIN_MS);
  const { error }: { error?: { code: unknown } } = JSON.parse(answer.body);
  return [answer.status, error?.code];
}

describe('what stands in a body', () => {
  test.each<readonly [title: string, body: Body, outcome: string]>([
    ['UTF-8 that is too long', text(0xc0, 0xaf), REFUSED],
    ['a surrogate as UTF-8', text(0xed, 0xa0, 0x80), REFUSED],
    ['beyond the last character', text(0xf4, 0x90, 0x80, 0x80), REFUSED],
    ['half a character at the end', text(0xe2, 0x82), REFUSED],
    ['the highest character', text(0xf4, 0x8f, 0xbf, 0xbf), '200'],
    ['NUL as a byte', text(0), REFUSED],
    ['NUL escaped', value('"\\u0000"'), NO_PARAMETERS],
    ['half a pair escaped, then a letter', value('"\\ud83dx"'), NO_PARAMETERS],
    ['a pair in the wrong order', value('"\\udc08\\ud83d"'), NO_PARAMETERS],
    ['an unknown escape', value('"\\x41"'), REFUSED],
    ['a short escape', value('"\\u12"'), REFUSED],
    ['a line break in a string', value('"a\nb"'), REFUSED],
    ['a blank that JSON does not know', '{"text":\u00a0"a"}', REFUSED],
    ['a number of 1 MB', value(filled('1')), REFUSED],
    ['a fraction of 1 MB', value(filled('1', '0.')), NO_PARAMETERS],
    ['an exponent of 1 MB', value(filled('9', '1e')), REFUSED],
    ['an exponent below all', value('1e-99999999999'), NO_PARAMETERS],
    ...['01', '+1', '.5', '1.', '1e', '0x1', '1_0', '-', 'Infinity', '-Infinity', '1n'].map(
      (number) => [`the number ${number}`, value(number), REFUSED] as const,
    ),
    ['minus zero', value('-0'), NO_PARAMETERS],
    ['brackets of 1 MB', value(filled('[')), REFUSED],
    ['objects of 1 MB', filled('{"a":'), REFUSED],
    ['brackets that close, 1 MB', value(`${'['.repeat(500_000)}${']'.repeat(500_000)}`), REFUSED],
    ['closing brackets of 1 MB', value(filled(']')), REFUSED],
    ['a string of 1 MB without an end', value(filled('a', '"')).slice(0, -1), REFUSED],
    ['backslashes of 1 MB', value(filled('\\', '"')), REFUSED],
    ['escapes of 1 MB', value(filled('\\u0041', '"', '"')), '200'],
    ['blanks of 1 MB', filled(' ', '', '{}'), '200'],
    ['an array of 1 MB', value(filled('0,', '[', '0]')), NO_PARAMETERS],
    ['empty objects of 1 MB', value(filled('{},', '[', '{}]')), NO_PARAMETERS],
    ['60,000 unknown names', `{${keys}}`, NO_PARAMETERS],
    ['60,000 names and the first again', `{${keys},"k0":1}`, REFUSED],
    ['a name twice, as a pair and escaped', '{"\u{1F408}":1,"\\ud83d\\udc08":1}', REFUSED],
    ['a name twice, its slash escaped', '{"a/b":1,"a\\/b":1}', REFUSED],
    ['the empty name twice', '{"":1,"":1}', REFUSED],
    ['names that only look alike', '{"text":"a","te\u0445t":1}', NO_PARAMETERS],
    ['__proto__ far down', value(`${'['.repeat(20)}{"__proto__":1}${']'.repeat(20)}`), REFUSED],
    ['constructor', '{"constructor":{"prototype":{"a":1}}}', NO_PARAMETERS],
    ['toString and hasOwnProperty', '{"toString":1,"hasOwnProperty":1}', NO_PARAMETERS],
    ['a toJSON', '{"toJSON":"x"}', NO_PARAMETERS],
    ['a name of 1 MB', filled('a', '{"', '":1}'), NO_PARAMETERS],
  ])('%s', async (_title, body, outcome) => {
    expect(await overRest(body)).toBe(outcome);
    const [status, code] = await overMcp(body);
    if (outcome === REFUSED) expect([status, code]).toEqual([400, -32_700]);
    else expect([status, code]).toEqual([200, undefined]);
  });
});

describe('how a body is labelled', () => {
  test.each<readonly [string, Readonly<Record<string, string>>, string]>([
    ['application/json', {}, '200'],
    ['APPLICATION/JSON ; charset="UTF-8"', {}, '200'],
    ['application/json;', {}, '200'],
    ['application/json; charset=utf-16', {}, REFUSED],
    ['application/json; charset=utf-7', {}, REFUSED],
    ['application/json, text/plain', {}, REFUSED],
    ['text/plain, application/json', {}, REFUSED],
    ['text/plain; application/json', {}, REFUSED],
    ['application/json\ttext', {}, REFUSED],
    ['application /json', {}, REFUSED],
    ['application/x-ndjson', {}, REFUSED],
    ['multipart/form-data; boundary=application/json', {}, REFUSED],
    ['application/json', { 'Content-Encoding': 'identity' }, '200'],
    ...['gzip', 'br', 'deflate', 'identity, gzip', 'GZIP', 'x', ''].map(
      (encoding) => ['application/json', { 'Content-Encoding': encoding }, REFUSED] as const,
    ),
  ])('%s with %j', async (type, headers, outcome) => {
    expect(await overRest('{}', { 'Content-Type': type, ...headers })).toBe(outcome);
  });
});
