import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  createReleasers,
  freePort,
  runProcess,
  startProcess,
  temporaryFolder,
  type Releasers,
} from '@svc/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CERTIFICATE, CERTIFICATE_KEY } from '../../documentation/certificate.ts';
import { ROOT } from '../../documentation/documents.ts';
import { startReplica, type Replica } from './replica.testing.ts';
import { findTool } from './tools.testing.ts';

/** The files under deploy/balancers, run as they are but for addresses, before three stand-ins for gateways. */
interface Balancer {
  readonly name: string;
  readonly program: string | undefined;
  readonly file: string;
  readonly check: (file: string) => readonly string[];
  readonly run: (file: string, folder: string) => readonly string[];
  /** The configuration with its listener at `port`. */
  readonly listening: (text: string, port: number, folder: string) => string;
  /** The most of a hundred refused calls that may be sent twice; undefined where it cannot limit them. */
  readonly retries?: number;
  readonly asksReplicas: boolean;
}

const find = (name: string, install: string): string | undefined =>
  findTool(name, `the tests of deploy/balancers with ${name}`, install);

const BALANCERS: readonly Balancer[] = [
  {
    name: 'haproxy',
    program: find('haproxy', 'apt-get install -y --no-install-recommends haproxy'),
    file: 'haproxy.cfg',
    check: (file) => ['-c', '-f', file],
    run: (file) => ['-db', '-f', file],
    listening: (text, port) => text.replace('bind :443', `bind 127.0.0.1:${port}`),
    // Those of the first twenty, which come at once; later ones count as too many.
    retries: 30,
    asksReplicas: true,
  },
  {
    name: 'nginx',
    program: find('nginx', 'apt-get install -y --no-install-recommends nginx-light'),
    file: 'nginx.conf',
    check: (file) => ['-t', '-c', file],
    run: (file) => ['-c', file],
    listening: (text, port, folder) =>
      text
        .replace('listen 443', `listen 127.0.0.1:${port}`)
        .replace(
          'worker_processes auto;',
          `worker_processes 1; daemon off; error_log stderr; pid ${folder}/nginx.pid;`,
        )
        .replace(
          'http {',
          `http { access_log off; ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
            .map((name) => `${name}_temp_path ${folder}/${name};`)
            .join(' ')}`,
        ),
    asksReplicas: false,
  },
  {
    name: 'envoy',
    program: find('envoy', 'npm run test:chart, which needs Python'),
    file: 'envoy.yaml',
    check: (file) => ['--mode', 'validate', '-c', file],
    run: (file) => ['-c', file, '--concurrency', '1', '--disable-hot-restart'],
    listening: (text, port) =>
      text.replace('address: 0.0.0.0, port_value: 443', `address: 127.0.0.1, port_value: ${port}`),
    // Ten percent of those under way, and three; a second try that has ended makes room for the next.
    retries: 50,
    asksReplicas: true,
  },
];

describe.each(BALANCERS)('$name', ({ program, file, check, run, listening, retries, asksReplicas }) => {
  const isMissing = program === undefined;
  const text = readFileSync(join(ROOT, 'deploy/balancers', file), 'utf8');
  let releasers: Releasers;
  let replicas: readonly Replica[];
  let balancer: Caller;
  let folder: string;

  const withTls = (configuration: string): string => configuration.replaceAll('/etc/svc/tls', folder);

  beforeAll(async () => {
    if (program === undefined) return;
    releasers = createReleasers();
    const temporary = await temporaryFolder('balancer');
    await releasers.add(() => temporary.remove());
    folder = temporary.path;
    await writeFile(join(folder, 'fullchain.pem'), CERTIFICATE);
    await writeFile(join(folder, 'privkey.pem'), CERTIFICATE_KEY);
    await writeFile(join(folder, 'combined.pem'), `${CERTIFICATE}${CERTIFICATE_KEY}`);
    replicas = await Promise.all([startReplica(), startReplica(), startReplica()]);
    for (const replica of replicas) await releasers.add(() => replica.stop());
    const port = await freePort();
    let configuration = withTls(listening(text, port, folder));
    for (const [index, replica] of replicas.entries()) {
      configuration = configuration
        .replaceAll(`10.0.0.${11 + index}:8080`, `127.0.0.1:${replica.port}`)
        .replaceAll(`10.0.0.${11 + index}, port_value: 8080`, `127.0.0.1, port_value: ${replica.port}`);
    }
    const path = join(folder, `running-${file}`);
    await writeFile(path, configuration);
    const started = await startProcess(program, run(path, folder), { env: { HOME: folder } });
    await releasers.add(() => started.stop());
    balancer = caller(port);
    await releasers.add(async () => balancer.close());
  });
  afterAll(async () => {
    if (!isMissing) await releasers.closeAll();
  });

  beforeEach(async () => {
    if (isMissing) return;
    for (const { manner } of replicas) Object.assign(manner, { ready: true, alive: true, calls: 'answers' });
    await Promise.all(replicas.map((replica) => replica.start().catch(() => undefined)));
    await untilAllServe();
  });

  /** How many replicas get calls. */
  async function reached(): Promise<number> {
    const before = replicas.map(({ calls }) => calls);
    await balancer.calls(12);
    return replicas.filter(({ calls }, index) => calls > (before[index] ?? 0)).length;
  }

  async function untilAllServe(): Promise<void> {
    const deadline = performance.now() + 15_000;
    while ((await reached()) < replicas.length) {
      if (performance.now() > deadline) throw new Error('the balancer does not send calls to all replicas');
    }
  }

  test.skipIf(isMissing)('takes the file as it stands', async () => {
    const path = join(folder, `whole-${file}`);
    await writeFile(path, withTls(text));
    const { code, stderr } = await runProcess(program ?? '', check(path));
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    expect(stderr).not.toMatch(/warn|deprecat/i);
  });

  test.skipIf(isMissing)('tells the gateways who calls, and hides what callers claim of it', async () => {
    const answer = await balancer.call({ 'x-forwarded-for': '203.0.113.9' });
    expect(answer).toEqual({ status: 200, body: BODY });
    const said = replicas.flatMap(({ forwardedFor }) => forwardedFor?.split(/, ?/).slice(-1) ?? []);
    expect(said).not.toEqual([]);
    expect(said).not.toContain('203.0.113.9');
  });

  test.skipIf(isMissing).each(['503', 'hangs up'] as const)(
    'asks another when one %s: no POST fails',
    async (calls) => {
      const [first] = replicas;
      Object.assign(first?.manner ?? {}, { calls });
      const before = first?.calls ?? 0;
      expect(await balancer.calls(60)).toEqual(new Map([[200, 60]]));
      expect(first?.calls).toBeGreaterThan(before);
    },
  );

  test.skipIf(isMissing)('asks another when one is gone: no POST fails', async () => {
    await replicas[1]?.stop();
    expect(await balancer.calls(60)).toEqual(new Map([[200, 60]]));
  });

  test.skipIf(isMissing)('keeps all replicas when calls of one service fail everywhere', async () => {
    for (const { manner } of replicas) manner.calls = '503';
    const before = replicas.reduce((sum, { calls }) => sum + calls, 0);
    for (let batch = 0; batch < 5; batch++) {
      const path = '/s/books/api/v1/capabilities/one';
      const answers = await Promise.all(Array.from({ length: 20 }, () => balancer.call({}, path)));
      // As the gateway said it, and not as the balancer would.
      const refusals = answers.filter(({ body }) => body === '{"error":"of the gateway"}');
      expect(refusals.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 503));
    }
    const sent = replicas.reduce((sum, { calls }) => sum + calls, 0) - before;
    expect(sent).toBeLessThanOrEqual(100 + (retries ?? 100));
    for (const { manner } of replicas) manner.calls = 'answers';
    expect(await reached()).toBe(3);
  });

  test.skipIf(isMissing)('lets agents in while no replica is ready, and callers hear why', async () => {
    for (const { manner } of replicas) Object.assign(manner, { ready: false, calls: '503' });
    // Until it has noticed.
    for (let second = 0; second < (asksReplicas ? 6 : 1); second++) {
      expect(await balancer.call()).toEqual({ status: 503, body: '{"error":"of the gateway"}' });
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    expect(await balancer.upgrade()).toBe(101);
  });

  test.skipIf(isMissing || !asksReplicas)('leaves a replica that is to stop within 6 s', async () => {
    Object.assign(replicas[2]?.manner ?? {}, { ready: false, alive: false });
    await expect.poll(reached).toBe(2);
    expect(await balancer.calls(30)).toEqual(new Map([[200, 30]]));
  });
});

const haproxy = BALANCERS[0]?.program;
test.skipIf(haproxy === undefined)('HAProxy takes the file of deploy/compose', async () => {
  const folder = await temporaryFolder('compose-balancer');
  const certificate = join(folder.path, 'tls.crt');
  await writeFile(certificate, CERTIFICATE);
  const file = join(folder.path, 'haproxy.cfg');
  const text = readFileSync(join(ROOT, 'deploy/compose/haproxy.cfg'), 'utf8');
  await writeFile(file, text.replaceAll('/run/secrets/tls.crt', certificate));
  const { code, stderr } = await runProcess(haproxy ?? '', ['-c', '-f', file]);
  await folder.remove();
  // The names are those of containers.
  const said = stderr
    .split('\n')
    .filter((line) => /ALERT|WARNING/.test(line) && !line.includes('could not resolve'));
  expect({ code, said }).toEqual({ code: 0, said: [] });
});

const BODY = '{"title":"Moby-Dick"}';

interface Answer {
  readonly status: number;
  readonly body: string;
}

interface Caller {
  call(headers?: Readonly<Record<string, string>>, path?: string): Promise<Answer>;
  /** One after the other: how often each status came; 0 for none. */
  calls(count: number): Promise<ReadonlyMap<number, number>>;
  /** The status of a WebSocket handshake. */
  upgrade(): Promise<number>;
  close(): Promise<void>;
}

function caller(port: number): Caller {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  const target = { host: '127.0.0.1', port, agent, servername: 'gateway.example.com' };
  const call: Caller['call'] = async (headers = {}, path = '/api/v1/capabilities/find_book') => {
    const asked = request({ ...target, path, method: 'POST', headers });
    asked.end(BODY);
    const [response]: IncomingMessage[] = await once(asked, 'response').catch((error: unknown) => {
      // The balancer had closed the idle connection just then, before it heard of the call.
      if (asked.reusedSocket && error instanceof Error && 'code' in error && error.code === 'ECONNRESET')
        return [];
      throw error;
    });
    if (response === undefined) return call(headers, path);
    return { status: response.statusCode ?? 0, body: await text(response) };
  };
  return {
    call,
    async calls(count) {
      const statuses = new Map<number, number>();
      for (let index = 0; index < count; index++) {
        const { status } = await call().catch(() => ({ status: 0 }));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
      return statuses;
    },
    async upgrade() {
      const headers = {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      };
      const asked = request({
        ...target,
        agent: false,
        path: '/ws/agent',
        headers,
        rejectUnauthorized: false,
      });
      asked.end();
      return new Promise((resolve, reject) => {
        asked.once('error', reject);
        asked.once('response', (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        asked.once('upgrade', (response, socket) => {
          socket.destroy();
          resolve(response.statusCode ?? 0);
        });
      });
    },
    close: async () => agent.destroy(),
  };
}
