import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { QueryCall, QueryResult } from '../databases/driver/driver.ts';
import { DatabaseError } from '../databases/driver/errors.ts';
import { createMessageReader, type MessageFields } from '../process-messages/message-reader.ts';
import { createMessageWriter, type MessageWriter } from '../process-messages/message-writer.ts';
import {
  readCall,
  readFailed,
  readResult,
  readState,
  writeCall,
  writeFailed,
  writeResult,
  writeState,
  type WorkerState,
} from './messages.ts';

/** What `read` makes of what `write` has written, whose bytes come in pieces of these lengths, over and over. */
async function passed<T>(
  write: (writer: MessageWriter) => void,
  read: (fields: MessageFields) => T,
  lengths: readonly number[],
): Promise<readonly T[]> {
  const stream = new PassThrough();
  write(createMessageWriter(stream));
  await new Promise((resolve) => setImmediate(resolve));
  stream.end();
  const bytes = Buffer.concat(await stream.toArray());
  const messages: T[] = [];
  const take = createMessageReader((_kind, fields) => messages.push(read(fields)));
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const length = lengths[turn % lengths.length] ?? 1;
    take(bytes.subarray(at, at + length));
    at += length;
  }
  return messages;
}

const lengths = fc.array(fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 500, max: 100_000 })), {
  minLength: 2,
  maxLength: 6,
});
const text = fc.string({ unit: 'binary', maxLength: 40 });
const long = fc.constantFrom(20_000, 70_000).map((length) => 'é'.repeat(length));

test('calls arrive as they were sent, however they are cut', async () => {
  const call = fc.record({
    values: fc.dictionary(text, fc.oneof(fc.jsonValue(), long), { noNullPrototype: true }),
    apiKeyName: text,
    requestId: text,
    caller: fc.option(fc.record({ subject: text, issuer: text, clientId: text, claimsJson: text }), {
      nil: undefined,
    }),
    timeoutMs: fc.integer({ min: 1, max: 86_400_000 }),
  });
  const share = fc.option(
    fc.record({
      number: fc.integer({ min: 1, max: 0xffff_ffff }),
      isAlone: fc.boolean(),
      most: fc.integer({ min: 1, max: 10_000 }),
      spare: fc.integer({ min: 0, max: 10_000 }),
    }),
    { nil: undefined },
  );
  const sent = fc.record({ id: fc.integer({ min: 1, max: 0x7fff_ffff }), query: fc.nat(), call, share });
  await fc.assert(
    fc.asyncProperty(fc.array(sent, { minLength: 1, maxLength: 8 }), lengths, async (all, cuts) => {
      const signal = new AbortController().signal;
      const arrived = await passed(
        (writer) => {
          for (const { id, query, call: each, share: of } of all) {
            const queryCall: QueryCall = { ...each, signal };
            writeCall(writer, id, query, queryCall, each.timeoutMs, of);
          }
        },
        readCall,
        cuts,
      );
      expect(arrived).toEqual(
        all.map(({ id, query, call: each, share: of }) => ({
          ...each,
          values: JSON.parse(JSON.stringify(each.values)),
          id,
          query,
          share: of,
        })),
      );
    }),
    { numRuns: 60 },
  );
});

test('results arrive as they were sent, short and long', async () => {
  const result = fc.record(
    {
      rows: fc
        .constantFrom(0, 2, 100, 4096, 4097, 16_384, 16_385, 65_536, 90_000)
        .map((length) => Buffer.alloc(length, `${length}`)),
      count: fc.nat(),
      truncated: fc.boolean(),
      cursor: fc.string({ unit: 'binary', maxLength: 200 }),
    },
    { requiredKeys: ['rows', 'count', 'truncated'] },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(result, { minLength: 1, maxLength: 6 }), lengths, async (all, cuts) => {
      const arrived = await passed(
        (writer) => {
          for (const [id, each] of all.entries()) writeResult(writer, id, each);
        },
        (fields): readonly [number, QueryResult] => [fields.number(), readResult(fields)],
        cuts,
      );
      const told = (rows: Uint8Array): string => Buffer.from(rows).toString('latin1');
      expect(arrived.map(([id, each]) => [id, { ...each, rows: told(each.rows) }])).toEqual(
        Array.from(all.entries(), ([id, each]) => [id, { ...each, rows: told(each.rows) }]),
      );
    }),
    { numRuns: 60 },
  );
});

test('states arrive as they were sent, with counts beyond 32 bits, and without counts', async () => {
  const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
  const connections = fc.nat({ max: 10_000 });
  const state: fc.Arbitrary<WorkerState> = fc.record(
    {
      idle: connections,
      busy: connections,
      opening: connections,
      waiting: connections,
      isUp: fc.boolean(),
      transactions: fc.record({ own: count, shared: count, sharedCalls: count, sharedResends: count }),
    },
    { requiredKeys: ['idle', 'busy', 'opening', 'waiting', 'isUp'], noNullPrototype: true },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(state, { minLength: 1, maxLength: 4 }), lengths, async (all, cuts) => {
      const arrived = await passed(
        (writer) => {
          for (const each of all) writeState(writer, each);
        },
        readState,
        cuts,
      );
      expect(arrived).toEqual(all);
    }),
    { numRuns: 60 },
  );
});

test('errors keep all that they say, and one that is none of the database only where it came from', async () => {
  const cause = new Error('no route');
  const known = new DatabaseError('unavailable', 'cannot reach it', { advice: 'check host', cause });
  const unknown = new TypeError('zq7marker is not a function');
  const [first, second] = await passed(
    (writer) => {
      writeFailed(writer, 1, known);
      writeFailed(writer, 2, unknown);
    },
    (fields) => {
      fields.number();
      return readFailed(fields);
    },
    [7],
  );
  expect(first).toBeInstanceOf(DatabaseError);
  expect(first).toMatchObject({
    kind: 'unavailable',
    message: 'cannot reach it',
    advice: 'check host',
    cause: { message: 'no route' },
  });
  expect(second).not.toBeInstanceOf(DatabaseError);
  expect(second?.stack).toContain('messages.test.ts');
  expect(`${second?.stack} ${second?.message}`).not.toContain('zq7marker');
});
