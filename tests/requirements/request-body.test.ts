import { dial } from '@svc/testkit';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { failure, sharedBooks, type Books } from './books.testing.ts';
import { codeOf, JSON_TYPE } from './lone-gateway.testing.ts';
import { parseAnswer, speak } from './raw-http.testing.ts';

let books: Books;
beforeAll(async () => {
  books = await sharedBooks();
});

describe('a body is refused', () => {
  const REFUSED = [400, 'GATEWAY_INVALID_REQUEST', 'does not quote it'];
  const outcome = async (
    body: string | Uint8Array,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<readonly unknown[]> => {
    const answer = await books.send('list_books', body, { headers: { ...JSON_TYPE, ...headers } });
    const quoting = answer.body.includes('s3cret') ? 'quotes it' : 'does not quote it';
    return [answer.status, codeOf(answer), quoting];
  };

  test.each([
    ['empty', ''],
    ['only blanks', ' \n '],
    ['cut off', '{"text":"s3cret'],
    ['of single quotes', "{'text':'s3cret'}"],
    ['with a comma too many', '{"text":"s3cret",}'],
    ['with a comment', '{"text":"s3cret"} // s3cret'],
    ['with NaN', '{"text":NaN}'],
    ['with text after it', '{"text":"s3cret"} s3cret'],
    ['with a byte order mark', '\ufeff{"text":"s3cret"}'],
    ['not UTF-8', Buffer.from([...Buffer.from('{"text":"'), 0xff, ...Buffer.from('"}')])],
    ['UTF-16', Buffer.from('{"text":"s3cret"}', 'utf16le')],
    ['a control character in a string', '{"text":"s3cret\u0001"}'],
  ])('when it is %s', { tags: ['error:GATEWAY_INVALID_REQUEST.json'] }, async (_title, body) => {
    expect(await outcome(body)).toEqual(REFUSED);
  });

  test.each(['{}{}', '{} {}', '{}\n{"text":"s3cret"}', '{},{}', '{}null', '1 2'])(
    'when it holds more than one value: %j',
    { tags: ['error:GATEWAY_INVALID_REQUEST.values'] },
    async (body) => {
      expect(await outcome(body)).toEqual(REFUSED);
    },
  );

  test.each(['null', '[]', '[{"text":"s3cret"}]', '"s3cret"', '1', 'true'])(
    'when it is no object: %s',
    { tags: ['error:GATEWAY_INVALID_REQUEST.object'] },
    async (body) => {
      expect(await outcome(body)).toEqual(REFUSED);
    },
  );

  test.each([
    ['a key twice', '{"text":"s3cret","text":"s3cret"}'],
    ['a key twice, once escaped', '{"text":"s3cret","te\\u0078t":"s3cret"}'],
    ['a key twice further in', '{"text":{"a":1,"a":1}}'],
    ['__proto__', '{"__proto__":{"text":"s3cret"}}'],
    ['__proto__, escaped', '{"\\u005f_proto__":1}'],
    ['33 levels', `{"text":${'['.repeat(32)}${']'.repeat(32)}}`],
    ['100,000 levels', '['.repeat(100_000)],
    ['a number beyond a double', '{"text":1e309}'],
    ['a number below a double', '{"text":-1e309}'],
  ])('for %s', { tags: ['limit:json'] }, async (_title, body) => {
    expect(await outcome(body)).toEqual(REFUSED);
  });

  test('for half a surrogate pair, wherever it stands', { tags: ['limit:json'] }, async () => {
    for (const body of ['{"text":"\\ud800"}', '{"text":"\\udc00s3cret"}', '{"\\ud800":1}']) {
      const answer = await books.send('list_books', body);
      expect([body, answer.status]).toEqual([body, 400]);
      expect(answer.body).not.toContain('s3cret');
    }
    expect((await books.send('list_books', '{"text":"\\ud83d\\udc08"}')).status).toBe(200);
  });

  test('32 levels are read', { tags: ['limit:json'] }, async () => {
    const nested = `{"text":${'['.repeat(31)}${']'.repeat(31)}}`;
    expect(await failure(books.send('list_books', nested))).toEqual([400, 'AGENT_INVALID_PARAMS']);
  });

  test('when it is compressed', { tags: ['error:GATEWAY_INVALID_REQUEST.json'] }, async () => {
    expect(await outcome(gzipSync('{}'), { 'Content-Encoding': 'gzip' })).toEqual(REFUSED);
    const lines = books.head('Content-Type: application/json', 'Transfer-Encoding: gzip, chunked');
    expect((await speak(books.service.port, lines, '2\r\n{}\r\n0\r\n\r\n')).status).toBe(400);
  });

  test(
    'over 1,048,576 bytes, and not at them',
    {
      tags: [
        'limit:body-size',
        'error:GATEWAY_INVALID_REQUEST.size',
        'setting:GATEWAY_MAX_REQUEST_BODY_BYTES',
      ],
    },
    async () => {
      const bodyOf = (bytes: number): string => `{"text":"${'x'.repeat(bytes - 11)}"}`;
      expect((await books.send('list_books', bodyOf(1_048_576))).body).toBe('{"rows":[],"count":0}');
      expect(await failure(books.send('list_books', bodyOf(1_048_577)))).toEqual([
        400,
        'GATEWAY_INVALID_REQUEST',
      ]);
      for (const [bytes, status] of [
        [1_048_576, 200],
        [1_048_577, 400],
      ] as const) {
        const body = bodyOf(bytes);
        const lines = books.head('Content-Type: application/json', 'Transfer-Encoding: chunked');
        const chunks = `1\r\n{\r\n${(bytes - 1).toString(16)}\r\n${body.slice(1)}\r\n0\r\n\r\n`;
        const list = lines.map((line) => line.replace('get_book', 'list_books'));
        expect([bytes, (await speak(books.service.port, list, chunks)).status]).toEqual([bytes, status]);
      }
    },
  );

  test('by its announced length, before any of it has come', { tags: ['limit:body-size'] }, async () => {
    const answer = await speak(
      books.service.port,
      books.head('Content-Type: application/json', 'Content-Length: 1048577'),
    );
    expect([answer.status, codeOf(answer)]).toEqual([400, 'GATEWAY_INVALID_REQUEST']);
  });

  test.each([
    ['stops', () => {}],
    ['trickles', (write: (bytes: string) => void) => setInterval(() => write(' '), 50)],
  ])(
    'when it %s: 408 and the connection is closed',
    { tags: ['limit:body-time', 'error:GATEWAY_REQUEST_TIMEOUT'] },
    async (_title, behave) => {
      for (const length of ['Content-Length: 100', 'Transfer-Encoding: chunked']) {
        const connection = await dial(books.service.port);
        const started = performance.now();
        connection.send(`${books.head('Content-Type: application/json', length).join('\r\n')}\r\n\r\n`);
        const chunk = length.startsWith('T') ? (text: string) => `1\r\n${text}\r\n` : (text: string) => text;
        connection.send(chunk('{'));
        const timer = behave((bytes) => connection.send(chunk(bytes)));
        const answer = parseAnswer(await connection.ended);
        clearInterval(timer ?? undefined);
        expect([answer.status, codeOf(answer)]).toEqual([408, 'GATEWAY_REQUEST_TIMEOUT']);
        expect(answer.header('connection')).toBe('close');
        expect(performance.now() - started).toBeGreaterThan(550);
        expect(performance.now() - started).toBeLessThan(6000);
      }
    },
  );
});
