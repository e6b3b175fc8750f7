import { randomUUID } from 'node:crypto';
import { createAbort } from '@svc/edge';
import { DESCRIBE_CAPABILITY, DRAIN_TIMEOUT_MS, type DatabaseState } from '@svc/protocol';
import type { AgentLinks, LinkedAgent, LinkOffer, OpenLinks } from '@svc/agent';
import type { OwnAgent } from '@svc/gateway/mcp';
import { createLocalLink, type LocalLink } from './local-link.ts';

export interface LocalLinks {
  /** For the agent; called once, before `attach`. */
  readonly openLinks: OpenLinks;
  /** For the gateway: resolves when calls reach the agent. */
  attach(own: OwnAgent): Promise<void>;
}

interface Entered {
  readonly link: LocalLink;
  readonly leave: () => void;
}

const COUNTS = { held: 1, wanted: 1, dials: [] };

/** The one link in memory between the agent and the gateway of this process. `keyId` names the agent at the gateway. */
export function createLocalLinks(keyId: string): LocalLinks {
  let agent: LinkedAgent | undefined;
  let own: OwnAgent | undefined;
  let offer: LinkOffer | undefined;
  let databases: readonly DatabaseState[] = [];
  let current: Entered | undefined;
  /** One link is entered after the other, so that the newest offer is served in the end. */
  let entering: Promise<void> = Promise.resolve();

  async function enter(gateway: OwnAgent, linked: LinkedAgent, next: LinkOffer): Promise<Entered> {
    const { config, instanceId } = linked;
    const described = await next.handle({
      capability: DESCRIBE_CAPABILITY,
      params: Buffer.from('{}'),
      timeoutMs: Number.POSITIVE_INFINITY,
      metadata: {},
      signal: createAbort().signal,
    });
    if (described.kind === 'error') throw new Error(`the agent does not describe itself: ${described.code}`);
    let link: LocalLink | undefined;
    const leave = await gateway.enter(keyId, described.rows, (description) => {
      link = createLocalLink({
        instanceId,
        connId: randomUUID(),
        offer: next,
        description,
        identity: config.identity?.trust,
        databases: () => databases,
      });
      return link;
    });
    if (link === undefined) throw new Error('the gateway has made no link');
    return { link, leave };
  }

  /** The new link enters before the old one leaves, so that no call finds none. */
  async function replace(next: LinkOffer): Promise<LocalLink | undefined> {
    if (own === undefined || agent === undefined) return undefined;
    const before = current;
    current = await enter(own, agent, next);
    before?.leave();
    return before?.link;
  }

  async function replaceAfter(before: Promise<void>, next: LinkOffer): Promise<LocalLink | undefined> {
    await before;
    return replace(next);
  }

  return {
    openLinks(linked): AgentLinks {
      agent = linked;
      ({ offer } = linked);
      databases = linked.databases();
      return {
        counts: COUNTS,
        renew(next) {
          offer = next;
          const replaced = replaceAfter(entering, next);
          entering = replaced.then(() => {});
          return {
            over: replaced.then((before) => before?.idle()),
            async renewed() {
              await entering;
              return { replaced: 1, waiting: 0 };
            },
          };
        },
        databasesChanged() {
          databases = linked.databases();
        },
        async stop() {
          await entering;
          if (current === undefined) return;
          const { link, leave } = current;
          leave();
          const late = setTimeout(() => link.abortAll(), DRAIN_TIMEOUT_MS);
          await link.idle();
          clearTimeout(late);
        },
      };
    },
    async attach(gateway) {
      own = gateway;
      if (offer === undefined) throw new Error('the agent has not started');
      await replace(offer);
    },
  };
}
