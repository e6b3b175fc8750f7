import { rmdir } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { createLink, localSocket, PARAMS_MAX_BYTES, receiveMessages, type Link } from '@svc/protocol';
import type { AgentSession } from '../../agents/agent-session.ts';
import { createBodyBudget } from '../../http/request/json-body.ts';
import { createCallRelay } from './call-relay.ts';

export interface SiblingListener {
  /** Takes no further siblings; resolves when the last one is gone, or after that time. */
  close(withinMs: number): Promise<void>;
}

/** Takes the calls of siblings at a Unix socket. Rejects if it cannot listen there. */
export async function listenForSiblings(
  path: string,
  sessionOf: (connId: string) => AgentSession | undefined,
): Promise<SiblingListener> {
  const streams = new Set<Socket>();
  const arriving = createBodyBudget(PARAMS_MAX_BYTES);
  const now = (): number => performance.now();

  const server = createServer((stream) => {
    streams.add(stream);
    const link: Link = createLink({
      socket: localSocket(stream),
      version: 2,
      onFrame: (frame) => relay.receive(frame),
      onEnd: () => relay.ended(),
      now,
      random: Math.random,
    });
    const relay = createCallRelay({ link: () => link, sessionOf, arriving, now });
    receiveMessages(
      stream,
      (message) => link.receive(message),
      (reason) => {
        streams.delete(stream);
        link.socketClosed(reason);
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // Otherwise the primary would listen, as it does for callers, and hand each connection over.
    server.listen({ path, exclusive: true }, resolve);
  });
  return {
    async close(withinMs) {
      const closed = new Promise((resolve) => server.close(resolve));
      const timer = setTimeout(() => {
        for (const stream of streams) stream.destroy();
      }, withinMs);
      await closed;
      clearTimeout(timer);
      // The primary removes the folder, unless it was killed: then the last worker does.
      await rmdir(dirname(path)).catch(() => {});
    },
  };
}
