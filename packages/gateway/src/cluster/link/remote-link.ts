import type { DatabaseState, Description } from '@svc/protocol';
import { capabilitiesOf, type CallableLink } from '../../agents/callable-link.ts';
import type { AgentSession } from '../../agents/agent-session.ts';
import type { ListedSession } from '../messages.ts';
import { outcomeAtAgent, withHop } from './hop.ts';

export interface RemoteLink extends CallableLink {
  /** To be called when the agent has reported its databases. */
  setDatabases(databases: readonly DatabaseState[]): void;
}

/** A link that a sibling holds. `sibling` is undefined while it cannot be reached. */
export function createRemoteLink(
  { connId, instanceId, protocolVersion, identity, databases: told }: ListedSession,
  { manifest, identity: terms }: Description,
  sibling: () => AgentSession | undefined,
  onCall: () => void,
): RemoteLink {
  const capabilities = capabilitiesOf(manifest);
  let inFlight = 0;
  let databases = told;
  return {
    connId,
    instanceId,
    protocolVersion,
    identity,
    maxTokenAge: terms?.max_age,
    get databases() {
      return databases;
    },
    setDatabases(next) {
      databases = next;
    },
    /** Counts only calls of this process. */
    get inFlight() {
      return inFlight;
    },
    get available() {
      return sibling()?.available === true;
    },
    capability: (name) => capabilities.get(name),
    call(request, settle) {
      const calls = sibling();
      if (calls === undefined) {
        settle({ kind: 'lost', answerBegun: false });
        return () => {};
      }
      inFlight++;
      onCall();
      const { capability, params, timeoutMs, principal } = request;
      const metadata = withHop(connId, request);
      let open = true;
      const over = (): void => {
        if (open) inFlight--;
        open = false;
      };
      const cancel = calls.call({ capability, params, timeoutMs, metadata, principal }, (outcome) => {
        over();
        settle(outcomeAtAgent(outcome));
      });
      return () => {
        over();
        cancel();
      };
    },
  };
}
