import { createKey, dial, temporaryFolder, type RawConnection, type TemporaryFolder } from '@svc/testkit';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CERTIFICATE, CERTIFICATE_KEY } from '../requirements/certificates.testing.ts';
import {
  CALL,
  gatewayEnvironment,
  startLoneGateway,
  type LoneGateway,
} from '../requirements/lone-gateway.testing.ts';
import { answersIn, expectUnharmed } from './attack.testing.ts';

const BODY_MS = 1500;
const HEAD_MS = 10_000;
/** What a check once a second, and a machine that is busy, add. */
const LATE_MS = 3500;
const TRICKLE_MS = 250;
const EACH = 40;

let folder: TemporaryFolder;
let gateway: LoneGateway;
let secure: LoneGateway;
let head: string;
beforeAll(async () => {
  folder = await temporaryFolder('slow-senders');
  const [certificate, certificateKey] = [join(folder.path, 'cert.pem'), join(folder.path, 'key.pem')];
  await writeFile(certificate, CERTIFICATE);
  await writeFile(certificateKey, CERTIFICATE_KEY);
  const created = await createKey('all', '*');
  head = [
    `POST ${CALL} HTTP/1.1`,
    'Host: h',
    `X-API-Key: ${created.api_key}`,
    'Content-Type: application/json\r\n',
  ].join('\r\n');
  const env = await gatewayEnvironment([created.record], { GATEWAY_BODY_READ_TIMEOUT: `${BODY_MS}ms` });
  [gateway, secure] = await Promise.all([
    startLoneGateway(env),
    startLoneGateway({
      ...env,
      GATEWAY_TLS_CERT_FILE: certificate,
      GATEWAY_TLS_KEY_FILE: certificateKey,
    }),
  ]);
});
afterAll(async () => {
  await expectUnharmed(gateway);
  await Promise.all([gateway.process.stop(), secure.process.stop()]);
  await folder.remove();
});

interface Sender {
  readonly title: string;
  readonly port: () => number;
  readonly first: () => string;
  /** What it sends from then on, every quarter of a second. */
  readonly after?: string;
  readonly outcome: string;
  readonly deadlineMs: number;
}

const LATE_BODY = '408 GATEWAY_REQUEST_TIMEOUT';
const SENDERS: readonly Sender[] = [
  ...[
    ['a head that stops', () => 'GET /healthz HTTP/1.1\r\nHost: h\r\n', undefined],
    ['a head by bytes', () => 'GET /healthz HTTP/1.1\r\nX-A: ', 'a'],
    ['a head by whole headers', () => 'GET /healthz HTTP/1.1\r\n', 'a: b\r\n'],
    ['a request line by bytes', () => 'GET /', 'a'],
    ['the second head of a connection', () => 'GET /healthz HTTP/1.1\r\nHost: h\r\n\r\nGET /', 'a'],
  ].map(([title, first, after]): Sender => ({
    title: String(title),
    port: () => gateway.port,
    first: typeof first === 'function' ? first : () => '',
    ...(typeof after === 'string' ? { after } : {}),
    outcome: String(title).startsWith('the second') ? `200 | ${LATE_BODY}` : LATE_BODY,
    deadlineMs: HEAD_MS,
  })),
  {
    title: 'a body that stops',
    port: () => gateway.port,
    first: () => `${head}Content-Length: 100\r\n\r\n{`,
    outcome: LATE_BODY,
    deadlineMs: BODY_MS,
  },
  {
    title: 'a body by bytes',
    port: () => gateway.port,
    first: () => `${head}Content-Length: 100\r\n\r\n{`,
    after: ' ',
    outcome: LATE_BODY,
    deadlineMs: BODY_MS,
  },
  {
    title: 'a body by chunks',
    port: () => gateway.port,
    first: () => `${head}Transfer-Encoding: chunked\r\n\r\n`,
    after: '1\r\n \r\n',
    outcome: LATE_BODY,
    deadlineMs: BODY_MS + 1000,
  },
  {
    title: 'the size of a chunk by bytes',
    port: () => gateway.port,
    first: () => `${head}Transfer-Encoding: chunked\r\n\r\n`,
    after: '0',
    outcome: LATE_BODY,
    deadlineMs: BODY_MS + 1000,
  },
  {
    title: 'a handshake of TLS that never begins',
    port: () => secure.port,
    first: () => '',
    outcome: '',
    deadlineMs: HEAD_MS,
  },
  {
    title: 'a handshake of TLS that stops',
    port: () => secure.port,
    first: () => '\x16\x03\x01\x02\x00\x01\x00',
    outcome: '',
    deadlineMs: HEAD_MS,
  },
];

/** How it ended and, when that was in time, nothing more. */
async function fate(sender: Sender): Promise<string> {
  const connection: RawConnection = await dial(sender.port());
  const startedAt = performance.now();
  connection.send(Buffer.from(sender.first(), 'latin1'));
  const { after } = sender;
  const trickle = after === undefined ? undefined : setInterval(() => connection.send(after), TRICKLE_MS);
  const text = await connection.ended;
  clearInterval(trickle);
  const tookMs = performance.now() - startedAt;
  const inTime = tookMs > sender.deadlineMs * 0.5 && tookMs < sender.deadlineMs + LATE_MS;
  return `${answersIn(text).join(' | ')}${inTime ? '' : ` after ${Math.round(tookMs)} ms`}`;
}

test('each is gone at its deadline, and beside hundreds of them a caller is served at once', async () => {
  let over = false;
  const latencies: number[] = [];
  const normal = (async () => {
    while (!over) {
      const since = performance.now();
      expect((await gateway.ask('GET', '/healthz')).status).toBe(200);
      latencies.push(performance.now() - since);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  const fates = await Promise.all(
    SENDERS.map(async (sender) => {
      const all = await Promise.all(Array.from({ length: EACH }, () => fate(sender)));
      return [sender.title, [...new Set(all)]];
    }),
  );
  over = true;
  await normal;
  expect(fates).toEqual(SENDERS.map(({ title, outcome }) => [title, [outcome]]));
  expect(secure.process.output()).not.toMatch(/internal_error|^(?!\{)./m);
  const sorted = latencies.toSorted((one, two) => one - two);
  expect(sorted.length).toBeGreaterThan(20);
  expect(sorted[Math.floor(sorted.length * 0.95)]).toBeLessThan(1250);
});
