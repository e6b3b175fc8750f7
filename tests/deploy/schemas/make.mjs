// Writes the JSON Schemas in this folder anew, from the Go modules that README.md names. Needs Go:
//   node tests/deploy/schemas/make.mjs
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const here = dirname(fileURLToPath(import.meta.url));
const KUBERNETES = 'k8s.io/kubernetes@v1.34.1';
const GATEWAY_API = 'sigs.k8s.io/gateway-api@v1.6.2';
const PROMETHEUS_OPERATOR = 'github.com/prometheus-operator/prometheus-operator@v0.85.0';
const COMPOSE = 'github.com/compose-spec/compose-go/v2@v2.16.2';
/** The kinds that the charts make: a file each, named as kubeconform looks for them. */
const KINDS = {
  'deployment-apps-v1': 'io.k8s.api.apps.v1.Deployment',
  'statefulset-apps-v1': 'io.k8s.api.apps.v1.StatefulSet',
  'service-v1': 'io.k8s.api.core.v1.Service',
  'horizontalpodautoscaler-autoscaling-v2': 'io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler',
  'poddisruptionbudget-policy-v1': 'io.k8s.api.policy.v1.PodDisruptionBudget',
  'networkpolicy-networking-v1': 'io.k8s.api.networking.v1.NetworkPolicy',
};

const kubernetes = download(KUBERNETES);
const { definitions } = JSON.parse(read(kubernetes, 'api/openapi-spec/swagger.json'));
for (const [name, definition] of Object.entries(KINDS)) write(name, kind(definition));
// `retry` is in the experimental channel only.
const routes = 'config/crd/experimental/gateway.networking.k8s.io_httproutes.yaml';
write('httproute-gateway-v1', custom(download(GATEWAY_API), routes));
const monitors = 'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml';
write('servicemonitor-monitoring-v1', custom(download(PROMETHEUS_OPERATOR), monitors));
write('compose-spec', JSON.parse(read(download(COMPOSE), 'schema/compose-spec.json')));
writeFileSync(join(here, 'LICENSE'), read(kubernetes, 'LICENSE'));

/** Where Go puts the sources of a module. It names them without being in a module of its own. */
function download(module) {
  const folder = join(tmpdir(), 'svc-schemas');
  mkdirSync(folder, { recursive: true });
  return JSON.parse(execFileSync('go', ['mod', 'download', '-json', module], { cwd: folder })).Dir;
}

function read(folder, path) {
  return readFileSync(join(folder, path), 'utf8');
}

function write(name, schema) {
  writeFileSync(join(here, `${name}.json`), `${JSON.stringify(schema)}\n`);
}

/** With all that it refers to inside. What refers to itself is left open; no kind above does. */
function kind(definition) {
  const inlined = (node, path) => {
    if (Array.isArray(node)) return node.map((item) => inlined(item, path));
    if (node === null || typeof node !== 'object') return node;
    if (typeof node.$ref === 'string') {
      const name = node.$ref.slice('#/definitions/'.length);
      if (path.includes(name)) throw new Error(`${name} refers to itself`);
      return closed(named(name), [...path, name]);
    }
    return closed(node, path);
  };
  const named = (name) => {
    if (name.endsWith('.util.intstr.IntOrString')) return { type: ['integer', 'string'] };
    if (name.endsWith('.api.resource.Quantity')) return { type: ['integer', 'number', 'string'] };
    return definitions[name];
  };
  const closed = (node, path) => {
    const kept = Object.entries(node).filter(([key]) => key !== 'description' && !key.startsWith('x-'));
    const schema = Object.fromEntries(
      kept.map(([key, value]) => [key, key === 'properties' ? each(value, path) : inlined(value, path)]),
    );
    if (schema.properties !== undefined) schema.additionalProperties = false;
    return schema;
  };
  const each = (properties, path) =>
    Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, inlined(value, path)]));
  return closed(definitions[definition], [definition]);
}

/** The version v1 of a custom resource. */
function custom(folder, path) {
  const { spec } = parse(read(folder, path));
  const { schema } = spec.versions.find(({ name }) => name === 'v1');
  const closed = (node, isSchema) => {
    if (Array.isArray(node)) return node.map((item) => closed(item, true));
    if (node === null || typeof node !== 'object') return node;
    // Names of properties are no words of the schema: one of them may be `description`.
    const kept = isSchema
      ? Object.entries(node).filter(([key]) => key !== 'description' && !key.startsWith('x-'))
      : Object.entries(node);
    const result = Object.fromEntries(
      kept.map(([key, value]) => [key, closed(value, !isSchema || key !== 'properties')]),
    );
    if (isSchema && node['x-kubernetes-int-or-string']) result.type = ['integer', 'string'];
    if (isSchema && node.type === 'object' && node.properties !== undefined)
      result.additionalProperties = false;
    return result;
  };
  const result = closed(schema.openAPIV3Schema, true);
  // The definition leaves it to the server.
  result.properties.metadata = { type: 'object' };
  return result;
}
