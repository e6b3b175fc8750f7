import type { DatabaseState } from '@svc/protocol';
import type { CallableLink } from '../agents/callable-link.ts';

/**
 * Which links have answered that the database of a capability is not available, until their agents tell of their
 * databases again: a call is offered to the others first.
 */
export interface UnavailableDatabases {
  add(link: CallableLink, capability: string): void;
  has(link: CallableLink, capability: string): boolean;
  /** Whether there may be any. */
  readonly isEmpty: boolean;
}

interface Noted {
  /** What the agent had told then. */
  readonly databases: readonly DatabaseState[] | undefined;
  readonly capabilities: Set<string>;
}

export function createUnavailableDatabases(): UnavailableDatabases {
  const noted = new WeakMap<CallableLink, Noted>();
  let isEmpty = true;

  function notedOf(link: CallableLink): Noted | undefined {
    const known = noted.get(link);
    return known?.databases === link.databases ? known : undefined;
  }

  return {
    add(link, capability) {
      isEmpty = false;
      const known = notedOf(link) ?? { databases: link.databases, capabilities: new Set() };
      known.capabilities.add(capability);
      noted.set(link, known);
    },
    has: (link, capability) => notedOf(link)?.capabilities.has(capability) === true,
    get isEmpty() {
      return isEmpty;
    },
  };
}
