import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { keyPrincipal } from '../../core/principal.testing.ts';
import { MCP_REVISIONS } from '../../config/mcp-revisions.ts';
import { createRateLimiter } from '../../access/rate-limit.ts';
import { ask, startServer, type Answer, type StartedServer } from '../../http/server-by-hand.testing.ts';
import { resultAnswer } from './protocol/answer.ts';
import { createRevisions } from './protocol/revisions.ts';
import { createMcpHandler } from './endpoint.ts';
import { createSessions } from './sessions.ts';
import { HttpTransport } from './transport.ts';

let server: StartedServer | undefined;
afterEach(() => server?.close());

interface Limited {
  readonly send: (entries: number) => Promise<Answer>;
  readonly wait: (seconds: number) => void;
}

async function startLimited(requestsPerSecond: number, burst: number): Promise<Limited> {
  let ms = 0;
  const revisions = createRevisions(MCP_REVISIONS);
  const mcp = { revisions, sessions: createSessions(Buffer.alloc(32)), issuesSessions: false };
  const rateLimiter = createRateLimiter({ requestsPerSecond, burst, now: () => ms });
  await server?.close();
  const { port } = (server = await startServer(
    {
      mcp: createMcpHandler({
        revisions,
        transportOf: (headers, principal) => new HttpTransport(mcp, headers, principal),
        authenticate: () => keyPrincipal('all'),
        refuseOrigin: () => undefined,
        bodyLimits: { maxBytes: 10_000, timeoutMs: 5000 },
        rateLimiter,
        principalRate: undefined,
        serveMessage: async ({ id = '' }) => resultAnswer(id, '{}'),
      }),
    },
    { rateLimiter },
  ));
  return {
    send(entries) {
      const batch = Array.from({ length: entries }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
      const headers = { 'Content-Type': 'application/json' };
      return ask(port, '/mcp', { method: 'POST', headers, body: JSON.stringify(batch) });
    },
    wait(seconds) {
      ms += seconds * 1000;
    },
  };
}

test('a batch that is refused for its rate fits after Retry-After', { tags: ['mcp:10'] }, async () => {
  const property = fc.asyncProperty(
    fc.constantFrom(0.3, 1, 7, 1000),
    fc.integer({ min: 2, max: 50 }),
    fc.integer({ min: 0, max: 48 }),
    fc.integer({ min: 1, max: 50 }),
    async (rate, burst, before, size) => {
      const { send, wait } = await startLimited(rate, burst);
      // One token is left for the request itself: whose body has not been read is told of that token only.
      const spent = before % burst;
      if (spent > 0) expect((await send(spent)).status).toBe(200);
      const entries = 1 + (size % burst);
      const answer = await send(entries);
      expect(answer.status).toBe(spent + entries <= burst ? 200 : 429);
      if (answer.status === 200) return;
      wait(Number(answer.headers['retry-after']));
      expect((await send(entries)).status).toBe(200);
    },
  );
  await fc.assert(property, { numRuns: 50 });
});

test.each([
  [1, 'a batch holds 1 message'],
  [10, 'a batch holds 1 to 10 messages'],
  [1000, 'a batch holds 1 to 50 messages'],
])(
  'a batch larger than a burst of %i is told the largest size',
  { tags: ['mcp:10'] },
  async (burst, message) => {
    const { send, wait } = await startLimited(1, burst);
    const answer = await send(Math.min(burst, 50) + 1);
    expect([answer.status, answer.headers['retry-after']]).toEqual([400, undefined]);
    expect(JSON.parse(answer.text)).toEqual({ jsonrpc: '2.0', error: { code: -32_600, message } });
    wait(burst);
    expect((await send(Math.min(burst, 50))).status).toBe(200);
  },
);
