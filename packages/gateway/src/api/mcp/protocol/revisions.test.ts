import { expect, test } from 'vitest';
import { readRequestHeaders } from '../../../http/request/headers.ts';
import { MCP_REVISIONS } from '../../../config/mcp-revisions.ts';
import { checkNameHeader, createRevisions, type Revisions } from './revisions.ts';

const { checkBatchAllowed, negotiate, ...all } = createRevisions(MCP_REVISIONS);

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const meta = (version: unknown): Readonly<Record<string, unknown>> => ({
  _meta: { [VERSION]: version, 'io.modelcontextprotocol/clientCapabilities': {} },
});

function eraOfRequest(
  headers: readonly string[],
  params: Readonly<Record<string, unknown>> = {},
  method = 'tools/list',
  { eraOf }: Pick<Revisions, 'eraOf'> = all,
): string | number {
  try {
    return eraOf({ id: '1', method, params, raw: Buffer.from('') }, readRequestHeaders(headers));
  } catch (error) {
    return error instanceof Error && 'code' in error ? Number(error.code) : String(error);
  }
}

const HEADER = 'MCP-Protocol-Version';
const NEWEST = [HEADER, '2026-07-28', 'Mcp-Method', 'tools/list'];

test.each([
  ['nothing', [], {}, 'handshake'],
  ['an earlier header', [HEADER, ' 2025-06-18 '], {}, 'handshake'],
  ['an earlier revision in _meta', [], meta('2025-11-25'), 'handshake'],
  ['an earlier revision in both', [HEADER, '2025-11-25'], meta('2025-11-25'), 'handshake'],
  ['an earlier revision in _meta and another header', [HEADER, '2025-06-18'], meta('2025-11-25'), -32020],
  ['_meta and headers', NEWEST, meta('2026-07-28'), 'stateless'],
  ['_meta without headers', [], meta('2026-07-28'), -32020],
  ['_meta and another method', [HEADER, '2026-07-28', 'Mcp-Method', 'ping'], meta('2026-07-28'), -32020],
  ['the header twice', [...NEWEST, HEADER, '2026-07-28'], meta('2026-07-28'), -32020],
  ['an earlier header twice', [HEADER, '2025-06-18', HEADER, '2025-06-18'], {}, -32020],
  ['the header without _meta', NEWEST, {}, -32602],
  ['_meta without capabilities', NEWEST, { _meta: { [VERSION]: '2026-07-28' } }, -32602],
  ['_meta with a number', NEWEST, meta(1), -32602],
  ['an unknown header', [HEADER, '2099-01-01'], {}, -32022],
  ['an unknown revision in both', [HEADER, '2099-01-01'], meta('2099-01-01'), -32022],
])('%s', (_what, headers, params, expected) => {
  expect(eraOfRequest(headers, params)).toBe(expected);
});

test('initialize settles the revision whatever its header says, unless it claims to be stateless', () => {
  expect(eraOfRequest([HEADER, '2099-01-01'], {}, 'initialize')).toBe('handshake');
  expect(eraOfRequest([], meta('2025-11-25'), 'initialize')).toBe('handshake');
  expect(eraOfRequest([HEADER, '2026-07-28'], {}, 'initialize')).toBe(-32602);
  expect(negotiate('2024-11-05')).toBe('2024-11-05');
  for (const unknown of ['2026-07-28', '2099-01-01', 1, undefined])
    expect(negotiate(unknown)).toBe('2025-11-25');
});

test.each([
  ['find_book', 'find_book', true],
  [' find_book ', 'find_book', true],
  ['=?base64?ZmluZF9ib29r?=', 'find_book', true],
  ['=?base64?PT9iYXNlNjQ/eA==?=', '=?base64?x', true],
  ['find_books', 'find_book', false],
  ['Find_book', 'find_book', false],
  ['=?BASE64?ZmluZF9ib29r?=', 'find_book', false],
  ['=?base64?!!!?=', '', false],
  ['=?base64?ZmluZF9ib29r', 'find_book', false],
  ['=?base64?SGVsbG8?=', 'Hello', false],
])('Mcp-Name %j names %j: %s', (header, name, expected) => {
  const check = (): void => checkNameHeader(readRequestHeaders(['Mcp-Name', header]), name);
  if (expected) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ code: -32020, status: 400 }));
});

test.each([
  [[], undefined],
  [[HEADER, '2025-03-26'], undefined],
  [[HEADER, '2024-11-05'], undefined],
  [[HEADER, '2025-06-18'], -32600],
  [[HEADER, '2026-07-28'], -32600],
  [[HEADER, '2099-01-01'], -32022],
  [[HEADER, '2025-03-26', HEADER, '2025-06-18'], -32020],
])('a batch with %j is refused with %s', (headers, code) => {
  const check = (): void => checkBatchAllowed(readRequestHeaders(headers));
  if (code === undefined) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ code, status: 400 }));
});

test('only what is served can be agreed on', () => {
  const some = createRevisions(['2025-06-18', '2025-03-26']);
  expect(some.negotiate('2025-06-18')).toBe('2025-06-18');
  for (const other of ['2025-11-25', '2024-11-05', '2026-07-28'])
    expect(some.negotiate(other)).toBe('2025-06-18');
  expect(eraOfRequest([], {}, 'tools/list', some)).toBe('handshake');
  expect(eraOfRequest([HEADER, '2025-11-25'], {}, 'tools/list', some)).toBe(-32022);
  expect(eraOfRequest([], meta('2025-11-25'), 'tools/list', some)).toBe(-32022);
  expect(eraOfRequest(NEWEST, meta('2026-07-28'), 'tools/list', some)).toBe(-32022);
});

test('without a revision that has a handshake no handshake succeeds', () => {
  const newest = createRevisions(['2026-07-28']);
  expect(() => newest.negotiate('2025-11-25')).toThrow(
    expect.objectContaining({ code: -32022, data: { supported: ['2026-07-28'], requested: '2025-11-25' } }),
  );
  expect(eraOfRequest([], {}, 'tools/list', newest)).toBe(-32022);
  expect(eraOfRequest(NEWEST, meta('2026-07-28'), 'tools/list', newest)).toBe('stateless');
  expect(() => newest.checkBatchAllowed(readRequestHeaders([]))).toThrow(
    expect.objectContaining({ code: -32022 }),
  );
});
