import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CallErrorCode } from '@svc/protocol';
import { CallError } from '../../../core/call-error.ts';
import { bytesOf } from '../../../http/response-writer.ts';
import type { Answer } from '../protocol/answer.ts';
import { failedAnswer, rowsAnswer } from './tool-result.ts';

const FRAME = { head: '{"é":1,', tail: ',"ü":2}' };

interface Result {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent: unknown;
}

function read({ parts, rest = [] }: Answer): { readonly id: unknown; readonly result: Result } {
  return JSON.parse(Buffer.concat([...parts.map(bytesOf), ...rest]).toString());
}

function answerTo(rows: string, options: { id?: string; truncated?: boolean; next?: string } = {}): Answer {
  const { id = '1', truncated = false, next } = options;
  const bytes = Buffer.from(rows);
  return rowsAnswer(id, FRAME, {
    kind: 'result',
    rows: [bytes],
    count: 7,
    truncated,
    next,
    release: () => {},
  });
}

test('the text is the structured content, whatever the rows hold and however long they are', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('"', '\\', '\n', 'é', '🐈') }),
  );
  fc.assert(
    fc.property(
      fc.array(text),
      fc.constantFrom(undefined, 1, '\t'),
      fc.nat(70_000),
      (values, indent, fill) => {
        const rows = JSON.stringify(
          [...values.map((value) => ({ value })), 'é"'.repeat(fill)],
          undefined,
          indent,
        );
        const { result } = read(answerTo(rows));
        const written = { rows: JSON.parse(rows) as unknown, count: 7 };
        expect(result.structuredContent).toEqual(written);
        expect(result.content[0]?.text).toBe(`{"rows":${rows},"count":7}`);
        expect(result.content).toHaveLength(1);
      },
    ),
    { numRuns: 60 },
  );
});

test('rows that were cut are followed by a note', () => {
  const { result } = read(answerTo('[{"a":1}]', { truncated: true }));
  expect(result.structuredContent).toEqual({ rows: [{ a: 1 }], count: 7, truncated: true });
  expect(result.content.map(({ text }) => text)).toEqual([
    '{"rows":[{"a":1}],"count":7,"truncated":true}',
    expect.stringMatching(/cut.*fewer rows/),
  ]);
});

test('rows that were cut say with what to go on', { tags: ['rest:next'] }, () => {
  for (const fill of [0, 70_000]) {
    const rows = JSON.stringify([{ title: `${'x'.repeat(fill)}Zoë` }]);
    const { result } = read(answerTo(rows, { truncated: true, next: '{"after":"Zoë"}' }));
    const whole = { rows: JSON.parse(rows), count: 7, truncated: true, next: { after: 'Zoë' } };
    expect(result.structuredContent).toEqual(whole);
    expect(JSON.parse(result.content[0]?.text ?? '')).toEqual(whole);
    expect(result.content[1]?.text).toMatch(/cut.*same arguments and those in `next`/);
  }
});

test('ids and frames keep characters beyond ASCII', () => {
  const answer = answerTo('[]', { id: '"ключ 🔑"' });
  expect(Buffer.concat(answer.parts.map(bytesOf)).toString()).toBe(
    '{"jsonrpc":"2.0","id":"ключ 🔑","result":{"é":1,"content":[{"type":"text","text":"{\\"rows\\":[],\\"count\\":7}"}],"structuredContent":{"rows":[],"count":7},"ü":2}}',
  );
});

test.each<[CallErrorCode, string, RegExp]>([
  ['AGENT_INVALID_PARAMS', 'id: must be >= 1', /id: must be >= 1.*Correct/],
  ['AGENT_RESULT_TOO_LARGE', 'more than max_rows (3), and on_limit is error', /max_rows \(3\).*match less/],
  ['AGENT_QUERY_TIMEOUT', 'x', /longer.*fewer rows/],
  ['GATEWAY_AGENT_TIMEOUT', 'x', /longer.*fewer rows/],
  ['AGENT_BUSY', 'x', /again in some seconds/],
  ['GATEWAY_AGENT_OFFLINE', 'x', /not reachable.*later/],
  ['AGENT_QUERY_FAILED', 'x', /did not answer.*request id r-1/],
])('%s says what can be done', (code, message, words) => {
  const { result } = read(failedAnswer('1', FRAME, new CallError(code, message), 'r-1'));
  expect(result).toMatchObject({
    isError: true,
    content: [{ type: 'text', text: expect.stringMatching(words) }],
  });
  expect(result.structuredContent).toBeUndefined();
});
