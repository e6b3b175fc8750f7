import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { createReleasers, startFaultProxy, startValkey, type FaultProxy, type Valkey } from '@svc/testkit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AskLease } from '../../../../packages/gateway/src/valkey/leased-limiter.ts';
import { keepRevocations } from '../../../../packages/gateway/src/valkey/revocations.ts';
import { revokeKey } from '../../../../packages/gateway/src/valkey/revoke-key.ts';
import {
  createValkeyLeases,
  type ValkeyLeases,
} from '../../../../packages/gateway/src/valkey/valkey-leases.ts';
import { hasValkey, valkeyConfig } from '../../valkey/needs-valkey.testing.ts';

const RATE = { requestsPerSecond: 1000, burst: 1000 };

describe.skipIf(!hasValkey)('a Valkey in trouble', () => {
  let releasers = createReleasers();
  let valkey: Valkey;
  let proxy: FaultProxy;
  let leases: ValkeyLeases;
  let ask: AskLease;
  let reasons: string[];
  let backs: number;

  beforeEach(async () => {
    releasers = createReleasers();
    valkey = await startValkey();
    await releasers.add(() => valkey.stop());
    proxy = await startFaultProxy({ target: valkey });
    await releasers.add(() => proxy.close());
    open(proxy.port);
    await upAgain();
  });
  afterEach(async () => {
    leases.close();
    await releasers.closeAll();
  });

  function open(port: number, fields: { readonly password?: string; readonly username?: string } = {}): void {
    reasons = [];
    backs = 0;
    leases = createValkeyLeases({
      valkey: valkeyConfig(port, fields),
      onLost: (reason) => reasons.push(reason),
      onBack: () => backs++,
    });
    ask = leases.of('source', RATE);
  }

  async function upAgain(): Promise<void> {
    await expect.poll(() => leases.up, { interval: 10 }).toBe(true);
  }

  /** As long as the connection counts as good. What a busy machine adds to one answer in between, it does not to half of them. */
  async function askUntilLost(): Promise<void> {
    const lasted: number[] = [];
    while (leases.up) {
      const startedAt = performance.now();
      await ask(`source ${lasted.length}`, 1, 1, 20);
      lasted.push(performance.now() - startedAt);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    expect(lasted.toSorted((one, other) => one - other)[Math.floor(lasted.length / 2)] ?? 0).toBeLessThan(
      5 * 20,
    );
    expect(ask('one', 1, 1, 20)).toBe(undefined);
  }

  test.each<{ fault: string; begin: () => unknown; end: () => unknown; reason: RegExp }>([
    {
      fault: 'takes no writes',
      begin: () => valkey.command('REPLICAOF', '127.0.0.1', '1'),
      end: () => valkey.command('REPLICAOF', 'NO', 'ONE'),
      reason: /READONLY/,
    },
    {
      fault: 'has no memory left',
      begin: () => valkey.command('CONFIG', 'SET', 'maxmemory', '1'),
      end: () => valkey.command('CONFIG', 'SET', 'maxmemory', '0'),
      reason: /OOM/,
    },
    {
      fault: 'permits nothing',
      begin: () => valkey.command('ACL', 'SETUSER', 'default', '-evalsha', '-eval'),
      end: () => valkey.command('ACL', 'SETUSER', 'default', '+@all'),
      reason: /NOPERM/,
    },
    {
      fault: 'is slow',
      begin: () => proxy.delay(40),
      end: () => proxy.delay(0),
      reason: /^no answer within 20 ms$/,
    },
    {
      fault: 'stands still',
      begin: () => valkey.process.signal('SIGSTOP'),
      end: () => valkey.process.signal('SIGCONT'),
      reason: /^no answer within 20 ms$/,
    },
    {
      fault: 'is behind a firewall that forgot its connections',
      begin: () => proxy.strand(),
      end: () => undefined,
      reason: /^no answer within 20 ms$/,
    },
    {
      fault: 'resets its connections',
      begin: () => proxy.cut(),
      end: () => undefined,
      reason: /ECONNRESET|closed/i,
    },
  ])('that $fault is given up until it is well', async ({ begin, end, reason }) => {
    // What a busy machine does to it before and after is not the matter here.
    reasons.length = 0;
    const before = backs;
    await begin();
    await askUntilLost();
    expect(reasons[0]).toMatch(new RegExp(`${reason.source}|^no answer within 20 ms$`, 'i'));
    expect(leases.up).toBe(false);
    await end();
    await upAgain();
    expect(backs).toBeGreaterThan(before);
    await expect.poll(() => ask('one', 1, 1, 20)).toMatchObject({ granted: 1 });
  });

  test('is told of with its reason when it refuses the password from the start', async () => {
    leases.close();
    await valkey.command('CONFIG', 'SET', 'requirepass', 'correct');
    open(proxy.port, { password: 'wrong' });
    await expect.poll(() => reasons).toHaveLength(1);
    expect(reasons[0]).toMatch(/WRONGPASS/);
    expect(reasons[0]).not.toContain('wrong ');
    expect(leases.counts).toEqual({ granted: 0, refused: 0, unanswered: 0 });
  });

  test('needs to permit no more than the guide says', async () => {
    leases.close();
    const guide = await readFile('docs/guides/shared-limits.md', 'utf8');
    const [, rule = ''] = /^ACL (SETUSER gateway .*)$/m.exec(guide) ?? [];
    await valkey.command('ACL', ...rule.replace('PASSWORD', 'secret').split(' '));
    await valkey.command('ACL', 'SETUSER', 'default', 'off');
    const known: boolean[] = [];
    const fields = { password: 'secret', username: 'gateway' };
    open(proxy.port, fields);
    const config = valkeyConfig(proxy.port, fields);
    await upAgain();
    await expect.poll(() => ask('one', 1, 1, 20)).toMatchObject({ granted: 1 });
    const revocations = keepRevocations({
      valkey: config,
      hasRecord: () => true,
      onChange: ({ revoked }) => known.push(revoked.has('abc')),
      onUnknown: () => undefined,
    });
    await expect.poll(() => known).toEqual([false]);
    expect(await revokeKey(config, 'abc')).toEqual({ revoked: true, again: false });
    await expect.poll(() => known).toEqual([false, true]);
    revocations.close();
  });

  test('that hangs at the start makes nobody wait', async () => {
    leases.close();
    proxy.stall('both');
    open(proxy.port);
    expect(ask('one', 1, 1, 20)).toBe(undefined);
    await expect.poll(() => reasons[0]).toBe('no answer within 900 ms');
    proxy.resume();
    await upAgain();
  });

  test.each([
    { what: 'what is not its protocol', answer: '\u0000\u0001HTTP/1.1 400 Bad Request\r\n\r\n' },
    { what: 'texts where numbers belong', answer: '*2\r\n$1\r\nx\r\n$1\r\ny\r\n' },
    { what: 'more than was asked for', answer: '*2\r\n$3\r\n999\r\n$1\r\n0\r\n' },
    { what: 'half an answer', answer: '*2\r\n$100\r\nx' },
    { what: 'nothing, and ends the connection', answer: '' },
  ])('or something else that answers $what is never used', async ({ answer }) => {
    leases.close();
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
      socket.on('data', (data) => {
        const text = String(data);
        if (answer === '') socket.end();
        else socket.write(text.includes('HELLO') ? '%1\r\n$5\r\nproto\r\n:3\r\n' : answer);
      });
    }).listen({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    await releasers.add(async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const address = server.address();
    open(typeof address === 'object' && address !== null ? address.port : 0);
    await expect.poll(() => reasons).toHaveLength(1);
    expect(leases.up).toBe(false);
    expect(ask('one', 1, 1, 20)).toBe(undefined);
  });

  test('that comes and goes leaves no connection behind', async () => {
    for (let round = 1; round <= 3; round++) {
      proxy.cut();
      await expect.poll(() => backs, { interval: 10 }).toBeGreaterThanOrEqual(round);
    }
    await expect.poll(() => proxy.connections()).toBe(1);
    await expect.poll(() => valkey.command('CLIENT', 'LIST')).toMatch(/^(?:id=.*\n?){2}$/);
  });
});
