import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import {
  createKey,
  runProcess,
  SVC_GATEWAY,
  temporaryFolder,
  type CreatedKey,
  type TemporaryFolder,
} from '@svc/testkit';
import {
  createAgentKey,
  type AgentKey,
} from '../../packages/gateway/src/agents/unauthenticated-peer.testing.ts';
import {
  gatewayEnvironment,
  startLoneGateway,
  type Environment,
  type LoneGateway,
} from './lone-gateway.testing.ts';

/** Gateways that differ by their settings; each is stopped after its test. */
export interface Gateways {
  readonly agentKey: AgentKey;
  readonly start: (
    env?: Environment,
    options?: { readonly cwd?: string; readonly args?: readonly string[] },
  ) => Promise<LoneGateway>;
  /** What a gateway with this environment says, by lines, before it ends with exit code 2. */
  readonly refusal: (env: Environment) => Promise<readonly string[]>;
  /** Headers of a key that may call everything. */
  readonly asKey: (headers?: Readonly<Record<string, string>>) => Readonly<Record<string, string>>;
  /** The settings under those that a test gives, the key that they hold, and a folder. */
  readonly common: () => { readonly env: Environment; readonly created: CreatedKey; readonly folder: string };
}

/** To be called once, at the top of a test file. */
export function gatewaysOfThisFile(): Gateways {
  const agentKey = createAgentKey();
  const running: LoneGateway[] = [];
  let folder: TemporaryFolder | undefined;
  let prepared: ReturnType<Gateways['common']> | undefined;

  beforeAll(async () => {
    folder = await temporaryFolder('settings');
    const created = await createKey('reports', '*');
    const env = await gatewayEnvironment([created.record], {
      GATEWAY_AGENT_PUBLIC_KEY: agentKey.publicKey.toString('base64url'),
    });
    prepared = { env, created, folder: folder.path };
  });
  afterEach(async () => {
    const ended = running.splice(0).map(async ({ process }) => {
      // How it ends on request is not the matter of these tests, and takes longer.
      process.signal('SIGKILL');
      await process.exited;
    });
    await Promise.all(ended);
  });
  afterAll(() => folder?.remove());

  function common(): ReturnType<Gateways['common']> {
    if (prepared === undefined) throw new Error('cannot say: beforeAll has not run');
    return prepared;
  }
  return {
    agentKey,
    common,
    async start(env = {}, options = {}) {
      const gateway = await startLoneGateway({ ...common().env, ...env }, options);
      running.push(gateway);
      return gateway;
    },
    async refusal(env) {
      const { code, stdout, stderr } = await runProcess(SVC_GATEWAY, [], {
        env: { ...common().env, ...env },
      });
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      return stderr.trimEnd().split('\n');
    },
    asKey: (headers = {}) => ({ Authorization: `Bearer ${common().created.api_key}`, ...headers }),
  };
}
