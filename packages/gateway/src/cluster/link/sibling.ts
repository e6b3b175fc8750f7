import { createConnection } from 'node:net';
import {
  createLink,
  CURSOR_FEATURE,
  DATABASES_FEATURE,
  localSocket,
  receiveMessages,
  type Link,
} from '@svc/protocol';
import { createSession, type AgentSession } from '../../agents/agent-session.ts';
import type { ResultBudget } from '../../agents/result-budget.ts';

/** Another worker of the replica, to whose agents this one sends calls. */
export interface Sibling {
  /** Undefined while it cannot be reached. */
  readonly calls: AgentSession | undefined;
  /** Ends the connection for good. Calls under way are lost. */
  close(): void;
}

export interface SiblingOptions {
  readonly worker: number;
  readonly path: string;
  /** The worker of the caller reserves the memory for a result. */
  readonly budget: ResultBudget;
  readonly onReachable: () => void;
  readonly onUnreachable: () => void;
}

/** Siblings use the frames of the newest version, whatever the agents speak. */
const LINK_VERSION = 2;
const REDIAL_MS = 100;

/** Dials until it is closed: only the primary knows when a sibling is gone for good. */
export function reachSibling(options: SiblingOptions): Sibling {
  const { worker, path, budget } = options;
  let calls: AgentSession | undefined;
  let closed = false;
  let end = (): void => {};
  let redial: NodeJS.Timeout | undefined;

  function dial(): void {
    const stream = createConnection(path);
    end = () => stream.destroy();
    let begun: Link | undefined;
    stream.once('connect', () => {
      begun = begin();
    });
    receiveMessages(
      stream,
      (message) => begun?.receive(message),
      (reason) => {
        begun?.socketClosed(reason);
        if (!closed) redial = setTimeout(dial, REDIAL_MS).unref();
      },
    );

    function begin(): Link {
      const link: Link = createLink({
        socket: localSocket(stream),
        version: LINK_VERSION,
        onFrame: (frame) => session.receive(frame),
        onEnd() {
          calls = undefined;
          // Before its calls are settled, so that they are not sent here again.
          options.onUnreachable();
          session.ended();
        },
        now: () => performance.now(),
        random: Math.random,
      });
      const session = createSession({
        connId: `worker-${worker}`,
        instanceId: `worker-${worker}`,
        manifestSha256: '',
        // Some of its agents have the feature, so all answers of that kind are accepted.
        features: [DATABASES_FEATURE, CURSOR_FEATURE],
        protocolVersion: LINK_VERSION,
        identity: undefined,
        // The sibling keeps the bound of each of its agents.
        maxInflight: Infinity,
        link: () => link,
        budget,
        onDraining: () => {},
      });
      calls = session;
      options.onReachable();
      return link;
    }
  }

  dial();
  return {
    get calls() {
      return calls;
    },
    close() {
      closed = true;
      clearTimeout(redial);
      end();
    },
  };
}
