import { EventEmitter, once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { flood, startHostileValkey, type HostileValkey } from './hostile-valkey.testing.ts';
import { keepRevocations } from './revocations.ts';
import { createValkeyLeases } from './valkey-leases.ts';

let valkey: HostileValkey;
afterEach(() => valkey.close());

const RATE = { requestsPerSecond: 1000, burst: 1000 };
const MESSAGE = '>3\r\n$7\r\nmessage\r\n$15\r\nsvc:revocations\r\n$5\r\nkey-2\r\n';
const OTHER_MESSAGE = MESSAGE.replace('svc:', 'foo:');

const UNASKED = 'an answer that was not asked for';
const UNASKED_MESSAGE = 'a message that was not asked for';
const TOO_LONG = 'an answer of more than 65536 bytes';
const TOO_MANY = 'an answer of more than 65536 elements';
const MALFORMED = 'an answer that cannot be read';

// Each as [what is sent, how it begins, what is repeated without end, what is said of it].
const FLOODS: readonly (readonly [string, string, string, string])[] = [
  ['messages of a channel', '', MESSAGE, UNASKED_MESSAGE],
  ['notices of another kind', '', '>2\r\n$10\r\ninvalidate\r\n_\r\n', UNASKED_MESSAGE],
  ['a long message', '>3\r\n$7\r\nmessage\r\n+', 'x', 'an answer of more than 4096 bytes'],
  ['a string of 2 GiB', '$2147483648\r\n', 'x', TOO_LONG],
  ['a text without an end', '+', 'x', TOO_LONG],
  ['an error without an end', '-', 'x', TOO_LONG],
  ['a number without an end', ':', '1', MALFORMED],
  ['a large number without an end', '(', '1', MALFORMED],
  ['a length without an end', '$', '1', MALFORMED],
  ['a text with a negative length', '', '=0\r\n', MALFORMED],
  ['arrays in arrays', '', '*1\r\n', MALFORMED],
  ['maps in maps', '', '%1\r\n+a\r\n', MALFORMED],
  ['an array of four thousand million', '*4000000000\r\n', '+a\r\n', TOO_MANY],
  ['a map of as many', '%4000000000\r\n', '+a\r\n', TOO_MANY],
  ['an array of endless texts', '*60000\r\n', '$1\r\na\r\n', TOO_LONG],
  ['bytes of no kind', '', '\0', MALFORMED],
];

test.each([...FLOODS, ['answers to nothing', '', '+OK\r\n', UNASKED] as const])(
  '%s without end end the connection, and delay nobody',
  async (_what, head, piece, reason) => {
    const isUnasked = reason === UNASKED || reason === UNASKED_MESSAGE;
    valkey = await startHostileValkey((socket, command, nth, usual) => {
      const isAttack = command === 'EVALSHA' && nth === 2;
      if (!isAttack || isUnasked) socket.write(usual);
      if (isAttack) flood(socket, head, piece);
    });
    const losses = new EventEmitter();
    const lost = once(losses, 'lost');
    const leases = createValkeyLeases({
      valkey: valkey.config,
      onLost: (reason) => losses.emit('lost', reason),
      onBack: () => undefined,
    });
    try {
      await expect.poll(() => leases.up, { interval: 5 }).toBe(true);
      const ask = leases.of('source', RATE);
      const before = process.cpuUsage();
      let longest = 0;
      while (leases.up) {
        const askedAt = performance.now();
        await ask('bucket', 1, 1, 20);
        longest = Math.max(longest, performance.now() - askedAt);
        await new Promise(setImmediate);
      }
      expect(await lost).toEqual([reason]);
      const { user, system } = process.cpuUsage(before);
      // A busy machine wakes a call late, so what the flood costs is bounded by CPU time, the server's part included.
      expect(longest).toBeLessThan(1000);
      expect((user + system) / 1000).toBeLessThan(250);
      // Nobody asks before the connection is made again.
      expect(ask('bucket', 1, 1, 20)).toBeUndefined();
    } finally {
      leases.close();
    }
  },
);

test('half an answer, byte by byte, is waited for no longer than another', async () => {
  valkey = await startHostileValkey((socket, command, nth, usual) => {
    if (command !== 'EVALSHA' || nth === 1) socket.write(usual);
    else {
      let at = 0;
      const timer = setInterval(() => {
        if (socket.destroyed) clearInterval(timer);
        else socket.write(at++ === 0 ? '$60000\r\n' : 'x');
      }, 1);
    }
  });
  const leases = createValkeyLeases({
    valkey: valkey.config,
    onLost: () => undefined,
    onBack: () => undefined,
  });
  try {
    await expect.poll(() => leases.up, { interval: 5 }).toBe(true);
    const startedAt = performance.now();
    expect(await leases.of('source', RATE)('bucket', 1, 1, 20)).toBeUndefined();
    expect(performance.now() - startedAt).toBeLessThan(100);
  } finally {
    leases.close();
  }
});

interface Told {
  readonly lists: (readonly string[])[];
  readonly kept: ReturnType<typeof keepRevocations>;
}

function keep(): Told {
  const lists: (readonly string[])[] = [];
  const kept = keepRevocations({
    valkey: valkey.config,
    hasRecord: () => true,
    onChange: ({ revoked }) => lists.push([...revoked]),
    onUnknown: () => undefined,
  });
  return { lists, kept };
}

test.each([
  ['more than 256 messages in a second', MESSAGE.repeat(257)],
  ['messages of another channel', OTHER_MESSAGE],
  ['a list of more than 1 MiB', `*2\r\n$1048570\r\n`],
])('%s end the connection of the revoked keys', async (_what, bytes) => {
  const attack = new EventEmitter();
  const ended = once(attack, 'ended');
  valkey = await startHostileValkey((socket, command, nth, usual) => {
    if (command === 'HKEYS' && nth === 1) {
      socket.write(usual);
      socket.once('close', () => attack.emit('ended'));
    } else if (command === 'HKEYS' && nth === 2) socket.write(bytes);
    else socket.write(usual);
  });
  const { kept } = keep();
  try {
    await ended;
    expect(kept.revoked.has('key-1')).toBe(true);
    // It is made again, and the list is read again.
    await expect.poll(() => kept.up, { timeout: 5000 }).toBe(true);
  } finally {
    kept.close();
  }
});

test('messages that arrive together change the list of revoked keys once', async () => {
  const messages = Array.from({ length: 200 }, (_, index) =>
    MESSAGE.replace('$5\r\nkey-2', `$7\r\nkey-${100 + index}`),
  );
  valkey = await startHostileValkey((socket, _command, _nth, usual) => socket.write(usual));
  const { lists, kept } = keep();
  try {
    await expect.poll(() => kept.up, { interval: 5 }).toBe(true);
    for (const socket of valkey.sockets) socket.write(messages.join(''));
    await expect.poll(() => lists.at(-1)?.length, { interval: 5 }).toBe(201);
    expect(lists.length).toBeLessThan(5);
  } finally {
    kept.close();
  }
});
