import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import {
  createAgentSecret,
  createReleasers,
  findProgram,
  gatewaySettings,
  makeAgentFolder,
  makeCertificate,
  startAgent,
  startGateway,
  startProcess,
  startSquid,
  startTinyproxy,
  temporaryFolder,
  testDatabase,
  type RunningProcess,
  type StartedGateway,
} from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { missing } from './missing.testing.ts';

const user = 'agent';
const password = 'p@ss:w0rd';
const credentials = `${user}:${encodeURIComponent(password)}`;
/** A name that only the proxy knows. */
const HOST = 'gateway.test';

const skipped = missing('agents behind forward proxies', {
  squid: findProgram('squid') === undefined ? 'not installed' : undefined,
  tinyproxy: findProgram('tinyproxy') === undefined ? 'not installed' : undefined,
  openssl: findProgram('openssl') === undefined ? 'not installed' : undefined,
});

const releasers = createReleasers();
afterAll(() => releasers.closeAll());

let folder = '';
let gateway: StartedGateway;
let certificate = '';
let agents = 0;
let agentFolder: (host: string, lines?: string) => Promise<string>;

beforeAll(async () => {
  if (skipped) return;
  const made = await temporaryFolder('forward-proxies');
  await releasers.add(() => made.remove());
  folder = made.path;
  const files = await makeCertificate(folder, [`DNS:${HOST}`, 'DNS:localhost']);
  certificate = files.certificate;
  const secret = createAgentSecret();
  gateway = await startGateway({
    ...gatewaySettings(secret.agent_public_key, []),
    GATEWAY_TLS_CERT_FILE: files.certificate,
    GATEWAY_TLS_KEY_FILE: files.key,
    GATEWAY_AGENT_URLS: '',
  });
  await releasers.add(() => gateway.process.stop());
  const { host: server, port, name, user: reader, password: secretOfReader } = await testDatabase();
  const database = { host: server, port, name, user: reader, password: secretOfReader };
  agentFolder = async (host, lines = '') => {
    const home = join(folder, `agent-${agents++}`);
    await makeAgentFolder(home);
    await writeFile(
      join(home, 'capability.yaml'),
      `service: { title: Far, version: 1.0.0 }
gateway:
  url: wss://${host}:${gateway.port}/ws/agent
  ca_file: ${certificate}
  agent_private_key: ${secret.agent_private_key}
${lines}
database: ${JSON.stringify(database)}
capabilities:
  one: { description: Gives one, sql: select 1 as n, result: { n: { type: integer } } }
`,
    );
    return home;
  };
});

const squid = async (allowedPort = gateway.port): Promise<number> => {
  const proxy = await startSquid({ user, password, allowedPort, hosts: { [HOST]: '127.0.0.1' } });
  onTestFinished(() => proxy.stop());
  return proxy.port;
};

const connected = async (home: string, env: Readonly<Record<string, string>> = {}): Promise<boolean> => {
  const agent = await startAgent(gateway.process, home, env);
  return (await agent.stop()).code === 0;
};

/** The first reason for which an agent finds no way, and all that it says. */
async function refused(
  home: string,
  env: Readonly<Record<string, string>>,
): Promise<{ reason: string; said: string }> {
  const agent: RunningProcess = await startProcess(join(home, 'svc-agent'), [], { cwd: home, env });
  onTestFinished(async () => void (await agent.stop()));
  const reason = await agent.waitForLine((line) => line.includes('CONNECT') || line.includes('tunnel'));
  return { reason, said: agent.output() };
}

describe.skipIf(skipped)('an agent', () => {
  test('leaves by the proxy of the environment, which alone knows the gateway’s name', async () => {
    const port = await squid();
    const home = await agentFolder(HOST);
    expect(await connected(home, { HTTPS_PROXY: `http://${credentials}@127.0.0.1:${port}` })).toBe(true);
    expect(
      await connected(home, { all_proxy: `${credentials}@127.0.0.1:${port}`, NO_PROXY: 'other.test' }),
    ).toBe(true);
  });

  test('leaves by the proxy of its file, whatever the environment says', async () => {
    const port = await squid();
    const home = await agentFolder(HOST, `  proxy: http://${credentials}@127.0.0.1:${port}`);
    expect(await connected(home, { HTTPS_PROXY: 'http://127.0.0.1:1', NO_PROXY: '*' })).toBe(true);
  });

  test('goes straight where the file says so, or NO_PROXY', async () => {
    const env = { HTTPS_PROXY: 'http://127.0.0.1:1' };
    expect(await connected(await agentFolder('localhost', '  proxy: none'), env)).toBe(true);
    expect(await connected(await agentFolder('localhost'), env)).toBe(true);
  });

  test('is told what a proxy refuses, and shows no password', async () => {
    const wrong = await squid();
    const first = await refused(await agentFolder(HOST), {
      HTTPS_PROXY: `http://agent:s3cret@127.0.0.1:${wrong}`,
    });
    expect(first.reason).toContain(`the proxy 127.0.0.1:${wrong} refused CONNECT with status 407`);
    expect(first.said).not.toContain('s3cret');
    const closed = await squid(1);
    const second = await refused(await agentFolder(HOST), {
      HTTPS_PROXY: `http://${credentials}@127.0.0.1:${closed}`,
    });
    expect(second.reason).toContain('refused CONNECT with status 403');
  });

  test('leaves by tinyproxy', async () => {
    // It takes no colon in passwords.
    const proxy = await startTinyproxy({ user, password: 's3cret', allowedPort: gateway.port });
    onTestFinished(() => proxy.stop());
    expect(
      await connected(
        await agentFolder('localhost', `  proxy: http://${user}:s3cret@127.0.0.1:${proxy.port}`),
      ),
    ).toBe(true);
    const { reason, said } = await refused(
      await agentFolder('localhost', `  proxy: http://${user}:wr0ng@127.0.0.1:${proxy.port}`),
      {},
    );
    expect(reason).toContain('refused CONNECT with status 40');
    expect(said).not.toContain('wr0ng');
  });
});
