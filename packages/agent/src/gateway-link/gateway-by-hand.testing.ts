import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { randomBytes } from 'node:crypto';
import {
  agentKeyId,
  decodeMessage,
  encodeFrame,
  parseAuth,
  parseHello,
  privateKeyFromSeed,
  publicKeyFromRaw,
  rawPublicKey,
  verifyTranscript,
  type Frame,
  type Hello,
} from '@svc/protocol';
import { WebSocketServer, type WebSocket } from 'ws';
import type { AgentIdentity } from './handshake.ts';

/** A small WebSocket server that speaks the gateway's half of the protocol as far as a test wants. */
export interface SmallGateway {
  readonly port: number;
  readonly url: string;
  readonly identity: AgentIdentity;
  /** The private key of that identity, as a capability file names it. */
  readonly agentPrivateKey: string;
  /** Connections that were ever opened. */
  readonly dials: () => number;
  /** The Host header of each. */
  readonly hosts: () => readonly string[];
  /** The next connection that was welcomed. */
  readonly next: () => Promise<AgentSide>;
  readonly close: () => Promise<void>;
}

/** A welcomed connection, as the gateway sees it. */
export interface AgentSide {
  readonly socket: WebSocket;
  readonly hello: Hello;
  readonly received: Frame[];
  readonly closed: Promise<number>;
  say(...frames: Frame[]): void;
  /** The first frame, now or later, that fits. */
  frame(type: Frame['type']): Promise<Frame>;
  /** The first frame, now or later, about this call. */
  answer(id: number): Promise<Frame>;
}

export interface SmallGatewayOptions {
  /** What it speaks, whatever the agent offers; default 2. */
  readonly version?: number;
  /** What happens instead of the welcome; default: nothing, the agent is welcomed. */
  readonly instead?: {
    readonly hello?: (socket: WebSocket) => void;
    readonly auth?: (socket: WebSocket) => void;
  };
  /** Makes it one of several replicas, which know the feature `fleet`. */
  readonly replica?: {
    readonly id: string;
    readonly worker?: number;
    readonly count: number;
    readonly links?: number;
  };
  /** What it agrees on; default: none. */
  readonly features?: readonly string[];
  /** Default 127.0.0.1 and any port. */
  readonly host?: string;
  readonly port?: number;
  /** Answers upgrades by plain HTTP. */
  readonly http?: RequestListener;
}

const seed = randomBytes(32);
const privateKey = privateKeyFromSeed(seed);
const publicKey = rawPublicKey(privateKey);

export async function startGateway(options: SmallGatewayOptions = {}): Promise<SmallGateway> {
  const server = createServer(options.http);
  const sockets = new WebSocketServer(options.http === undefined ? { server } : { noServer: true });
  const ready: AgentSide[] = [];
  const waiting: ((side: AgentSide) => void)[] = [];
  const hosts: string[] = [];
  let dials = 0;
  server.listen(options.port ?? 0, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP address');
  const url = `ws://127.0.0.1:${address.port}/ws/agent`;

  sockets.on('connection', (socket, { headers }) => {
    dials++;
    hosts.push(headers.host ?? '');
    let hello: Buffer | undefined;
    const challenge = Buffer.from(
      JSON.stringify({
        type: 'challenge',
        conn_id: `connection-${dials}`,
        replica_id: options.replica?.id ?? 'replica',
        gateway_nonce: randomBytes(32).toString('base64url'),
        version: options.version ?? 2,
        limits: { max_params_bytes: 1000 },
        ...(options.features && { features: options.features }),
        ...(options.replica && { features: ['fleet'], worker: options.replica.worker ?? 0 }),
      }),
    );
    const onMessage = (data: Buffer): void => {
      if (hello === undefined) {
        hello = data;
        if (options.instead?.hello === undefined) socket.send(challenge, { binary: false });
        else options.instead.hello(socket);
        return;
      }
      socket.off('message', onMessage);
      if (options.instead?.auth !== undefined) {
        options.instead.auth(socket);
        return;
      }
      const { audience, key_id: keyId } = parseHello(hello);
      const signature = Buffer.from(parseAuth(data).signature, 'base64url');
      if (!verifyTranscript({ audience, keyId, hello, challenge }, publicKeyFromRaw(publicKey), signature)) {
        socket.close(4401);
        return;
      }
      const side = welcome(socket, parseHello(hello), options.replica);
      const waiter = waiting.shift();
      if (waiter === undefined) ready.push(side);
      else waiter(side);
    };
    socket.on('message', onMessage);
    socket.on('error', () => {});
  });

  return {
    port: address.port,
    url,
    agentPrivateKey: seed.toString('base64url'),
    identity: {
      instanceId: 'instance',
      keyId: agentKeyId(publicKey),
      privateKey,
      audience: url,
      maxInflight: 64,
      manifestSha256: 'ab'.repeat(32),
      hasPages: false,
      trust: undefined,
    },
    dials: () => dials,
    hosts: () => hosts,
    next: async () => ready.shift() ?? new Promise((resolve) => waiting.push(resolve)),
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
      server.closeAllConnections();
      server.close();
      if (server.listening) await once(server, 'close');
    },
  };
}

function welcome(socket: WebSocket, hello: Hello, replica: SmallGatewayOptions['replica']): AgentSide {
  const received: Frame[] = [];
  const watchers = new Set<() => void>();
  socket.on('message', (message: Buffer) => {
    received.push(...decodeMessage(message));
    for (const watcher of watchers) watcher();
  });
  const closed = new Promise<number>((resolve) => {
    socket.once('close', (code) => resolve(code));
  });
  socket.send(
    JSON.stringify({
      type: 'welcome',
      replica_count: replica?.count ?? 1,
      ...(replica && { links_per_replica: replica.links ?? 1 }),
    }),
  );
  const first = (fits: (frame: Frame) => boolean): Promise<Frame> =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = received.find(fits);
        if (found === undefined) return;
        watchers.delete(look);
        resolve(found);
      };
      watchers.add(look);
      look();
    });
  return {
    socket,
    hello,
    received,
    closed,
    say: (...frames) =>
      socket.send(Buffer.concat(frames.map((frame) => encodeFrame(frame))), { binary: true }),
    frame: (type) => first((frame) => frame.type === type),
    answer: (id) => first((frame) => 'id' in frame && frame.id === id),
  };
}

export function request(id: number, capability = 'get'): Frame {
  const params = Buffer.from('{}');
  return {
    type: 'request',
    id,
    capability,
    timeoutMs: 1000,
    metadata: {},
    paramsLength: params.length,
    params,
    fin: true,
  };
}
