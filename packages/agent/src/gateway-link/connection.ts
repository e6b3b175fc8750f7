import { randomBytes } from 'node:crypto';
import { isIP, Socket, type LookupFunction } from 'node:net';
import { connectionsThrough, errorText, type FindProxy } from '@svc/edge';
import {
  CLOSE,
  closeReason,
  createLink,
  DATABASES_MAX,
  DESCRIBE_CAPABILITY,
  DIAL_TIMEOUT_MS,
  HANDSHAKE_TIMEOUT_MS,
  linkSocket,
  MESSAGE_MAX_BYTES,
  parseWelcome,
  ProtocolError,
  rawPublicKey,
  WEBSOCKET_SUBPROTOCOL,
  type DatabaseState,
  type Link,
} from '@svc/protocol';
import { WebSocket, type ClientOptions } from 'ws';
import type { CallOutcome, HandleCall, IncomingCall } from '../calls/handle-call.ts';
import { answerChallenge, readChallenge, sayHello, type AgentIdentity, type Agreed } from './handshake.ts';
import { createCallSession, type CallSession, type LinkLoad } from './call-session.ts';
import type { DialEnd } from './back-off.ts';
import type { Fleet, Place } from './link-slots.ts';

/** One attempt to reach the gateway and, if it succeeds, the connection's whole life. */
export interface Connection {
  /** Resolves once, when the connection is over or never came to be. */
  readonly over: Promise<ConnectionEnd>;
  /** Sends go-away, waits for the calls in flight, closes. */
  drain(timeoutMs: number): Promise<void>;
  /** As `drain`, for an agent that goes on: the calls have all the time that they take. */
  leave(): Promise<void>;
  /** The databases of the agent may be in other states than the gateway was told. */
  databasesChanged(): void;
}

export interface ConnectionEnd extends DialEnd {
  readonly reason: string;
  /** The agent has ended it, since it has replaced the link or needs none there. */
  readonly left: boolean;
  /** The gateway's name for the connection; undefined without a `welcome`. */
  readonly connId: string | undefined;
  /** As in `Welcomed`; undefined without a `welcome`. */
  readonly place: Place | undefined;
}

interface Established {
  readonly link: Link;
  readonly session: CallSession;
  readonly since: number;
}

/** What the gateway has said in its challenge and welcome. */
export interface Welcomed {
  readonly connId: string;
  /** Undefined if there is only one link to the gateway. */
  readonly place: Place | undefined;
  /** Undefined if the gateway does not know the feature. */
  readonly fleet: Fleet | undefined;
  /** `IPv4`, `IPv6`, or as the operating system names others. */
  readonly addressFamily: string | undefined;
}

export interface ConnectionOptions {
  readonly url: string;
  /** The address to dial in place of the host of the URL. */
  readonly address?: string | undefined;
  readonly ca: string | undefined;
  readonly findProxy?: FindProxy | undefined;
  readonly identity: AgentIdentity;
  readonly handle: HandleCall;
  /** The present states of the agent's databases. */
  readonly databases: () => readonly DatabaseState[];
  /** See `CallSessionOptions`. */
  readonly loads: Set<LinkLoad>;
  /** False: the agent closes the connection without signing. */
  readonly onChallenge: (place: Place) => boolean;
  readonly onWelcome: (welcomed: Welcomed) => void;
  /** The answer to `$describe` has left. `untilCounted` resolves with whether the gateway now counts the link. */
  readonly onDescribed?: (untilCounted: () => Promise<boolean>) => void;
  readonly onFleet: (fleet: Fleet) => void;
  /** The gateway has sent go-away: it still takes answers but will send no further call. */
  readonly onGoAway: () => void;
}

const LEFT = 'the agent does not need this link any more';
const SHUTTING_DOWN = 'the agent is shutting down';

export function openConnection(options: ConnectionOptions): Connection {
  const { identity } = options;
  const dialling = new AbortController();
  const socket = new WebSocket(options.url, [WEBSOCKET_SUBPROTOCOL], {
    perMessageDeflate: false,
    maxPayload: MESSAGE_MAX_BYTES,
    handshakeTimeout: DIAL_TIMEOUT_MS,
    followRedirects: false,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    ...wayTo(options, dialling.signal),
  });
  const helloBytes = sayHello(identity, randomBytes(32));
  let agreed: Agreed | undefined;
  let established: Established | undefined;
  let failure = '';
  let retryAfterMs = 0;
  let deadline: NodeJS.Timeout | undefined;
  let addressFamily: string | undefined;
  let place: Place | undefined;
  let left = false;
  /** What the gateway was told of the databases; undefined before `$describe`, and if it does not know the feature. */
  let toldOfDatabases: string | undefined;

  function giveUp(reason: string): void {
    failure = reason;
    socket.terminate();
  }

  function onHandshakeMessage(data: Buffer): void {
    if (agreed === undefined) {
      agreed = readChallenge(data, identity);
      if (options.onChallenge(placeOf(agreed))) {
        socket.send(answerChallenge(data, helloBytes, identity), { binary: false });
      } else giveUp('the agent has this link already');
      return;
    }
    const welcome = parseWelcome(data);
    clearTimeout(deadline);
    established = establish(agreed);
    const fleet = { replicaCount: welcome.replica_count, linksPerReplica: welcome.links_per_replica ?? 1 };
    if (agreed.hasFleet && fleet.replicaCount * fleet.linksPerReplica > 1) place = placeOf(agreed);
    options.onWelcome({
      connId: agreed.challenge.conn_id,
      place,
      fleet: agreed.hasFleet ? fleet : undefined,
      addressFamily,
    });
  }

  function tellOfDatabases(): void {
    const databases = options.databases().slice(0, DATABASES_MAX);
    const states = JSON.stringify(databases);
    if (established === undefined || states === toldOfDatabases) return;
    toldOfDatabases = states;
    established.link.sendQueue.sendControl({ type: 'databases', databases });
  }

  function establish({ version, hasFleet, hasDatabases, hasCursors }: Agreed): Established {
    const link = createLink({
      socket: linkSocket(socket),
      version,
      onFrame: (frame) => session.receive(frame),
      onEnd: (reason) => {
        failure = reason;
        session.ended();
      },
      now: () => performance.now(),
      random: Math.random,
    });
    const session: CallSession = createCallSession({
      link: () => link,
      handle: (call) =>
        call.capability === DESCRIBE_CAPABILITY
          ? describe(link, call, hasDatabases)
          : hasDatabases
            ? options.handle(call)
            : options.handle(call).then(withoutDatabases),
      maxInflight: identity.maxInflight,
      loads: options.loads,
      hasCursors,
      ...(hasFleet ? { onFleet: options.onFleet } : {}),
      onGoAway: options.onGoAway,
    });
    return { link, session, since: performance.now() };
  }

  async function describe(link: Link, call: IncomingCall, hasDatabases: boolean): Promise<CallOutcome> {
    const outcome = await options.handle(call);
    if (outcome.kind === 'error') return outcome;
    const release = (): void => {
      outcome.release();
      if (hasDatabases) tellOfDatabases();
      options.onDescribed?.(() => link.ping());
    };
    return { ...outcome, release };
  }

  const over = new Promise<ConnectionEnd>((resolve) => {
    socket.on('open', () => {
      deadline = setTimeout(() => giveUp('no handshake within 5 s'), HANDSHAKE_TIMEOUT_MS);
      socket.send(helloBytes, { binary: false });
    });
    socket.on('upgrade', (response) => {
      addressFamily = response.socket.remoteFamily;
    });
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (established !== undefined) {
        if (isBinary) established.link.receive(data);
        else established.link.end(CLOSE.protocol_error, 'text message after the handshake');
        return;
      }
      try {
        if (isBinary) throw new ProtocolError('binary message before the end of the handshake');
        onHandshakeMessage(data);
      } catch (error) {
        const isForeign = error instanceof ProtocolError;
        giveUp(isForeign ? `not a gateway of this protocol: ${error.message}` : errorText(error));
      }
    });
    socket.on('unexpected-response', (_request, response) => {
      const { statusCode = 0, headers } = response;
      if (statusCode === 429) retryAfterMs = readRetryAfter(headers['retry-after']);
      giveUp(unexpectedResponse(statusCode));
    });
    socket.on('error', (error) => {
      if (failure === '') failure = withHint(error, options.ca);
    });
    socket.on('close', (code, reason) => {
      clearTimeout(deadline);
      dialling.abort();
      const text = failure === '' || code !== 1006 ? closeReason(code, reason.toString()) : failure;
      established?.link.socketClosed(text);
      const heldMs = established === undefined ? 0 : performance.now() - established.since;
      resolve({
        place,
        reason: explain(code, text, identity),
        left,
        connId: established === undefined ? undefined : agreed?.challenge.conn_id,
        heldMs,
        refused: code === CLOSE.unauthorized || code === CLOSE.wrong_audience,
        full: code === CLOSE.enough_links,
        retryAfterMs,
      });
    });
  });

  return {
    over,
    async drain(timeoutMs) {
      if (established === undefined) {
        giveUp('shutting down');
        return;
      }
      const { link, session } = established;
      link.sendQueue.sendControl({ type: 'go_away', reason: SHUTTING_DOWN });
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        void session.idle().then(() => {
          clearTimeout(timer);
          resolve();
        });
      });
      link.end(CLOSE.going_away, SHUTTING_DOWN);
    },
    async leave() {
      if (established === undefined) {
        giveUp('not needed any more');
        return;
      }
      const { link, session } = established;
      link.sendQueue.sendControl({ type: 'go_away', reason: LEFT });
      // When the answer comes, everything that the gateway sent before it read the go-away has come, too.
      await link.ping();
      await session.idle();
      left = true;
      link.end(CLOSE.going_away, LEFT);
    },
    databasesChanged() {
      if (toldOfDatabases !== undefined) tellOfDatabases();
    },
  };
}

/** For a gateway without the feature `databases`: it would close the link for a code that it does not know. */
function withoutDatabases(outcome: CallOutcome): CallOutcome {
  return outcome.kind === 'error' && outcome.code === 'AGENT_DATABASE_UNAVAILABLE'
    ? { ...outcome, code: 'AGENT_BUSY' }
    : outcome;
}

function placeOf({ challenge }: Agreed): Place {
  return { replicaId: challenge.replica_id, worker: challenge.worker ?? 0 };
}

type CreateConnection = NonNullable<ClientOptions['createConnection']>;

interface Way {
  readonly lookup?: LookupFunction;
  readonly createConnection?: CreateConnection;
}

/** Through a proxy, which looks the name up itself, or straight to the address. */
function wayTo({ url, address, ca, findProxy }: ConnectionOptions, signal: AbortSignal): Way {
  const target = new URL(url);
  try {
    const proxy = findProxy?.(target);
    if (proxy !== undefined) {
      return through(connectionsThrough(proxy, target.protocol === 'wss:' ? { ca } : undefined, signal));
    }
  } catch (error) {
    return through((_target, done) => {
      done(error instanceof Error ? error : new Error(errorText(error)), new Socket());
    });
  }
  // The certificate is still checked with the name, which is also the Host header.
  return address === undefined ? {} : { lookup: lookupOf(address) };
}

/** The types of the library know only connections that exist at once; Node.js also takes later ones. */
function through(createConnection: ReturnType<typeof connectionsThrough>): Way {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { createConnection: createConnection as unknown as CreateConnection };
}

function lookupOf(address: string): LookupFunction {
  const family = isIP(address);
  return (_name, { all }, callback) => {
    if (all === true) callback(null, [{ address, family }]);
    else callback(null, address, family);
  };
}

/** The gateway sends whole seconds. A date, which a proxy may send, is ignored: the clock of this machine may be wrong. */
function readRetryAfter(header: string | undefined): number {
  return /^\d{1,9}$/.test(header ?? '') ? 1000 * Number(header) : 0;
}

function unexpectedResponse(status: number): string {
  const hint =
    status === 426 || status === 400 || status === 404 || status === 200
      ? ' (does a proxy between agent and gateway remove the Upgrade header, or does gateway.url lead elsewhere?)'
      : '';
  return `the gateway's address answered HTTP ${status} instead of opening a WebSocket${hint}`;
}

/** The codes of OpenSSL for a certificate that no trusted authority has signed. */
const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

function withHint(error: Error & { readonly code?: string }, ca: string | undefined): string {
  const problem = errorText(error);
  if (problem.includes('ECONNREFUSED')) {
    return `${problem} (is the gateway running, and do host and port of gateway.url lead to it?)`;
  }
  if (problem.includes('opened no tunnel') && /certificate|signed/.test(problem)) {
    return `${problem} (name the PEM file of the authority of the proxy in gateway.proxy_ca_file)`;
  }
  if (error.code === undefined || !UNTRUSTED.has(error.code)) return problem;
  return ca === undefined
    ? `${problem} (the gateway's certificate is not trusted: name the PEM file of its authority, or a self-signed certificate itself, in gateway.ca_file)`
    : `${problem} (no authority in gateway.ca_file has signed the gateway's certificate: is it the right file, and does the gateway send its whole chain?)`;
}

function explain(code: number, reason: string, { privateKey, trust, service }: AgentIdentity): string {
  switch (code) {
    case CLOSE.unauthorized: {
      const publicKey = rawPublicKey(privateKey).toString('base64url');
      return service === undefined || service === 'default'
        ? `${reason}: the gateway does not know this agent's key; put ${publicKey} into GATEWAY_AGENT_PUBLIC_KEY and restart the gateway`
        : `${reason}: this agent's key is not one of the service ${service}: correct service.id, or put ${publicKey} into agent_public_keys of that service in GATEWAY_SERVICES_FILE (a key belongs to one service)`;
    }
    case CLOSE.wrong_audience:
      return `${reason}: gateway.url is not one of the gateway's own URLs; see the gateway's log`;
    case CLOSE.no_common_version:
      return trust === undefined
        ? reason
        : `${reason}: the capability file has \`identity\`, which this gateway is too old for; update the gateway`;
    case CLOSE.bad_description:
      return `${reason}: ${adviceOnDescription(reason)}`;
    default:
      return reason;
  }
}

/** The gateway's reason tells which of its limits the description exceeds. */
function adviceOnDescription(reason: string): string {
  if (reason.includes('longer than'))
    return 'shorten descriptions, examples and enums in the capability file, or divide its capabilities among several agents; `svc-agent check` says how long it is';
  if (reason.includes('with this key'))
    return 'stop agents of this key with other capability files, or give this agent a key of its own';
  if (reason.includes('of all agents')) return 'stop agents of this gateway that are not needed';
  return 'if agent and gateway are of different versions, update the older one';
}
