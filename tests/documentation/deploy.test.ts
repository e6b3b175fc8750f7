import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  createAgentSecret,
  createReleasers,
  findPgBouncer,
  freePort,
  runProcess,
  startPgBouncer,
  startProcess,
  startService,
  SVC_AGENT,
  SVC_GATEWAY,
  temporaryFolder,
  testDatabase,
  type Releasers,
  type TemporaryFolder,
} from '@svc/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CERTIFICATE, CERTIFICATE_KEY } from './certificate.ts';
import { readDocument, ROOT } from './documents.ts';

/** The configurations of the guides to deployment and proxies, given to the programs that they are for. */
const blocks = ['deploy', 'proxies'].flatMap((name) => readDocument(`docs/guides/${name}.md`).blocks);
const blocksOf = (kind: string): readonly string[] =>
  blocks.filter(({ language, mark }) => `${language} ${mark}`.trim() === kind).map(({ text }) => text);

const PACKAGES = { nginx: 'nginx-light', caddy: 'caddy', haproxy: 'haproxy', 'systemd-analyze': 'systemd' };
const missing = Object.keys(PACKAGES).filter((program) => spawnSync('which', [program]).status !== 0);
if (missing.length > 0) {
  const packages = Object.entries(PACKAGES).flatMap(([program, name]) =>
    missing.includes(program) ? [name] : [],
  );
  process.stderr.write(
    `\nSKIPPED: tests of docs/guides/deploy.md and proxies.md that need ${missing.join(', ')}; ` +
      `to run them: apt-get install -y --no-install-recommends ${packages.join(' ')}\n`,
  );
}
const needs = (program: keyof typeof PACKAGES): boolean => !missing.includes(program);

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder('deploy');
  await writeFile(join(folder.path, 'fullchain.pem'), CERTIFICATE);
  await writeFile(join(folder.path, 'privkey.pem'), CERTIFICATE_KEY);
  await writeFile(join(folder.path, 'combined.pem'), `${CERTIFICATE}${CERTIFICATE_KEY}`);
});
afterAll(() => folder.remove());

let releasers: Releasers;
beforeEach(() => {
  releasers = createReleasers();
});
afterEach(() => releasers.closeAll());

/** `/etc/svc/tls` is a folder of the test. */
const withTls = (text: string): string => text.replaceAll('/etc/svc/tls', folder.path);

test.skipIf(!needs('systemd-analyze'))(
  'systemd finds no fault in the units, and sees that they are closed',
  async () => {
    const home = join(folder.path, 'units');
    await mkdir(home);
    for (const name of ['svc-gateway', 'svc-agent']) {
      const text = await readFile(join(ROOT, `deploy/systemd/${name}.service`), 'utf8');
      const unit = text
        .replace('/opt/svc/svc-gateway', SVC_GATEWAY)
        .replaceAll('/opt/svc/svc-agent', SVC_AGENT)
        .replace('ExecStart=/var/lib/svc-agent/svc-agent', `ExecStart=${SVC_AGENT}`);
      const path = join(home, `${name}.service`);
      await writeFile(path, unit);
      const dropIn = blocksOf('ini drop-in').find(
        (part) => part.includes('svc-agent') === (name === 'svc-agent'),
      );
      await mkdir(`${path}.d`);
      await writeFile(
        join(`${path}.d`, 'override.conf'),
        (dropIn ?? '').replace('/var/lib/svc-agent/svc-agent', SVC_AGENT),
      );
      const verified = await runProcess('systemd-analyze', ['verify', '--man=no', path]);
      // Nothing is said of a sound unit; units of the machine itself may have faults.
      expect(verified.stderr.split('\n').filter((line) => line.includes(name))).toEqual([]);
      const level = await runProcess('systemd-analyze', [
        'security',
        '--offline=yes',
        '--threshold=20',
        path,
      ]);
      expect({ name, code: level.code, said: level.code === 0 ? '' : level.stdout.slice(-400) }).toEqual({
        name,
        code: 0,
        said: '',
      });
      const delay = Number(/GATEWAY_SHUTDOWN_DELAY=(\d+)s/.exec(text)?.[1] ?? 0);
      expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])).toBeGreaterThan(delay + 25);
      expect(text).toMatch(/^KillMode=mixed$/m);
      expect(text).toMatch(/^Restart=always$/m);
    }
  },
);

const pooler = findPgBouncer();
if (pooler?.keepsPreparedStatements !== true) {
  process.stderr.write('\nSKIPPED: the test of docs/guides/proxies.md that needs PgBouncer 1.21 or later\n');
}
test.skipIf(pooler?.keepsPreparedStatements !== true)(
  'an agent is served by PgBouncer with the settings of the guide',
  async () => {
    const [text = ''] = blocksOf('ini pgbouncer');
    const lines = text.slice(text.indexOf('[pgbouncer]')).matchAll(/^(\w+) = (.*)$/gm);
    const settings = Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
    expect(settings).toMatchObject({ pool_mode: 'transaction' });
    const database = await testDatabase();
    const started = await startPgBouncer({ server: database, settings });
    await releasers.add(() => started.stop());
    const { host, port } = started;
    const service = await startService({
      database: { ...database, host, port },
      capabilities: 'capabilities: { one: { sql: select 1 as n, result: { n: { type: integer } } } }',
    });
    await releasers.add(() => service.stop());
    expect(await service.call('one', {})).toMatchObject({ status: 200 });
  },
);

interface Proxy {
  readonly program: keyof typeof PACKAGES;
  /** Of the guide, with its own ports and files in place of the public ones. */
  readonly configuration: (port: number, gatewayPort: number) => string;
  readonly run: (file: string) => readonly string[];
}

const swap = (text: string, gatewayPort: number): string =>
  withTls(text).replaceAll('127.0.0.1:8080', `127.0.0.1:${gatewayPort}`);

const PROXIES: readonly Proxy[] = [
  {
    program: 'nginx',
    configuration: (port, gatewayPort) => {
      const server = swap(blocksOf('nginx').join('\n'), gatewayPort)
        .replace('listen 443 ssl', `listen 127.0.0.1:${port}`)
        .replaceAll(/^ *ssl_.*$/gm, '');
      return `pid ${folder.path}/nginx.pid; error_log stderr; daemon off; events {}
http { access_log off; client_body_temp_path ${folder.path}/b; proxy_temp_path ${folder.path}/p;
fastcgi_temp_path ${folder.path}/f; uwsgi_temp_path ${folder.path}/u; scgi_temp_path ${folder.path}/s;
${server} }`;
    },
    run: (file) => ['-c', file, '-p', folder.path],
  },
  {
    program: 'caddy',
    configuration: (port, gatewayPort) =>
      `{\n\tadmin off\n}\n${swap(blocksOf('caddyfile').join('\n'), gatewayPort).replace('gateway.example.com', `http://127.0.0.1:${port}`)}`,
    run: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
  {
    program: 'haproxy',
    configuration: (port, gatewayPort) =>
      swap(blocksOf('haproxy').join('\n'), gatewayPort).replace(/bind :443 ssl .*/, `bind 127.0.0.1:${port}`),
    run: (file) => ['-db', '-f', file],
  },
];

test.skipIf(!needs('nginx'))('nginx takes the configuration of the guide as it stands', async () => {
  const file = join(folder.path, 'whole-nginx.conf');
  const server = withTls(blocksOf('nginx').join('\n'));
  await writeFile(
    file,
    `pid ${folder.path}/whole.pid; error_log stderr; events {}\nhttp { access_log off; ${server} }`,
  );
  const { code, stderr } = await runProcess('nginx', ['-t', '-c', file]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('test is successful') });
});

test.skipIf(!needs('haproxy'))('HAProxy takes the configuration of the guide as it stands', async () => {
  const file = join(folder.path, 'whole-haproxy.cfg');
  await writeFile(file, withTls(blocksOf('haproxy').join('\n')));
  const { code, stderr } = await runProcess('haproxy', ['-c', '-f', file]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test.skipIf(!needs('caddy'))('Caddy takes the configuration of the guide as it stands', async () => {
  const file = join(folder.path, 'Caddyfile');
  await writeFile(file, blocksOf('caddyfile').join('\n'));
  const { code } = await runProcess('caddy', ['validate', '--adapter', 'caddyfile', '--config', file]);
  expect(code).toBe(0);
});

describe.each(PROXIES)('behind $program', ({ program, configuration, run }) => {
  test.skipIf(!needs(program))(
    'an agent connects, a call is answered, and the caller keeps its address',
    async () => {
      const database = await testDatabase();
      const secret = createAgentSecret();
      const service = await startService({
        database,
        capabilities: '',
        agents: 0,
        gatewayEnv: {
          GATEWAY_AGENT_PUBLIC_KEY: secret.agent_public_key,
          GATEWAY_TRUSTED_PROXY_CIDRS: '127.0.0.1/32',
        },
      });
      await releasers.add(() => service.stop());
      const port = await freePort();
      const file = join(folder.path, `${program}.conf`);
      await writeFile(file, configuration(port, service.port));
      const proxy = await startProcess(program, run(file), { env: { HOME: folder.path } });
      await releasers.add(() => proxy.stop());
      await expect.poll(() => ask(port, 'GET', '/healthz', {})).toContain('"ok":true');

      const home = join(folder.path, `agent-${program}`);
      await mkdir(home);
      await copyFile(SVC_AGENT, join(home, 'svc-agent'));
      await writeFile(
        join(home, 'capability.yaml'),
        `gateway: { url: 'ws://127.0.0.1:${port}/ws/agent', agent_private_key: ${secret.agent_private_key} }
database:
  host: ${JSON.stringify(database.host)}
  port: ${database.port}
  name: ${database.name}
  user: ${JSON.stringify(database.user)}
  password: ${JSON.stringify(database.password)}
capabilities:
  one: { sql: select 1 as n, result: { n: { type: integer } } }
`,
      );
      const connected = service.gateway.waitForLine((line) => line.includes('"agent_connected"'));
      const agent = await startProcess(join(home, 'svc-agent'), []);
      await releasers.add(() => agent.stop());
      await connected;

      const logged = service.gateway.waitForLine((line) => line.includes('"capability":"one"'));
      const headers = {
        'x-api-key': service.apiKeys['all'] ?? '',
        'content-type': 'application/json',
        // What a caller claims must not count: the proxy appends the address that it sees.
        'x-forwarded-for': '203.0.113.9',
      };
      const answer = await ask(port, 'POST', '/api/v1/capabilities/one', headers);
      expect(JSON.parse(answer)).toEqual({ rows: [{ n: 1 }], count: 1 });
      expect(JSON.parse(await logged)).toMatchObject({ http_status: 200, source: CALLER });
    },
    60_000,
  );
});

/** Not the address of the proxy, which is trusted. */
const CALLER = '127.0.0.2';

/** The body of the answer; empty while nothing listens. */
async function ask(
  port: number,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  const asked = request({
    host: '127.0.0.1',
    port,
    method,
    path,
    headers,
    localAddress: CALLER,
    agent: false,
  });
  asked.end(method === 'POST' ? '{}' : undefined);
  try {
    const [response]: IncomingMessage[] = await once(asked, 'response');
    return response === undefined ? '' : await text(response);
  } catch {
    return '';
  }
}
