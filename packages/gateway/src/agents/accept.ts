import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  CLOSE,
  closeReason,
  createLink,
  DESCRIBE_CAPABILITY,
  HANDSHAKE_TIMEOUT_MS,
  joinPieces,
  linkSocket,
  MESSAGE_MAX_BYTES,
  ProtocolError,
  WEBSOCKET_SUBPROTOCOL,
  type Description,
  type Hello,
  type Link,
} from '@svc/protocol';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Catalog } from '../catalog/catalog.ts';
import { createRateLimiter } from '../http/rate-limit.ts';
import type { Observe } from '../observe/event.ts';
import { parseDescription } from './description.ts';
import { answerHello, checkAuth, type HandshakeRules, type HelloAccepted } from './handshake.ts';
import type { Registry } from './registry.ts';
import type { ResultBudget } from './result-budget.ts';
import { badDescription, createSession, type AgentSession } from './session.ts';

/** Where agents connect: bounded strangers, a signature, a description, and then a session in the registry. */
export interface AgentEndpoint {
  /** Whether one more stranger from there may be waited for now; to be asked once for each. */
  hasRoom(bucket: string): boolean;
  /** Takes over the socket of a WebSocket upgrade. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, source: AgentSource): void;
  /** Tells every agent to look for another gateway. */
  goAway(): void;
  /** Closes every connection, authenticated or not. */
  close(): void;
}

interface AgentSource {
  /** For the log. */
  readonly address: string;
  /** What the bounds count by. */
  readonly bucket: string;
}

export interface EndpointOptions {
  readonly rules: HandshakeRules;
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly budget: ResultBudget;
  readonly observe: Observe;
}

const STRANGERS_MAX = 200;
const STRANGERS_PER_SOURCE_MAX = 20;
/** After a restart a whole fleet comes at once; whoever is turned away backs off with jitter. */
const HANDSHAKES = { requestsPerSecond: 100, burst: 200 };
const DESCRIBE_TIMEOUT_MS = 10_000;

export function createAgentEndpoint(options: EndpointOptions): AgentEndpoint {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MESSAGE_MAX_BYTES,
    handleProtocols: (offered) => (offered.has(WEBSOCKET_SUBPROTOCOL) ? WEBSOCKET_SUBPROTOCOL : false),
  });
  const handshakes = createRateLimiter({ ...HANDSHAKES, now: () => performance.now() });
  const strangers = new Map<string, number>();
  const sockets = new Set<WebSocket>();
  const sessions = new Set<AgentSession>();
  let strangerCount = 0;

  function countStranger(bucket: string, change: 1 | -1): void {
    strangerCount += change;
    const count = (strangers.get(bucket) ?? 0) + change;
    if (count === 0) strangers.delete(bucket);
    else strangers.set(bucket, count);
  }

  function greet(socket: WebSocket, source: AgentSource): void {
    sockets.add(socket);
    let stranger = true;
    let rejected = false;
    const known = (): void => {
      if (stranger) countStranger(source.bucket, -1);
      stranger = false;
      clearTimeout(deadline);
    };
    // One who was turned away counts until the socket is gone.
    const reject = (error: ProtocolError): void => {
      rejected = true;
      clearTimeout(deadline);
      options.observe({ event: 'agent_rejected', source: source.address, reason: error.message });
      // Strangers learn the code only; one whose signature is good may read the reason too.
      socket.close(error.code, error.code === CLOSE.wrong_audience ? 'audience is not accepted' : '');
      setTimeout(() => socket.terminate(), 1000).unref();
    };
    const deadline = setTimeout(() => {
      reject(new ProtocolError('no handshake within 5 s', CLOSE.handshake_timeout));
    }, HANDSHAKE_TIMEOUT_MS);
    let accepted: HelloAccepted | undefined;
    let admitted: { link: Link; session: AgentSession } | undefined;

    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (admitted !== undefined) {
        if (isBinary) admitted.link.receive(data);
        else admitted.link.end(CLOSE.protocol_error, 'text message after the handshake');
        return;
      }
      if (rejected) return;
      try {
        if (isBinary) throw new ProtocolError('binary message before the end of the handshake');
        if (accepted === undefined) {
          accepted = answerHello(data, options.rules, randomUUID(), randomBytes(32));
          socket.send(accepted.challengeBytes, { binary: false });
          return;
        }
        const welcome = checkAuth(data, accepted, options.rules);
        known();
        socket.send(JSON.stringify(welcome));
        admitted = admit(socket, accepted, source.address);
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
        reject(error);
      }
    });
    // ws reports oversized or malformed messages here and closes by itself.
    socket.on('error', () => {});
    socket.on('close', (code, reason) => {
      known();
      sockets.delete(socket);
      admitted?.link.socketClosed(closeReason(code, reason.toString()));
    });
  }

  function admit(
    socket: WebSocket,
    accepted: HelloAccepted,
    source: string,
  ): { link: Link; session: AgentSession } {
    const { hello, connId } = accepted;
    let listed = false;
    let leaveCatalog = (): void => {};
    const leave = (): void => {
      options.registry.remove(session);
      leaveCatalog();
    };
    const link = createLink({
      socket: linkSocket(socket),
      onFrame: (frame) => session.receive(frame),
      onEnd: (reason) => {
        sessions.delete(session);
        leave();
        session.ended();
        const event = listed ? 'agent_disconnected' : 'agent_rejected';
        options.observe(
          event === 'agent_disconnected'
            ? { event, conn_id: connId, instance_id: hello.instance_id, reason }
            : { event, source, reason },
        );
      },
      now: () => performance.now(),
      random: Math.random,
    });
    const session: AgentSession = createSession({
      connId,
      instanceId: hello.instance_id,
      maxInflight: hello.max_inflight,
      link: () => link,
      budget: options.budget,
      onDraining: leave,
    });
    sessions.add(session);
    describe(session, hello, (description) => {
      listed = true;
      const { instance_id, key_id, manifest_sha256: digest } = hello;
      options.registry.add(session);
      options.observe({
        event: 'agent_connected',
        conn_id: connId,
        instance_id,
        key_id,
        source,
        capabilities: description.manifest.length,
      });
      leaveCatalog = options.catalog.add({ keyId: key_id, instanceId: instance_id, digest, description });
    });
    return { link, session };
  }

  /** Fetches the description before the agent counts as connected (specification, section 3). */
  function describe(session: AgentSession, hello: Hello, done: (description: Description) => void): void {
    const timer = setTimeout(() => {
      session.end(CLOSE.bad_description, 'the agent did not describe itself in time');
    }, DESCRIBE_TIMEOUT_MS);
    const request = {
      capability: DESCRIBE_CAPABILITY,
      params: Buffer.from('{}'),
      timeoutMs: DESCRIBE_TIMEOUT_MS,
      metadata: {},
    };
    session.call(request, (outcome) => {
      clearTimeout(timer);
      if (outcome.kind === 'lost') return;
      try {
        if (outcome.kind === 'error')
          throw badDescription(`the agent did not describe itself: ${outcome.code}`);
        const bytes = joinPieces(outcome.rows);
        if (createHash('sha256').update(bytes).digest('hex') !== hello.manifest_sha256) {
          throw badDescription('the description is not the one that the agent signed');
        }
        const description = parseDescription(bytes);
        session.setManifest(description.manifest);
        done(description);
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
        session.end(error.code, error.message);
      } finally {
        if (outcome.kind === 'result') outcome.release();
      }
    });
  }

  return {
    hasRoom: (bucket) =>
      strangerCount < STRANGERS_MAX &&
      (strangers.get(bucket) ?? 0) < STRANGERS_PER_SOURCE_MAX &&
      handshakes.take('all').ok,
    upgrade(request, socket, head, source) {
      countStranger(source.bucket, 1);
      const abandoned = (): void => countStranger(source.bucket, -1);
      socket.once('close', abandoned);
      server.handleUpgrade(request, socket, head, (webSocket) => {
        socket.off('close', abandoned);
        greet(webSocket, source);
      });
    },
    goAway() {
      for (const session of sessions) session.goAway('the gateway is shutting down');
    },
    close() {
      for (const session of sessions) session.end(CLOSE.going_away, 'the gateway is shutting down');
      for (const socket of sockets) socket.terminate();
      server.close();
    },
  };
}
