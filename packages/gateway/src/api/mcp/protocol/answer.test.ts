import { expect, test } from 'vitest';
import { bytesOf } from '../../../http/response-writer.ts';
import { asEventStream, errorAnswer, wantsEventStream } from './answer.ts';
import { RPC, RpcError } from './message.ts';

test.each([
  [undefined, false],
  ['*/*', false],
  ['application/json', false],
  ['application/json, text/event-stream', false],
  ['text/event-stream, application/*;q=0.1', false],
  ['text/event-stream, */*', false],
  ['text/html', false],
  ['text/event-stream', true],
  ['Text/Event-Stream; q=0.5', true],
  ['text/event-stream, application/json;q=0', true],
  ['text/event-stream, text/html', true],
  ['text/event-stream;q=0', false],
  ['text/event-stream;q=0.0, application/json;q=0', false],
])('Accept %s asks for an event stream: %s', (accept, expected) => {
  expect(wantsEventStream(accept)).toBe(expected);
});

test('an event is one line of data, whatever blanks the JSON has', () => {
  const parts = [Buffer.from('{"a":['), Buffer.from('1,\r\n2'), Buffer.from(']}')];
  expect(Buffer.concat([...asEventStream(parts)]).toString()).toBe('event: message\ndata: {"a":[1,  2]}\n\n');
  expect(parts[1]?.toString()).toBe('1,\r\n2');
});

test('an error echoes the id as it was spelt, and has none where none was read', () => {
  const error = new RpcError(RPC.invalidParams, 'a "quoted" word', { data: { a: 1 } });
  const text = (id: string | undefined): string =>
    Buffer.concat(errorAnswer(id, error).parts.map(bytesOf)).toString();
  const body = '"error":{"code":-32602,"message":"a \\"quoted\\" word","data":{"a":1}}';
  expect(text('1.0')).toBe(`{"jsonrpc":"2.0","id":1.0,${body}}`);
  expect(text(undefined)).toBe(`{"jsonrpc":"2.0",${body}}`);
});
