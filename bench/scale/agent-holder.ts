import { createHash, createPrivateKey, randomUUID } from 'node:crypto';
import { agentKeyId, normalizeAudience, rawPublicKey } from '@svc/protocol';
import { openGatewayLinks } from '../../packages/agent/src/gateway-link/gateway-links.ts';
import { answerOrders } from './child.ts';

export interface AgentsOrder {
  /** Opens so many, once; 0 asks for the state only. */
  readonly count: number;
  /** Of the agent endpoint. */
  readonly url: string;
  /** Of the one key that all have, in PEM. */
  readonly privateKey: string;
  /** What each describes itself with: the UTF-8 text of a `Description`. */
  readonly description: string;
}

export interface AgentsState {
  /** Milliseconds from the first dial to each link, in their order. */
  readonly linkedMs: readonly number[];
  readonly dials: number;
  /** Of the dials, those answered 429. */
  readonly throttled: number;
}

const START_WITHIN_MS = 1000;

const linkedMs: number[] = [];
let dials = 0;
let throttled = 0;

function open({ count, url, privateKey: pem, description: text }: AgentsOrder): void {
  const privateKey = createPrivateKey(pem);
  const description = Buffer.from(text);
  const identity = {
    keyId: agentKeyId(rawPublicKey(privateKey)),
    privateKey,
    maxInflight: 10,
    manifestSha256: createHash('sha256').update(description).digest('hex'),
    hasPages: false,
    trust: undefined,
  };
  const since = performance.now();
  for (let at = 0; at < count; at++) {
    const start = (): void => {
      openGatewayLinks({
        url: normalizeAudience(url),
        ca: undefined,
        maxLinks: 1,
        resolveIntervalMs: 10_000,
        identity: { ...identity, instanceId: randomUUID() },
        loads: new Set(),
        databases: () => [],
        handle: async () => ({
          kind: 'result',
          rows: description,
          count: 0,
          truncated: false,
          release() {},
        }),
        onConnected: () => linkedMs.push(performance.now() - since),
        onLost: () => {},
        onDialled: (outcome) => {
          dials++;
          if (outcome === 'throttled') throttled++;
        },
        onShort: () => {},
        random: Math.random,
      });
    };
    setTimeout(start, Math.random() * START_WITHIN_MS);
  }
}

answerOrders((order: AgentsOrder): AgentsState => {
  if (order.count > 0) open(order);
  return { linkedMs, dials, throttled };
});
