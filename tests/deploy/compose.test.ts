import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, stat, symlink } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { runProcess, SVC_GATEWAY, temporaryFolder } from '@svc/testkit';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../documentation/documents.ts';
import type { Manifest } from './charts.testing.ts';

const FOLDER = join(ROOT, 'deploy/compose');
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');
const compose: Manifest = parse(read('compose.yaml'), { merge: true });
const services: readonly Manifest[] = Object.values(compose.services);

test('the Compose file follows the specification', () => {
  const schema = JSON.parse(readFileSync(join(ROOT, 'tests/deploy/schemas/compose-spec.json'), 'utf8'));
  const ajv = new Ajv2020({ strict: false, formats: { duration: true, uri: true, subnet_ip_address: true } });
  const validate = ajv.compile(schema);
  expect(validate(compose) ? [] : validate.errors).toEqual([]);
});

test('what it mounts is in the repository or built, and lets nobody write', () => {
  const mounts = services.flatMap(({ volumes }) => volumes ?? []);
  expect(mounts.length).toBeGreaterThan(5);
  for (const mount of mounts) {
    const [, path = '', mode] = /^([^:]+):[^:]+:(ro)$/.exec(mount) ?? [];
    const source = normalize(join(FOLDER, path));
    expect({ mount, mode, there: existsSync(source) || dirname(source) === join(ROOT, 'dist') }).toEqual({
      mount,
      mode: 'ro',
      there: true,
    });
  }
});

test('its images are those of this version, made by the file that makes those of a release', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const { gateway1, agent } = compose.services;
  for (const [program, { image, build }] of Object.entries<Manifest>({
    'svc-gateway': gateway1,
    'svc-agent': agent,
  })) {
    expect(image).toBe(`${program}:${version}`);
    const containerfile = readFileSync(join(FOLDER, build.context, build.dockerfile), 'utf8');
    expect(containerfile).toContain(`AS ${build.target}\n`);
    expect(build.target).toBe(program);
    // Of all that lies there it gets what it copies.
    const ignored = readFileSync(join(FOLDER, build.context, `${build.dockerfile}.dockerignore`), 'utf8');
    const copied = [...containerfile.matchAll(/^COPY --chmod=\d+ (.+) \S+$/gm)].flatMap(([, paths = '']) =>
      paths.split(' '),
    );
    expect(ignored.trim().split('\n').toSorted()).toEqual(
      ['*', ...new Set(copied.map((path) => `!${path}`))].toSorted(),
    );
  }
});

test('the gateways are two of the same, with longer to end than they take, and the agent finds both by one name', () => {
  const { gateway1, gateway2, agent } = compose.services;
  expect(gateway2).toEqual(gateway1);
  const seconds = (text: string): number => Number(text.replace(/s$/, ''));
  expect(seconds(gateway1.stop_grace_period)).toBeGreaterThan(
    seconds(gateway1.environment.GATEWAY_SHUTDOWN_DELAY) + 25,
  );
  const [alias] = gateway1.networks.default.aliases;
  expect(new URL(agent.environment.SVC_GATEWAY_URL).hostname).toBe(alias);
  expect(gateway1.environment.GATEWAY_AGENT_URLS.split(',')).toContain(agent.environment.SVC_GATEWAY_URL);
  const asked = [gateway1, agent].flatMap(({ environment }) =>
    Object.values<string>(environment).filter((value) => value.startsWith('/run/secrets/')),
  );
  for (const path of asked)
    expect(Object.keys(compose.secrets)).toContain(path.slice('/run/secrets/'.length));
});

test('the balancer is reached from this machine only', () => {
  expect(services.flatMap(({ ports }) => ports ?? [])).toEqual(['127.0.0.1:8080:8080']);
});

test('its retries and checks are those of the HAProxy before other gateways', () => {
  // As a set of lines: addresses and TLS differ.
  const lines = (text: string): readonly string[] =>
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => /^(?:http-request|http-check|retr|option|stick-table|timeout c)/.test(line));
  const there = new Set(lines(read('haproxy.cfg')));
  const balancer = readFileSync(join(ROOT, 'deploy/balancers/haproxy.cfg'), 'utf8');
  expect(lines(balancer).filter((line) => !there.has(line))).toEqual([]);
});

test('the script makes every secret that it names, once, and nobody else may read them', async () => {
  const temporary = await temporaryFolder('compose');
  try {
    const folder = join(temporary.path, 'deploy/compose');
    await mkdir(dirname(folder), { recursive: true });
    await cp(FOLDER, folder, { recursive: true, filter: (path) => !path.includes('secrets/') });
    await symlink(dirname(SVC_GATEWAY), join(temporary.path, 'dist'));
    const make = (): ReturnType<typeof runProcess> => runProcess('sh', [join(folder, 'make-secrets.sh')]);
    const { code, stdout, stderr } = await make();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const secrets = join(folder, 'secrets');
    expect((await stat(secrets)).mode & 0o777).toBe(0o700);
    const files = await readdir(secrets);
    const named: readonly string[] = [
      ...Object.values<Manifest>(compose.secrets).map(({ file }) => file),
      ...services.flatMap(({ env_file: file }) => file ?? []),
    ];
    expect([...new Set(named), 'secrets/api-key'].toSorted()).toEqual(files.map((name) => `secrets/${name}`));
    const content = (name: string): Promise<string> => readFile(join(secrets, name), 'utf8');
    expect(stdout).not.toContain((await content('api-key')).trim());

    const [record, ...others] = JSON.parse(await content('api-keys.json'));
    expect([record, others]).toEqual([
      { name: 'demo', capabilities: ['*'], key_id: expect.any(String), key_hash: expect.any(String) },
      [],
    ]);
    expect(await content('api-key')).toContain(`svc_${record.key_id}_`);
    expect(await content('gateway.env')).toMatch(/^GATEWAY_AGENT_PUBLIC_KEY=[\w-]{43}\n$/);
    const password = await content('reader-password');
    expect(await content('agent.env')).toMatch(
      new RegExp(`^SVC_AGENT_PRIVATE_KEY=[\\w-]{43}\nSVC_DB_PASSWORD=${password}\n$`),
    );
    expect(await content('valkey.conf')).toContain(`requirepass ${await content('valkey-password')}\n`);
    const certificate = new X509Certificate(await content('tls.crt'));
    expect(certificate.checkHost('gateway')).toBe('gateway');
    expect(certificate.checkPrivateKey(createPrivateKey(await content('tls.key')))).toBe(true);

    expect(await make()).toMatchObject({ code: 2, stderr: expect.stringContaining('is there already') });
  } finally {
    await temporary.remove();
  }
});
