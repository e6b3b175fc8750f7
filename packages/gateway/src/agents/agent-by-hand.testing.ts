import {
  createLink,
  decodeMessage,
  encodeFrame,
  type Frame,
  type Link,
  type LinkFrame,
  type ProtocolVersion,
} from '@svc/protocol';
import type { ResultBudget } from './result-budget.ts';
import type { AgentRequest } from './callable-link.ts';
import { createSession, type AgentSession } from './agent-session.ts';

let instances = 0;

/** A real session on a real link whose agent is the test: it reads what was sent and says what it likes. */
export interface AgentByHand {
  readonly session: AgentSession;
  readonly link: Link;
  /** Frames that reached the agent, in order. */
  readonly received: LinkFrame[];
  /** How often the session said that its agent is leaving. */
  readonly drainings: () => number;
  /** What the gateway closed the socket with. */
  readonly closedWith: () => number | undefined;
  /** All in one message. */
  say(...frames: Frame[]): void;
  /** The connection breaks. */
  lose(): void;
}

export function agentByHand(
  budget: ResultBudget,
  maxInflight = 1000,
  options: {
    readonly version?: ProtocolVersion;
    readonly identity?: 'token' | 'gateway';
    readonly instanceId?: string;
    readonly features?: readonly string[];
    readonly connId?: string;
    /** The session takes no more calls. */
    readonly onLeave?: () => void;
    readonly onFrame?: (frame: LinkFrame) => void;
  } = {},
): AgentByHand {
  const { version = 2, identity, instanceId = `instance-${++instances}` } = options;
  const received: LinkFrame[] = [];
  let drainings = 0;
  let closedWith: number | undefined;
  const link = createLink({
    version,
    socket: {
      send(message, sent) {
        for (const frame of decodeMessage(Buffer.from(message), version)) {
          if (isHeartbeat(frame)) continue;
          received.push(frame);
          options.onFrame?.(frame);
        }
        setImmediate(sent);
      },
      close(code) {
        closedWith = code;
        setImmediate(() => link.socketClosed('closed'));
      },
      terminate: () => {},
    },
    onFrame: (frame) => session.receive(frame),
    onEnd() {
      options.onLeave?.();
      session.ended();
    },
    now: () => performance.now(),
    random: () => 0.5,
  });
  const session = createSession({
    connId: options.connId ?? 'connection',
    instanceId,
    manifestSha256: 'ab'.repeat(32),
    features: options.features ?? [],
    protocolVersion: version,
    identity,
    maxInflight,
    link: () => link,
    budget,
    onDraining() {
      drainings++;
      options.onLeave?.();
    },
  });
  return {
    session,
    link,
    received,
    drainings: () => drainings,
    closedWith: () => closedWith,
    say: (...frames) => link.receive(Buffer.concat(frames.map((frame) => encodeFrame(frame, version)))),
    lose: () => link.socketClosed('connection lost'),
  };
}

function isHeartbeat(frame: Frame): frame is Exclude<Frame, LinkFrame> {
  return frame.type === 'ping' || frame.type === 'pong';
}

export function request(
  params: Uint8Array = Buffer.from('{}'),
  capability = 'get',
  principal = 'reporting',
): AgentRequest {
  return { capability, params, timeoutMs: 1000, metadata: { request_id: 'r1' }, principal };
}

/** A result small enough for one frame. */
export function smallResult(id: number, rows = '[]', count = 0): Frame {
  const bytes = Buffer.from(rows);
  return { type: 'result', id, count, truncated: false, rowsLength: bytes.length, rows: bytes, fin: true };
}

/** The first piece of a larger one. */
export function resultHead(id: number, rowsLength: number, piece: Uint8Array = new Uint8Array(0)): Frame {
  return { type: 'result', id, count: 1, truncated: true, rowsLength, rows: piece, fin: false };
}

export function data(id: number, bytes: Uint8Array, fin: boolean): Frame {
  return { type: 'data', id, bytes, fin };
}

export function busy(id: number, notStarted = true): Frame {
  return { type: 'error', id, code: 'AGENT_BUSY', message: 'try again', notStarted };
}

/** What no agent may send. */
export function requestFrame(id: number): Frame {
  const params = Buffer.from('{}');
  const head = { type: 'request', id, capability: 'get', timeoutMs: 1, metadata: {} } as const;
  return { ...head, paramsLength: params.length, params, fin: true };
}

/** Bytes of parameters that reached the agent. */
export function arrived(agent: AgentByHand): number {
  let bytes = 0;
  for (const frame of agent.received) {
    if (frame.type === 'request') bytes += frame.params.length;
    if (frame.type === 'data') bytes += frame.bytes.length;
  }
  return bytes;
}
