import type { DatabaseState } from '@svc/protocol';
import type { CallableLink } from '../agents/callable-link.ts';
import type { Registry, Tried } from '../agents/registry.ts';
import type { Principal, TokenPrincipal } from '../core/principal.ts';

export type AgentChoice = ReturnType<Registry['choose']>;

interface ChooseAgent {
  /** An agent that has not been tried, or why there is none. With `onlyAvailable` none whose database is unavailable. */
  readonly choose: (
    capability: string,
    principal: Principal,
    tried: Tried,
    onlyAvailable?: boolean,
  ) => AgentChoice;
  /** The agent has answered that the database of the capability is not available. */
  readonly noteUnavailable: (agent: CallableLink, capability: string) => void;
}

/** Capabilities whose database was not available, and what the agent had said of its databases by then. */
interface Unavailable {
  readonly databases: readonly DatabaseState[] | undefined;
  readonly capabilities: Set<string>;
}

/**
 * Chooses agents for calls. Until an agent reports its databases again, a call whose database was not available there is
 * offered to all others first.
 */
export function createChooseAgent(registry: Registry, wallClock: () => number): ChooseAgent {
  const unavailable = new WeakMap<CallableLink, Unavailable>();
  let isAnyUnavailable = false;

  function unavailableAt(agent: CallableLink): Unavailable | undefined {
    const noted = unavailable.get(agent);
    return noted?.databases === agent.databases ? noted : undefined;
  }

  return {
    choose(capability, principal, tried, onlyAvailable = false) {
      const leastVersion = principal.kind === 'token' ? 2 : 1;
      if (isAnyUnavailable) {
        const isAvoided = (agent: CallableLink): boolean =>
          unavailableAt(agent)?.capabilities.has(capability) === true;
        const choice = registry.choose(capability, tried, leastVersion, isAvoided);
        if (onlyAvailable || typeof choice !== 'string') return choice;
      }
      const choice = registry.choose(capability, tried, leastVersion);
      if (choice !== 'busy') return choice;
      // A call that the agent would refuse takes no place from another.
      const maySend = (agent: CallableLink): boolean =>
        agent.protocolVersion >= leastVersion && !isTooOld(principal, agent, wallClock);
      return registry.makePlace(capability, tried, principal.id, maySend) ?? choice;
    },
    noteUnavailable(agent, capability) {
      isAnyUnavailable = true;
      const noted = unavailableAt(agent) ?? { databases: agent.databases, capabilities: new Set() };
      noted.capabilities.add(capability);
      unavailable.set(agent, noted);
    },
  };
}

/** Whether the agent would refuse the token for its age. Its bearer can get a new one, so the call is not sent. */
export function isTooOld(
  principal: Principal,
  { maxTokenAge }: CallableLink,
  wallClock: () => number,
): principal is TokenPrincipal {
  if (maxTokenAge === undefined || principal.kind !== 'token') return false;
  return principal.issuedAt === undefined || wallClock() / 1000 - principal.issuedAt > maxTokenAge;
}
