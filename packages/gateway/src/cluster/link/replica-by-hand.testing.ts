import { randomUUID } from 'node:crypto';
import { createCatalog, type Catalog } from '../../catalog/catalog.ts';
import { createRegistry, type Registry } from '../../agents/registry.ts';
import { createResultBudget, type ResultBudget } from '../../agents/result-budget.ts';
import type { SessionDirectory } from '../../agents/session-directory.ts';
import { agentByHand, type AgentByHand } from '../../agents/agent-by-hand.testing.ts';
import type { AgentOffer } from '../../catalog/offer.ts';
import type { GatewayEvent } from '../../telemetry/events.ts';
import { inProcessWire } from '../in-process-wire.testing.ts';
import { createPrimaryChannel } from '../primary/primary-channel.ts';
import { startOrder } from '../start-order.testing.ts';
import { createWorkerChannel } from '../worker/worker-channel.ts';
import type { LinkFrame } from '@svc/protocol';
import { joinSiblings, type Siblings } from './join-siblings.ts';
import { shareSessions } from '../primary/share-sessions.ts';
import { createSocketFolder } from '../primary/socket-folder.ts';

/** A worker without its server: real sockets to its siblings, and messages to its primary that are cloned. */
export interface WorkerByHand {
  readonly number: number;
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly budget: ResultBudget;
  readonly siblings: Siblings;
  readonly events: GatewayEvent[];
  /** An agent connects here, described. */
  enter(offer: AgentOffer, options?: EnterOptions): EnteredAgent;
  /** As if it were killed. */
  kill(): Promise<void>;
}

export interface EnterOptions {
  readonly features?: readonly string[];
  readonly maxInflight?: number;
  readonly version?: 1 | 2;
  readonly identity?: 'token' | 'gateway';
  readonly onFrame?: (frame: LinkFrame) => void;
}

export interface EnteredAgent extends AgentByHand {
  /** Whether all workers can call it. */
  readonly isListed: () => boolean;
}

export interface ReplicaByHand {
  start(number: number): Promise<WorkerByHand>;
  /** Where the workers listen. */
  folder(): string;
  stop(): Promise<void>;
}

export function startReplica(service = 'default'): ReplicaByHand {
  const primary = createPrimaryChannel();
  const folder = createSocketFolder();
  const stopping: (() => Promise<void>)[] = [];
  primary.answer('start', () => startOrder());
  shareSessions(primary, folder);

  async function start(number: number): Promise<WorkerByHand> {
    const wire = inProcessWire();
    primary.attach(number, wire.primary);
    const channel = createWorkerChannel(wire.worker);
    await channel.ask('start', { version: '' });
    const budget = createResultBudget(64 * 1024 * 1024);
    const siblings = await joinSiblings(channel, number, budget);
    const registry = createRegistry(() => 0);
    const events: GatewayEvent[] = [];
    const catalog = createCatalog((event) => events.push(event));
    const directory: SessionDirectory = siblings.directoryOf(service, registry, catalog);
    const agents = new Set<AgentByHand>();
    let over = false;
    const kill = async (): Promise<void> => {
      if (over) return;
      over = true;
      await siblings.leave(0);
      for (const agent of agents) agent.lose();
      wire.worker.cut();
    };
    stopping.push(kill);
    return {
      number,
      registry,
      catalog,
      budget,
      siblings,
      events,
      enter(offer, options = {}) {
        let isListed = false;
        let leave = (): void => {};
        const agent = agentByHand(budget, options.maxInflight, {
          ...options,
          connId: randomUUID(),
          instanceId: offer.instanceId,
          onLeave: () => leave(),
        });
        agents.add(agent);
        agent.session.setDescription(offer.description);
        leave = directory.enter(agent.session, offer, () => {
          isListed = true;
        });
        return { ...agent, isListed: () => isListed };
      },
      kill,
    };
  }

  return {
    start,
    folder: () => folder.path,
    async stop() {
      for (const stop of stopping) await stop();
      folder.remove();
    },
  };
}
