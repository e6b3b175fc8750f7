import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../documentation/documents.ts';
import { chartFolder, NAMESPACE, readManifests, VALUE_SETS, type Manifest } from './charts.testing.ts';

/** What no schema says of the manifests: that they fit each other, and the gateway. Needs no Helm: it reads the snapshots. */

test('there is a snapshot of every value set, and nothing else', () => {
  const sets = ['svc-gateway', 'svc-agent'].flatMap((chart) =>
    readdirSync(join(chartFolder(chart), 'ci')).map((name) => `${chart}-${name.replace('-values', '')}`),
  );
  expect(readdirSync(join(ROOT, 'tests/deploy/snapshots')).toSorted()).toEqual(sets.toSorted());
  expect(VALUE_SETS.map(({ chart, values }) => `${chart}-${values}.yaml`).toSorted()).toEqual(
    sets.toSorted(),
  );
});

const seconds = (text: string): number => {
  const [, count = ''] = /^(\d+)s$/.exec(text) ?? [];
  return Number(count);
};

interface Rendered {
  readonly workload: Manifest;
  readonly pod: Manifest;
  readonly container: Manifest;
  readonly env: Readonly<Record<string, string>>;
  readonly portOf: (nameOrNumber: string | number) => number | undefined;
  readonly of: (kind: string) => readonly Manifest[];
}

function rendered(set: (typeof VALUE_SETS)[number]): Rendered {
  const manifests = readManifests(set);
  const of = (kind: string): readonly Manifest[] => manifests.filter((manifest) => manifest.kind === kind);
  const [workload, ...others] = [...of('Deployment'), ...of('StatefulSet')];
  expect(others).toEqual([]);
  const pod = workload.spec.template.spec;
  const [container] = pod.containers;
  const ports: readonly Manifest[] = container.ports ?? [];
  return {
    workload,
    pod,
    container,
    env: Object.fromEntries(
      container.env.flatMap(({ name, value }: Manifest) => (value === undefined ? [] : [[name, value]])),
    ),
    portOf: (port) =>
      ports.find(({ name, containerPort }) => name === port || containerPort === port)?.containerPort,
    of,
  };
}

const includes = (labels: Manifest, wanted: Manifest): boolean =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value);

describe.each(VALUE_SETS)('$chart with the $values values', (set) => {
  const { workload, pod, container, env, of, portOf } = rendered(set);
  const labels = workload.spec.template.metadata.labels;

  test('every selector finds the pods', () => {
    const selectors = [
      workload.spec.selector.matchLabels,
      ...of('Service').map(({ spec }) => spec.selector),
      ...of('PodDisruptionBudget').map(({ spec }) => spec.selector.matchLabels),
      ...of('NetworkPolicy').map(({ spec }) => spec.podSelector.matchLabels),
      ...pod.topologySpreadConstraints.map(({ labelSelector }: Manifest) => labelSelector.matchLabels),
    ];
    for (const selector of selectors) {
      expect(Object.keys(selector)).not.toEqual([]);
      expect({ selector, found: includes(labels, selector) }).toEqual({ selector, found: true });
    }
    for (const { spec } of of('HorizontalPodAutoscaler')) {
      expect(spec.scaleTargetRef).toEqual({
        apiVersion: workload.apiVersion,
        kind: workload.kind,
        name: workload.metadata.name,
      });
    }
  });

  test('every port leads to one of the container', () => {
    const named = [
      ...of('Service').flatMap(({ spec }) => spec.ports.map(({ targetPort }: Manifest) => targetPort)),
      ...of('NetworkPolicy').flatMap(({ spec }) =>
        (spec.ingress ?? []).flatMap(({ ports }: Manifest) => ports.map(({ port }: Manifest) => port)),
      ),
      ...['startupProbe', 'livenessProbe', 'readinessProbe'].flatMap((probe) =>
        container[probe] === undefined ? [] : [container[probe].httpGet.port],
      ),
    ];
    expect(named.filter((port) => portOf(port) === undefined)).toEqual([]);
  });

  test('what is mounted is there, and nothing else', () => {
    const containers = [...(pod.initContainers ?? []), container];
    const mounted: readonly string[] = containers.flatMap(({ volumeMounts }) =>
      volumeMounts.map(({ name }: Manifest) => name),
    );
    const volumes: readonly string[] = pod.volumes.map(({ name }: Manifest) => name);
    expect([...new Set(mounted)].toSorted()).toEqual(volumes.toSorted());
    const files = pod.volumes.flatMap(({ projected }: Manifest) =>
      (projected?.sources ?? []).flatMap(({ secret }: Manifest) =>
        (secret?.items ?? []).map(({ path }: Manifest) => `/etc/svc/${path}`),
      ),
    );
    const asked = Object.values(env).filter((value) => value.startsWith('/etc/svc/'));
    if (set.chart === 'svc-gateway') expect(files.toSorted()).toEqual(asked.toSorted());
    // A part of a volume that is mounted alone is never renewed.
    expect(JSON.stringify(pod)).not.toContain('subPath');
  });

  test('pods may do as little as they can', () => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    });
    for (const { securityContext } of [...(pod.initContainers ?? []), container]) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
    const { projected } = pod.volumes.find(({ name }: Manifest) => name === 'files');
    expect(projected.defaultMode).toBe(0o440);
    // A process that is throttled answers nobody.
    expect(container.resources.limits.cpu).toBeUndefined();
    expect(container.resources.requests).toEqual({ cpu: expect.anything(), memory: expect.any(String) });
  });

  test('a pod that ends has the time it takes, and no hook', () => {
    const delay = set.chart === 'svc-gateway' ? seconds(env['GATEWAY_SHUTDOWN_DELAY'] ?? '') : 0;
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(delay + 25);
    expect(container.lifecycle).toBeUndefined();
  });

  test('a rollout and a drained node leave most replicas', () => {
    if (workload.kind === 'Deployment') {
      expect(workload.spec.strategy.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
    } else {
      expect(workload.spec.updateStrategy).toEqual({ type: 'RollingUpdate' });
    }
    const [autoscaler] = of('HorizontalPodAutoscaler');
    // Both would set the number.
    expect(workload.spec.replicas === undefined).toBe(autoscaler !== undefined);
    const least = autoscaler?.spec.minReplicas ?? workload.spec.replicas;
    for (const { spec } of of('PodDisruptionBudget')) {
      expect(spec).toMatchObject({ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
      expect(least).toBeGreaterThan(spec.maxUnavailable);
    }
  });
});

describe.each(VALUE_SETS.filter(({ chart }) => chart === 'svc-gateway'))(
  'gateways with the $values values',
  (set) => {
    const { workload, pod, container, env, of, portOf } = rendered(set);
    const [callers, agents] = of('Service');
    const http = portOf('http');

    test('callers come to those that are ready, agents to all', () => {
      expect(callers.spec.publishNotReadyAddresses).toBeUndefined();
      expect(agents.spec).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true });
      expect(container.readinessProbe.httpGet.path).toBe('/readyz');
      expect(container.livenessProbe.httpGet.path).toBe('/healthz');
      // No address of its own stands before a headless Service, so its port is the container's.
      expect(agents.spec.ports[0]).toMatchObject({ port: http });
      expect(env['GATEWAY_ADDR']).toBe(`:${http}`);
    });

    test('a replica that is to stop is out before it refuses, and one that is dark in 6 s', () => {
      const { periodSeconds, timeoutSeconds, failureThreshold } = container.readinessProbe;
      const noticed = periodSeconds * failureThreshold + timeoutSeconds;
      expect(noticed).toBeLessThanOrEqual(6);
      expect(seconds(env['GATEWAY_SHUTDOWN_DELAY'] ?? '')).toBeGreaterThan(noticed);
      expect(seconds(env['GATEWAY_READY_AFTER'] ?? '')).toBeGreaterThanOrEqual(15);
      expect(seconds(env['GATEWAY_AGENT_WAIT'] ?? '')).toBeGreaterThanOrEqual(1);
    });

    test('replicas are counted by the addresses of the headless Service', () => {
      const [, name] = /^dns:(.+)$/.exec(env['GATEWAY_REPLICAS'] ?? '') ?? [];
      expect(name).toMatch(new RegExp(`^${agents.metadata.name}\\.${NAMESPACE}\\.svc\\.[a-z.8]+$`));
      if (workload.kind === 'StatefulSet') expect(workload.spec.serviceName).toBe(agents.metadata.name);
    });

    test('a cell has 16 replicas at most, and gives them back one by one', () => {
      expect(workload.spec.replicas ?? 1).toBeLessThanOrEqual(16);
      for (const { spec } of of('HorizontalPodAutoscaler')) {
        expect(spec.maxReplicas).toBeLessThanOrEqual(16);
        expect(spec.behavior.scaleDown.policies).toEqual([{ type: 'Pods', value: 1, periodSeconds: 60 }]);
        // Without a request there is no percentage of it.
        expect(container.resources.requests.cpu).toBeDefined();
      }
    });

    test('the replicas spread over zones and nodes', () => {
      expect(
        pod.topologySpreadConstraints.map(({ topologyKey }: Manifest) => topologyKey).toSorted(),
      ).toEqual(['kubernetes.io/hostname', 'topology.kubernetes.io/zone']);
    });

    test('there is a processor and memory for every worker', () => {
      const workers = Number(env['GATEWAY_WORKERS']);
      const { requests } = container.resources;
      expect(Number(requests.cpu)).toBeGreaterThanOrEqual(workers);
      const [, mebibytes] = /^(\d+)Mi$/.exec(requests.memory) ?? [];
      expect(Number(mebibytes)).toBeGreaterThanOrEqual(workers * 125 + (workers > 1 ? 70 : 0));
    });

    test('the network policy lets in and out what is needed', () => {
      const [policy] = of('NetworkPolicy');
      if (policy === undefined) return;
      const { ingress, egress, policyTypes } = policy.spec;
      expect(policyTypes).toEqual(['Ingress', 'Egress']);
      const allowed = ingress.flatMap(({ ports }: Manifest) =>
        ports.map(({ port }: Manifest) => portOf(port)),
      );
      expect(allowed.toSorted()).toEqual(
        container.ports.map(({ containerPort }: Manifest) => containerPort).toSorted(),
      );
      const open = egress.flatMap(({ ports }: Manifest) =>
        ports.map(({ protocol, port }: Manifest) => `${protocol} ${port}`),
      );
      expect(open).toEqual(expect.arrayContaining(['UDP 53', 'TCP 53']));
      const valkey = env['GATEWAY_VALKEY_URL'];
      if (valkey !== undefined) expect(open).toContain(`TCP ${new URL(valkey).port || 6379}`);
      if (env['GATEWAY_ISSUERS_JSON'] !== undefined) expect(open).toContain('TCP 443');
    });

    test('agents may dial what the gateways are known by', () => {
      const urls = env['GATEWAY_AGENT_URLS']?.split(',') ?? [];
      if (env['GATEWAY_PUBLIC_URL'] !== undefined) {
        expect(urls).toContain(`${env['GATEWAY_PUBLIC_URL'].replace('http', 'ws')}/ws/agent`);
      }
      // They speak ws to their own machine only.
      const inside = env['GATEWAY_TLS_CERT_FILE'] === undefined ? [] : [agents.metadata.name];
      expect(urls.filter((url) => url.includes('.svc.')).length).toBe(
        inside.length * (workload.kind === 'StatefulSet' ? 2 : 1),
      );
    });

    test('a route asks another replica once, and gives agents all replicas and all time', () => {
      for (const { spec } of of('HTTPRoute')) {
        const [first, second] = spec.rules;
        expect(first).toEqual({
          matches: [{ path: { type: 'Exact', value: '/ws/agent' } }],
          backendRefs: [{ name: agents.metadata.name, port: agents.spec.ports[0].port }],
          timeouts: { request: '0s', backendRequest: '0s' },
        });
        expect(second).toMatchObject({
          matches: [{ path: { type: 'PathPrefix', value: '/' } }],
          backendRefs: [{ name: callers.metadata.name, port: callers.spec.ports[0].port }],
          retry: { codes: [503], attempts: 1 },
        });
      }
    });

    test('metrics are read of every replica', () => {
      for (const { spec } of of('ServiceMonitor')) {
        expect(includes(agents.metadata.labels, spec.selector.matchLabels)).toBe(true);
        expect(includes(callers.metadata.labels, spec.selector.matchLabels)).toBe(false);
        const [endpoint] = spec.endpoints;
        const port = agents.spec.ports.find(({ name }: Manifest) => name === endpoint.port);
        expect(env['GATEWAY_METRICS_ADDR']).toBe(`:${portOf(port.targetPort)}`);
      }
    });
  },
);

test('agents are dialled by nobody, and hold their program where they may write', () => {
  const set = { chart: 'svc-agent', values: 'default' } as const;
  const { pod, container, of } = rendered(set);
  const [policy] = of('NetworkPolicy');
  expect(policy.spec).toMatchObject({ policyTypes: ['Ingress'] });
  expect(policy.spec.ingress).toBeUndefined();
  const [program, flag, file] = container.command;
  expect([flag, file]).toEqual(['--config', '/etc/svc/capability.yaml']);
  expect(pod.initContainers[0].command.at(-1)).toBe(program);
  const home = container.volumeMounts.find(({ mountPath }: Manifest) => program.startsWith(`${mountPath}/`));
  expect(home.readOnly).toBeUndefined();
});
