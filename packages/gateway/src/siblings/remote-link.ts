import type { Description } from '@svc/protocol';
import type { CallableLink } from '../agents/callable-link.ts';
import type { AgentSession } from '../agents/agent-session.ts';
import { capabilitiesOf } from '../agents/capabilities-of.ts';
import type { ListedSession } from '../workers/session-messages.ts';
import { withHop } from './hop.ts';
import { outcomeAtAgent } from './lost-answer.ts';

/** A link that a sibling holds. `sibling` is undefined while it cannot be reached. */
export function createRemoteLink(
  { connId, instanceId, protocolVersion, identity }: ListedSession,
  { manifest, identity: terms }: Description,
  sibling: () => AgentSession | undefined,
  onCall: () => void,
): CallableLink {
  const capabilities = capabilitiesOf(manifest);
  let inFlight = 0;
  return {
    connId,
    instanceId,
    protocolVersion,
    identity,
    maxTokenAge: terms?.max_age,
    /** Those that came from this process. */
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
