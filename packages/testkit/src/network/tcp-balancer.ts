import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { createRandom } from '../random.ts';

/** Which of the targets gets the next connection; random is the same sequence in each run, so that none is unlucky. */
export type BalancerPolicy = 'random' | 'round robin' | 'always the first';

/** A TCP balancer on the loopback interface. A target that refuses a connection is passed over for it. */
export interface TcpBalancer {
  readonly port: number;
  /** Connections that were ever taken. */
  connections(): number;
  policy(policy: BalancerPolicy): void;
  /** From now on new connections go to these ports. */
  targets(ports: readonly number[]): void;
  close(): Promise<void>;
}

export async function startTcpBalancer(
  ports: readonly number[],
  first: BalancerPolicy = 'round robin',
): Promise<TcpBalancer> {
  const sockets = new Set<Socket>();
  const random = createRandom(1);
  let targets = ports;
  let policy = first;
  let turn = 0;
  let taken = 0;

  function start(): number {
    if (policy === 'always the first') return 0;
    return policy === 'random' ? Math.floor(random() * targets.length) : turn++;
  }

  function keep(socket: Socket): void {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  }

  function forward(client: Socket, order: readonly number[]): void {
    const [port, ...others] = order;
    if (port === undefined || client.destroyed) {
      client.destroy();
      return;
    }
    const target = connect({ host: '127.0.0.1', port, noDelay: true });
    keep(target);
    const onRefused = (): void => forward(client, others);
    target.once('error', onRefused);
    target.once('connect', () => {
      target.off('error', onRefused);
      target.on('error', () => client.destroy());
      client.on('close', () => target.destroy());
      target.on('close', () => client.destroy());
      client.pipe(target).pipe(client);
    });
  }

  const server = createServer((client) => {
    taken++;
    client.setNoDelay(true);
    client.on('error', () => {});
    keep(client);
    const at = start();
    forward(
      client,
      targets.map((_, offset) => targets[(at + offset) % targets.length] ?? 0),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('cannot start the balancer');
  return {
    port: address.port,
    connections: () => taken,
    policy(next) {
      policy = next;
    },
    targets(next) {
      targets = next;
    },
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      if (server.listening) await once(server, 'close');
    },
  };
}
