// A process of its own, so that what it sends costs the test no time: a server that answers the gateway as a Valkey does,
// but every lease from the tenth of each connection on with `ATTACK`. It writes its port.
import { createServer } from 'node:net';

const bulk = (text) => `$${text.length}\r\n${text}\r\n`;
const USUAL = {
  HELLO: `%1\r\n${bulk('server')}${bulk('valkey')}`,
  SUBSCRIBE: `>3\r\n${bulk('subscribe')}${bulk('svc:revocations')}:1\r\n`,
  HKEYS: '*0\r\n',
};
/** All that was asked for. */
const lease = (most) => `*2\r\n${bulk(most)}${bulk('0.000')}`;
const HONEST_LEASES = 10;
const CHUNK = 65_536;

const repeated = (piece) => Buffer.from(piece.repeat(Math.ceil(CHUNK / piece.length)), 'latin1');

function flood(socket, head, piece) {
  const more = () => {
    while (!socket.destroyed && socket.write(repeated(piece)));
  };
  socket.on('drain', more).write(head);
  more();
}

const ATTACKS = {
  none: (socket, most) => socket.write(lease(most)),
  silence: () => {},
  'messages without end': (socket) => flood(socket, '', '>3\r\n+message\r\n+other\r\n+x\r\n'),
  'an answer without end': (socket) => flood(socket, '$2147483648\r\n', 'x'),
  // The lease that was asked for: a smaller one would say that the limit is reached, and callers would be refused for it.
  'answers without end': (socket, most) => flood(socket, lease(most), lease(most)),
  'an answer byte by byte': (socket) => {
    const timer = setInterval(() => (socket.destroyed ? clearInterval(timer) : socket.write('x')), 1);
    socket.write('$60000\r\n');
  },
};
const attack = ATTACKS[process.env.ATTACK ?? 'none'];

const server = createServer((socket) => {
  let leases = 0;
  socket.on('error', () => {});
  socket.setEncoding('latin1').on('data', (text) => {
    for (const command of text.split(/(?=\*\d+\r\n)/)) {
      const [word] = /\b(?:HELLO|EVALSHA|SUBSCRIBE|HKEYS)\b/i.exec(command) ?? [];
      const most = command.trim().split('\r\n').at(-1);
      if (word?.toUpperCase() !== 'EVALSHA') socket.write(USUAL[word?.toUpperCase()] ?? '');
      else if (++leases > HONEST_LEASES) attack(socket, most);
      else socket.write(lease(most));
    }
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`port ${server.address().port}\n`));
