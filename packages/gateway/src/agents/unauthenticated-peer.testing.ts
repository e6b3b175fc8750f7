import { createHash, randomBytes, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import {
  agentKeyId,
  decodeMessage,
  DEFAULT_SERVICE,
  encodeFrame,
  privateKeyFromSeed,
  rawPublicKey,
  signTranscript,
  WEBSOCKET_SUBPROTOCOL,
  type Description,
  type Frame,
} from '@svc/protocol';
import { dial, type RawConnection } from '@svc/testkit';
import { WebSocket } from 'ws';
import type { HandshakeRules } from './handshake.ts';

/** The agent's half of the handshake, step by step, so that a test can do each of them wrong. */
export interface PeerByHand {
  readonly socket: WebSocket;
  /** The next message, now or later. */
  next(): Promise<Buffer>;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

export interface AgentKey {
  readonly privateKey: KeyObject;
  readonly publicKey: Buffer;
  readonly keyId: string;
}

export function createAgentKey(): AgentKey {
  const privateKey = privateKeyFromSeed(randomBytes(32));
  const publicKey = rawPublicKey(privateKey);
  return { privateKey, publicKey, keyId: agentKeyId(publicKey) };
}

/** A gateway's keys of agents; those without a service are of the default one. */
export function knownKeys(
  ...keys: readonly (Pick<AgentKey, 'keyId' | 'publicKey'> & { readonly service?: string })[]
): HandshakeRules['agentKey'] {
  const byId = new Map(
    keys.map(({ keyId, publicKey, service = DEFAULT_SERVICE }) => [keyId, { publicKey, service }]),
  );
  return (keyId) => byId.get(keyId);
}

/** Opens a WebSocket and says nothing. */
export async function dialAgentEndpoint(port: number): Promise<PeerByHand> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws/agent`, [WEBSOCKET_SUBPROTOCOL], {
    perMessageDeflate: false,
  });
  const messages: Buffer[] = [];
  const waiting: ((message: Buffer) => void)[] = [];
  socket.on('message', (data: Buffer) => {
    const waiter = waiting.shift();
    if (waiter === undefined) messages.push(data);
    else waiter(data);
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  await once(socket, 'open');
  socket.on('error', () => {});
  return {
    socket,
    closed,
    next: async () => messages.shift() ?? new Promise((resolve) => waiting.push(resolve)),
  };
}

/** Asks for a WebSocket by hand, with a header more. */
export async function upgradeByHand(
  port: number,
  header: string,
): Promise<{ readonly client: RawConnection; readonly status: string }> {
  const client = await dial(port);
  const lines = ['GET /ws/agent HTTP/1.1', 'Host: localhost', 'Connection: Upgrade', 'Upgrade: websocket'];
  const handshake = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='];
  const offer = `Sec-WebSocket-Protocol: ${WEBSOCKET_SUBPROTOCOL}`;
  client.send(`${[...lines, ...handshake, offer, header].join('\r\n')}\r\n\r\n`);
  await once(client.socket, 'data');
  return { client, status: client.text().slice(9, 12) };
}

/** JSON of a description with these capabilities. */
export function describing(...names: string[]): Buffer {
  const description: Description = {
    openapi: { openapi: '3.1.0', info: { title: 't', version: '1' }, paths: {} },
    manifest: names.map((name) => ({ name, exposed: true, timeout_ms: 1000 })),
  };
  return Buffer.from(JSON.stringify(description));
}

export interface HelloOptions {
  readonly keyId: string;
  readonly audience?: string;
  readonly versions?: readonly number[];
  readonly description?: Buffer;
  readonly maxInflight?: number;
  readonly identity?: 'token' | 'gateway';
  readonly features?: readonly string[];
  readonly service?: string;
  readonly instanceId?: string;
}

export function helloBytes(options: HelloOptions): Buffer {
  return Buffer.from(
    JSON.stringify({
      type: 'hello',
      instance_id: options.instanceId ?? 'instance',
      key_id: options.keyId,
      versions: options.versions ?? [1],
      agent_nonce: randomBytes(32).toString('base64url'),
      max_inflight: options.maxInflight ?? 10,
      manifest_sha256: createHash('sha256')
        .update(options.description ?? describing('get'))
        .digest('hex'),
      audience: options.audience ?? 'ws://localhost/ws/agent',
      ...(options.identity === undefined ? {} : { identity: options.identity }),
      ...(options.features === undefined ? {} : { features: options.features }),
      ...(options.service === undefined ? {} : { service: options.service }),
    }),
  );
}

/** What `auth` looks like when this key signs these two messages. */
export function authBytes(
  key: AgentKey,
  signed: { readonly hello: Buffer; readonly challenge: Buffer; readonly audience?: string },
): Buffer {
  const { hello, challenge, audience = 'ws://localhost/ws/agent' } = signed;
  const signature = signTranscript({ audience, keyId: key.keyId, hello, challenge }, key.privateKey);
  return Buffer.from(JSON.stringify({ type: 'auth', signature: signature.toString('base64url') }));
}

export function sayText(peer: PeerByHand, text: Buffer): void {
  peer.socket.send(text, { binary: false });
}

export function sayFrames(peer: PeerByHand, ...frames: Frame[]): void {
  peer.socket.send(Buffer.concat(frames.map((frame) => encodeFrame(frame))), { binary: true });
}

/** Goes as far as the answer to `auth`: the welcome, or the end. */
export async function introduce(
  port: number,
  key: AgentKey,
  options: Omit<HelloOptions, 'keyId'> & { readonly claim?: string } = {},
): Promise<PeerByHand> {
  const peer = await dialAgentEndpoint(port);
  const hello = helloBytes({ ...options, keyId: options.claim ?? key.keyId });
  sayText(peer, hello);
  const challenge = await peer.next();
  const { audience } = options;
  sayText(peer, authBytes(key, { hello, challenge, ...(audience === undefined ? {} : { audience }) }));
  return peer;
}

/** The whole way: welcomed, and asked for its description, which is not answered yet. */
export async function becomeAgent(
  port: number,
  key: AgentKey,
  options: Omit<HelloOptions, 'keyId'> = {},
): Promise<{ readonly agent: PeerByHand; readonly asked: Frame | undefined }> {
  const agent = await introduce(port, key, options);
  await agent.next();
  const [asked] = decodeMessage(await agent.next());
  return { agent, asked };
}

export function answer(id: number, rows: Buffer, count = 0): Frame {
  return { type: 'result', id, count, truncated: false, rowsLength: rows.length, rows, fin: true };
}
