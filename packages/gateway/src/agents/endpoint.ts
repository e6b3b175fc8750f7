import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  CLOSE,
  closeReason,
  createLink,
  FLEET_FEATURE,
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
import type { Exchange } from '../http/exchange.ts';
import type { AgentLinks } from './agent-links.ts';
import type { Observe } from '../telemetry/events.ts';
import type { DescriptionBudget } from './description-budget.ts';
import { createDescriptionReader } from './description.ts';
import { answerHello, checkAuth, type HandshakeRules, type HelloAccepted } from './handshake.ts';
import type { ResultBudget } from './result-budget.ts';
import { badDescription, createSession, type AgentSession } from './agent-session.ts';
import type { SessionDirectory } from './session-directory.ts';
import {
  createUnauthenticatedPeers,
  type PeerDecision,
  type Siblings,
  type UnauthenticatedPeer,
} from './unauthenticated.ts';

/**
 * Where agents connect. A connection is in one phase, which only `serve` changes:
 *   hello     the peer has sent nothing yet;
 *   auth      the peer has our challenge, and its answer is awaited;
 *   session   the peer has proved which agent it is: from now on its messages belong to the link;
 *   rejected  the peer broke the protocol, is not known or was too slow: only its connection has yet to end.
 * After hello and auth comes the following phase, or rejected; session and rejected last until the socket closes.
 * A session is asked for the agent's description at once, and enters registry and catalog when it has come.
 */
export interface AgentEndpoint {
  /** To be called once for each upgrade; `bucket` is what is bounded per source. */
  accept(bucket: string): PeerDecision;
  /** An agent at this source has proved its identity to a sibling. */
  sourceKnown(bucket: string): void;
  /** Takes over the socket of a WebSocket upgrade. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, arrival: Arrival): void;
  /** Ends the links of agents whose key is no longer known, or belongs to another service now. */
  endUnknown(): void;
  /** Tells every agent to look for another gateway. */
  goAway(): void;
  /** Closes every connection, authenticated or not; resolves when all have closed, which takes a second at most. */
  close(): Promise<void>;
}

interface Arrival {
  /** For the log. */
  readonly source: string;
  readonly peer: UnauthenticatedPeer;
}

type HandshakePhase =
  | { readonly name: 'hello' }
  | { readonly name: 'auth'; readonly accepted: HelloAccepted };

type Phase =
  | HandshakePhase
  | { readonly name: 'session'; readonly link: Link }
  | { readonly name: 'rejected' };

export interface EndpointOptions {
  readonly rules: HandshakeRules;
  /** Whether records name them. */
  readonly severalServices: boolean;
  /** Undefined for a service that has been removed. */
  readonly directoryOf: (service: string) => SessionDirectory | undefined;
  readonly budget: ResultBudget;
  readonly descriptions: DescriptionBudget;
  readonly links: AgentLinks;
  /** Absent for the only process. */
  readonly siblings?: Siblings;
  readonly observe: Observe;
}

const DESCRIBE_TIMEOUT_MS = 10_000;
/** 16 bytes in base64 (RFC 6455, section 4.1). */
const WEBSOCKET_KEY = /^[+/0-9A-Za-z]{22}==$/;
const LEAVING = 'the gateway is shutting down';
/** How long the other end may take to read why it is closed, and to answer. */
const CLOSE_HANDSHAKE_MS = 1000;

export function createAgentEndpoint(options: EndpointOptions): AgentEndpoint {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MESSAGE_MAX_BYTES,
    handleProtocols: (offered) => (offered.has(WEBSOCKET_SUBPROTOCOL) ? WEBSOCKET_SUBPROTOCOL : false),
  });
  const unauthenticated = createUnauthenticatedPeers(() => performance.now(), undefined, options.siblings);
  const readDescription = createDescriptionReader();
  const sockets = new Set<WebSocket>();
  const sessions = new Map<AgentSession, { readonly keyId: string; readonly service: string }>();

  /** Moves a new connection through its phases, by its messages, its deadline and its end. */
  function serve(socket: WebSocket, { source, peer }: Arrival): void {
    let phase: Phase = { name: 'hello' };
    sockets.add(socket);
    const deadline = setTimeout(() => {
      reject(new ProtocolError('no handshake within 5 s', CLOSE.handshake_timeout));
    }, HANDSHAKE_TIMEOUT_MS);

    function reject(error: ProtocolError): void {
      if (phase.name !== 'hello' && phase.name !== 'auth')
        throw new Error(`${phase.name} cannot be rejected`);
      phase = { name: 'rejected' };
      clearTimeout(deadline);
      options.observe({ event: 'agent_rejected', source, reason: error.message });
      // An unauthenticated peer learns only the code; a peer whose signature is good may read the reason too.
      socket.close(error.code, error.code === CLOSE.wrong_audience ? 'audience is not accepted' : '');
      setTimeout(() => socket.terminate(), CLOSE_HANDSHAKE_MS).unref();
    }

    function continueHandshake(before: HandshakePhase, data: Buffer, isBinary: boolean): Phase {
      if (isBinary) throw new ProtocolError('binary message before the end of the handshake');
      if (before.name === 'hello') {
        const accepted = answerHello(data, options.rules, randomUUID(), randomBytes(32));
        socket.send(accepted.challengeBytes, { binary: false });
        return { name: 'auth', accepted };
      }
      const { welcome, service } = checkAuth(data, before.accepted, options.rules);
      const { hello, features } = before.accepted;
      if (!options.links.mayAdd(hello.instance_id)) {
        const code = features?.includes(FLEET_FEATURE) === true ? CLOSE.enough_links : CLOSE.going_away;
        throw new ProtocolError('as many links as GATEWAY_MAX_AGENT_LINKS allows', code);
      }
      clearTimeout(deadline);
      peer.authenticated();
      socket.send(JSON.stringify(welcome));
      return { name: 'session', link: beginSession(socket, before.accepted, service, source) };
    }

    socket.on('message', (data: Buffer, isBinary: boolean) => {
      switch (phase.name) {
        case 'session':
          if (isBinary) phase.link.receive(data);
          else phase.link.end(CLOSE.protocol_error, 'text message after the handshake');
          return;
        case 'rejected':
          return;
        case 'hello':
        case 'auth':
          if (socket.readyState !== socket.OPEN) return;
          try {
            phase = continueHandshake(phase, data, isBinary);
          } catch (error) {
            if (!(error instanceof ProtocolError)) throw error;
            reject(error);
          }
      }
    });
    // ws reports oversized or malformed messages here and closes by itself.
    socket.on('error', () => {});
    socket.on('close', (code, reason) => {
      clearTimeout(deadline);
      peer.closed(phase.name === 'auth');
      if (phase.name === 'auth') options.links.leftAtChallenge(phase.accepted.hello.instance_id, source);
      sockets.delete(socket);
      if (phase.name === 'session') phase.link.socketClosed(closeReason(code, reason.toString()));
    });
  }

  /** Returns the link of the new session. */
  function beginSession(socket: WebSocket, accepted: HelloAccepted, service: string, source: string): Link {
    const { hello, connId, version } = accepted;
    let listed = false;
    /** Of the description. */
    let bytes = 0;
    let leaveBudget = (): void => {};
    let leaveDirectory = (): void => {};
    /** Set from the agent's description until calls can reach the agent: a pong tells the agent that they can. */
    let listing: Promise<void> | undefined;
    let endListing = (): void => {};
    const beginListing = (): void => {
      listing = new Promise((resolve) => {
        endListing = () => {
          listing = undefined;
          resolve();
        };
      });
    };
    const leave = (): void => {
      leaveDirectory();
      endListing();
    };
    const link = createLink({
      socket: linkSocket(socket),
      version,
      onFrame: (frame) => session.receive(frame),
      beforePong: () => listing,
      onEnd: (reason) => {
        sessions.delete(session);
        options.links.remove(session);
        leave();
        leaveBudget();
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
      manifestSha256: hello.manifest_sha256,
      features: accepted.features ?? [],
      protocolVersion: version,
      identity: version > 1 ? hello.identity : undefined,
      maxInflight: hello.max_inflight,
      link: () => link,
      budget: options.budget,
      onDraining: leave,
    });
    sessions.set(session, { keyId: hello.key_id, service });
    options.links.add(session, source);
    const admit = (length: number): void => {
      bytes = length;
      const described = { keyId: hello.key_id, digest: hello.manifest_sha256, bytes };
      leaveBudget = options.descriptions.admit(described);
    };
    describe(session, hello, { admit, arrived: beginListing }, (description) => {
      const { instance_id, key_id, manifest_sha256: digest } = hello;
      const offer = { keyId: key_id, instanceId: instance_id, digest, bytes, description };
      const directory = options.directoryOf(service);
      if (directory === undefined) throw new ProtocolError('its service is gone', CLOSE.unauthorized);
      leaveDirectory = directory.enter(session, offer, () => {
        listed = true;
        endListing();
        options.observe({
          event: 'agent_connected',
          service: options.severalServices ? service : undefined,
          conn_id: connId,
          instance_id,
          key_id,
          source,
          capabilities: description.manifest.length,
        });
      });
    });
    return link;
  }

  /** Fetches the description before the agent counts as connected: calls must not meet an agent without known capabilities. */
  function describe(
    session: AgentSession,
    hello: Hello,
    { admit, arrived }: { readonly admit: (bytes: number) => void; readonly arrived: () => void },
    done: (description: Description) => void,
  ): void {
    const timer = setTimeout(() => {
      session.end(CLOSE.bad_description, 'the agent did not describe itself in time');
    }, DESCRIBE_TIMEOUT_MS);

    function accept(description: Description): void {
      // Reading a long description takes a while, and the link may be over by then.
      if (!sessions.has(session)) return;
      session.setDescription(description);
      done(description);
    }

    /** An error of the gateway itself costs this agent its link, and affects no other agent or caller. */
    function refuse(error: unknown): void {
      if (!(error instanceof ProtocolError)) {
        const message = error instanceof Error ? (error.stack ?? error.message) : 'unknown error';
        options.observe({ event: 'internal_error', request_id: '', message });
      }
      const { code, message } =
        error instanceof ProtocolError ? error : badDescription('the gateway could not read the description');
      if (sessions.has(session)) session.end(code, message);
    }

    session.describe(DESCRIBE_TIMEOUT_MS, admit, (outcome) => {
      clearTimeout(timer);
      if (outcome.kind === 'lost') return;
      arrived();
      let reading: Promise<void> | undefined;
      try {
        if (outcome.kind === 'error')
          throw badDescription(`the agent did not describe itself: ${outcome.code}`);
        const bytes = joinPieces(outcome.rows);
        if (createHash('sha256').update(bytes).digest('hex') !== hello.manifest_sha256) {
          throw badDescription('the description is not the one that the agent signed');
        }
        const read = readDescription(bytes, hello.manifest_sha256);
        if (read instanceof Promise) reading = read.then(accept).catch(refuse).finally(outcome.release);
        else accept(read);
      } catch (error) {
        refuse(error);
      } finally {
        if (outcome.kind === 'result' && reading === undefined) outcome.release();
      }
    });
  }

  return {
    accept: (bucket) => unauthenticated.accept(bucket),
    sourceKnown: (bucket) => unauthenticated.known(bucket),
    upgrade(request, socket, head, arrival) {
      const onClose = (): void => arrival.peer.closed(false);
      socket.once('close', onClose);
      server.handleUpgrade(request, socket, head, (webSocket) => {
        socket.off('close', onClose);
        serve(webSocket, arrival);
      });
    },
    endUnknown() {
      for (const [session, { keyId, service }] of sessions) {
        if (options.rules.agentKey(keyId)?.service === service) continue;
        session.end(CLOSE.unauthorized, 'the key of the agent was removed');
      }
    },
    goAway() {
      for (const session of sessions.keys()) session.goAway(LEAVING);
    },
    async close() {
      server.close();
      for (const session of sessions.keys()) session.end(CLOSE.going_away, LEAVING);
      const closed = [...sockets].map((socket) => {
        // A socket that is closing already, of a session or of a rejected peer, keeps the code that it was closed with.
        socket.close(CLOSE.going_away, LEAVING);
        return new Promise((resolve) => socket.once('close', resolve));
      });
      const timer = setTimeout(() => {
        for (const socket of sockets) socket.terminate();
      }, CLOSE_HANDSHAKE_MS);
      await Promise.all(closed);
      clearTimeout(timer);
    },
  };
}

/** Serves GET /ws/agent, which must be a WebSocket upgrade. */
export function createAgentUpgradeHandler(endpoint: AgentEndpoint): (exchange: Exchange) => void {
  return (exchange) => {
    const { request, upgrade, log } = exchange;
    if (upgrade === undefined || request.headers.upgrade?.toLowerCase() !== 'websocket') {
      exchange.sendError('GATEWAY_UPGRADE_REQUIRED', 'agents connect here by WebSocket');
      return;
    }
    const offered = request.headers['sec-websocket-protocol']?.split(',').map((name) => name.trim());
    if (offered?.includes(WEBSOCKET_SUBPROTOCOL) !== true) {
      exchange.sendError(
        'GATEWAY_INVALID_REQUEST',
        `agents must offer the subprotocol ${WEBSOCKET_SUBPROTOCOL}`,
      );
      return;
    }
    const key = request.headers['sec-websocket-key'] ?? '';
    if (!WEBSOCKET_KEY.test(key) || request.headers['sec-websocket-version'] !== '13') {
      exchange.sendError('GATEWAY_INVALID_REQUEST', 'the WebSocket handshake is malformed');
      return;
    }
    const decision = endpoint.accept(exchange.sourceBucket);
    if (!decision.ok) {
      const message = 'too many connections are still to be authenticated';
      const headers = ['Retry-After', String(decision.retryAfterSeconds)];
      exchange.sendError('GATEWAY_RATE_LIMITED', message, headers);
      return;
    }
    exchange.switchedProtocols();
    const arrival = { source: log.source, peer: decision.peer };
    endpoint.upgrade(request, upgrade.socket, upgrade.head, arrival);
  };
}
