import {
  DEAD_AFTER_PING_MS,
  DESCRIPTION_MAX_BYTES,
  DIAL_TIMEOUT_MS,
  DRAIN_TIMEOUT_MS,
  ERROR_MESSAGE_MAX_BYTES,
  HANDSHAKE_MESSAGE_MAX_BYTES,
  HANDSHAKE_TIMEOUT_MS,
  INITIAL_CREDIT_BYTES,
  JSON_DEPTH_MAX,
  MESSAGE_MAX_BYTES as LINK_MESSAGE_MAX_BYTES,
  PING_AFTER_SILENCE_MS,
  RESULT_MAX_BYTES,
} from '@svc/protocol';
import { expect, test } from 'vitest';
import { MESSAGE_MAX_BYTES } from '../../packages/agent/src/databases/sessions/answer-bounds.ts';
import { CACHE_ENTRIES, CACHE_LIFETIME_MS } from '../../packages/gateway/src/auth/api-keys/authenticator.ts';
import { KEY_MAX_BYTES } from '../../packages/gateway/src/catalog/kept-offers.ts';
import { MAX_RECORDS } from '../../packages/gateway/src/config/services/key-records.ts';
import { MAX_PIPELINED } from '../../packages/gateway/src/http/connections.ts';
import { LEASE_WAIT_MS } from '../../packages/gateway/src/valkey/leased-limiter.ts';
import { RECORDS_MAX } from '../../packages/gateway/src/telemetry/recent/batch.ts';
import { FETCH_MAX_BYTES } from '../../packages/identity/src/keys/https-fetch.ts';
import { readDocument } from './documents.ts';

const number = (value: number): string => value.toLocaleString('en');
const seconds = (ms: number): string => `${ms / 1000} s`;
const mebibytes = (bytes: number): string => `${bytes / 1_048_576} MiB`;

/** Bounds as documents write them, made of those that the code keeps; the columns of tables are as wide as their text. */
test.each([
  ['README.md', `answers what it has accepted, within ${seconds(DRAIN_TIMEOUT_MS)}`],
  ['PROTOCOL.md', `A message is at most ${number(LINK_MESSAGE_MAX_BYTES)} bytes`],
  ['PROTOCOL.md', `each at most ${number(HANDSHAKE_MESSAGE_MAX_BYTES)} bytes as sent`],
  ['PROTOCOL.md', `first ${number(INITIAL_CREDIT_BYTES)} bytes of each body`],
  ['PROTOCOL.md', `message, at most ${number(ERROR_MESSAGE_MAX_BYTES)} bytes`],
  ['PROTOCOL.md', `whole body, at most ${number(RESULT_MAX_BYTES)} (${mebibytes(RESULT_MAX_BYTES)})`],
  ['PROTOCOL.md', `A description has at most ${mebibytes(DESCRIPTION_MAX_BYTES)}`],
  ['PROTOCOL.md', `one key have at most ${mebibytes(KEY_MAX_BYTES)} together`],
  ['PROTOCOL.md', `received nothing for ${seconds(PING_AFTER_SILENCE_MS)}`],
  ['PROTOCOL.md', `nothing at all has arrived ${seconds(DEAD_AFTER_PING_MS)} after that`],
  ['PROTOCOL.md', `allows ${seconds(HANDSHAKE_TIMEOUT_MS)} from the upgrade to a valid \`auth\``],
  ['PROTOCOL.md', `| Dial and upgrade | ${seconds(DIAL_TIMEOUT_MS)} |`],
  ['docs/reference/http.md', `at most ${JSON_DEPTH_MAX} levels`],
  ['docs/reference/http.md', `${MAX_RECORDS} records; a verified key is remembered for 5 minutes`],
  [
    'docs/guides/security-access.md',
    `remembered for ${CACHE_LIFETIME_MS / 60_000} minutes, at most ${number(CACHE_ENTRIES)}`,
  ],
  [
    'docs/guides/security.md',
    `A message that cannot be read, a message of more than ${mebibytes(MESSAGE_MAX_BYTES)}`,
  ],
  ['docs/guides/security-access.md', `at most ${FETCH_MAX_BYTES / 1024} KiB in 5 s`],
  ['docs/guides/security-access.md', `a call waits ${LEASE_WAIT_MS} ms for it at most`],
  ['docs/guides/troubleshooting.md', `too many requests wait on this connection | ${MAX_PIPELINED} |`],
  ['docs/guides/console.md', `the last ${number(RECORDS_MAX)} requests`],
])('%s: %s', (path, text) => {
  expect(readDocument(path).text.replaceAll(/\s+/g, ' ')).toContain(text);
});
