import { dial } from '@svc/testkit';
import { beforeAll, describe, expect, test } from 'vitest';
import { BOOK, failure, sharedBooks, type Books, type Name } from './books.testing.ts';
import { codeOf, JSON_TYPE } from './lone-gateway.testing.ts';
import { parseAnswer, speak } from './raw-http.testing.ts';

let books: Books;
beforeAll(async () => {
  books = await sharedBooks();
});

describe('a call', () => {
  test(
    'takes the parameters themselves as body',
    { tags: ['rest:call', 'rest:rows', 'rest:count', 'rest:truncated'] },
    async () => {
      const answer = await books.call('get_book', { id: 1 });
      expect(answer.status).toBe(200);
      expect(answer.header('content-type')).toBe('application/json');
      // Only listed fields, and `truncated` is absent.
      expect(answer.body).toBe(BOOK);
      expect(await failure(books.call('get_book', { params: { id: 1 } }))).toEqual([
        400,
        'AGENT_INVALID_PARAMS',
      ]);
      expect((await books.call('get_book', { id: 99 })).body).toBe('{"rows":[],"count":0}');
    },
  );

  test('says when rows were left out', { tags: ['rest:truncated', 'rest:count'] }, async () => {
    expect((await books.call('list_books', {})).body).toBe(
      '{"rows":[{"id":1},{"id":2}],"count":2,"truncated":true}',
    );
    expect((await books.call('list_books', { text: '3' })).body).toBe('{"rows":[{"id":3}],"count":1}');
  });

  test.each([
    ['a query', 'get_book?id=7', 200],
    ['an escaped letter', 'get%5Fbook', 404],
    ['an escaped slash', 'get_book%2F', 404],
    ['another case', 'Get_Book', 404],
  ])('takes the name as it stands: %s', { tags: ['rest:call'] }, async (_title, name, status) => {
    const answer = await books.call(name, { id: 1 });
    expect(answer.status).toBe(status);
    if (status === 200) expect(answer.body).toBe(BOOK);
    else expect(codeOf(answer)).toBe('GATEWAY_CAPABILITY_NOT_FOUND');
  });

  test('may come in chunks, by HTTP/1.0, after asking, and with an extra header that says nothing', async () => {
    const chunked = await speak(
      books.service.port,
      books.head('Content-Type: application/json', 'Transfer-Encoding: chunked'),
      '3\r\n{"i\r\n6;x=y\r\nd": 1}\r\n0\r\nTrailer: t\r\n\r\n',
    );
    expect([chunked.status, chunked.body]).toEqual([200, BOOK]);

    const old = books
      .head('Content-Type: application/json', 'Content-Length: 8')
      .map((line) => line.replace('HTTP/1.1', 'HTTP/1.0'));
    const answer = await speak(
      books.service.port,
      old.filter((line) => line !== 'Host: h'),
      '{"id":1}',
    );
    expect([answer.status, answer.body]).toEqual([200, BOOK]);

    const asking = await dial(books.service.port);
    const lines = books.head(
      'Content-Type: application/json',
      'Content-Length: 8',
      'Connection: close',
      'Expect: 100-continue',
    );
    asking.send(`${lines.join('\r\n')}\r\n\r\n`);
    await asking.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
    asking.send('{"id":1}');
    expect(parseAnswer(await asking.ended).body).toBe(BOOK);

    const plain = await books.call(
      'get_book',
      { id: 1 },
      { headers: { ...JSON_TYPE, 'Content-Encoding': 'identity' } },
    );
    expect(plain.body).toBe(BOOK);
  });

  test('several on one connection are answered in their order', async () => {
    const connection = await dial(books.service.port);
    for (const id of [3, 1, 2])
      connection.send(
        `${books.head('Content-Type: application/json', 'Content-Length: 8').join('\r\n')}\r\n\r\n{"id":${id}}`,
      );
    const text = await connection.until(/(?:"count":1\}[^]*){3}/);
    connection.socket.destroy();
    expect([...text.matchAll(/"id":(\d)/g)].map(([, id]) => id)).toEqual(['3', '1', '2']);
  });

  test.each([
    ['an absolute target', ['POST http://h/api/v1/capabilities/get_book HTTP/1.1', 'Host: h']],
    ['no host', ['GET /healthz HTTP/1.1']],
    ['two hosts', ['GET /healthz HTTP/1.1', 'Host: a', 'Host: b']],
  ])('%s is refused', { tags: ['error:shape', 'error:request-id'] }, async (_title, lines) => {
    const answer = await speak(books.service.port, lines);
    expect([answer.status, codeOf(answer)]).toEqual([400, 'GATEWAY_INVALID_REQUEST']);
    expect(answer.header('x-request-id')).toMatch(/./);
  });
});

describe('the content type', { tags: ['error:GATEWAY_INVALID_REQUEST.type'] }, () => {
  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
    'APPLICATION/JSON',
    'application/vnd.api+json',
  ])('%s is taken', async (type) => {
    expect((await books.call('get_book', { id: 1 }, { headers: { 'Content-Type': type } })).body).toBe(BOOK);
  });

  test.each([
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json;charset=latin1',
    'application/json; charset=utf-16',
    'application/jsonp',
    'application/json-seq',
    'application/jsonx; a=application/json',
    'application/json, text/plain',
    'json',
    '*/*',
    '',
  ])('%j is refused', async (type) => {
    const headers = { 'Content-Type': type };
    expect(await failure(books.call('get_book', { id: 1 }, { headers }))).toEqual([
      400,
      'GATEWAY_INVALID_REQUEST',
    ]);
  });

  test('none, and more than one, are refused', async () => {
    expect(await failure(books.call('get_book', { id: 1 }, { headers: {} }))).toEqual([
      400,
      'GATEWAY_INVALID_REQUEST',
    ]);
    const json = 'Content-Type: application/json';
    const answer = await speak(books.service.port, books.head(json, json, 'Content-Length: 8'), '{"id":1}');
    expect([answer.status, codeOf(answer)]).toEqual([400, 'GATEWAY_INVALID_REQUEST']);
  });
});

describe('permission', () => {
  test('only what is listed', { tags: ['permission:listed', 'key:capabilities'] }, async () => {
    expect((await books.call('get_book', { id: 1 }, { key: 'some' })).status).toBe(200);
    expect(await failure(books.call('list_books', {}, { key: 'some' }))).toEqual([
      403,
      'GATEWAY_CAPABILITY_NOT_PERMITTED',
    ]);
  });

  test('all', { tags: ['permission:all'] }, async () => {
    for (const [name, params] of [
      ['get_book', { id: 1 }],
      ['list_books', {}],
      ['divide', { by: 1 }],
    ] as const)
      expect((await books.call(name, params)).status).toBe(200);
  });

  test.each<Name>(['empty', 'omitted'])(
    'none: the list is %s',
    { tags: ['permission:none'] },
    async (key) => {
      for (const name of ['get_book', 'ghost', 'nothing'])
        expect(await failure(books.call(name, { id: 1 }, { key }))).toEqual([
          403,
          'GATEWAY_CAPABILITY_NOT_PERMITTED',
        ]);
      expect(JSON.parse((await books.get('/openapi.json', key)).body)).toMatchObject({ paths: {} });
    },
  );

  test('decides which paths are seen', { tags: ['permission:openapi', 'state:connect'] }, async () => {
    const paths = async (key: Name): Promise<string[]> => {
      const { paths: seen }: { paths: object } = JSON.parse((await books.get('/openapi.json', key)).body);
      return Object.keys(seen);
    };
    expect(await paths('some')).toEqual(['/api/v1/capabilities/get_book']);
    expect(await paths('all')).toEqual(
      ['get_book', 'list_books', 'whole_list', 'large_row', 'slow', 'divide'].map(
        (name) => `/api/v1/capabilities/${name}`,
      ),
    );
  });

  test(
    'a capability that is not permitted is 403, whether or not it exists; a permitted one that does not is 404',
    { tags: ['error:GATEWAY_CAPABILITY_NOT_PERMITTED', 'error:GATEWAY_CAPABILITY_NOT_FOUND'] },
    async () => {
      const answers = await Promise.all(
        ['list_books', 'nothing', 'No-Name', '%24describe'].map((name) =>
          books.call(name, {}, { key: 'some' }),
        ),
      );
      for (const answer of answers) {
        expect(answer.status).toBe(403);
        expect(answer.body).toBe(answers[0]?.body);
      }
      expect(await failure(books.call('ghost', {}, { key: 'some' }))).toEqual([
        404,
        'GATEWAY_CAPABILITY_NOT_FOUND',
      ]);
      expect(await failure(books.call('ghost', {}))).toEqual([404, 'GATEWAY_CAPABILITY_NOT_FOUND']);
      expect(await failure(books.call('%24describe', {}))).toEqual([404, 'GATEWAY_CAPABILITY_NOT_FOUND']);
    },
  );
});
