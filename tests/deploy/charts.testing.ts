import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { ROOT } from '../documentation/documents.ts';

/** A chart with one of the value sets in its folder `ci`. */
interface ValueSet {
  readonly chart: 'svc-gateway' | 'svc-agent';
  readonly values: string;
}

export const NAMESPACE = 'shop';
export const RELEASE = 'cell';

export const VALUE_SETS: readonly ValueSet[] = [
  { chart: 'svc-gateway', values: 'default' },
  { chart: 'svc-gateway', values: 'statefulset' },
  { chart: 'svc-gateway', values: 'services' },
  { chart: 'svc-gateway', values: 'everything' },
  { chart: 'svc-agent', values: 'default' },
  { chart: 'svc-agent', values: 'everything' },
];

export const chartFolder = (chart: string): string => join(ROOT, 'deploy/helm', chart);
export const valuesFile = ({ chart, values }: ValueSet): string =>
  join(chartFolder(chart), 'ci', `${values}-values.yaml`);
/** What the chart makes of them, as it was looked at. */
export const snapshotFile = ({ chart, values }: ValueSet): string =>
  join(ROOT, 'tests/deploy/snapshots', `${chart}-${values}.yaml`);

// oxlint-disable-next-line typescript/no-explicit-any -- of any kind; the schemas have the types.
export type Manifest = any;

/** The objects of a snapshot. Kubernetes reads YAML 1.1, where 0440 is octal. */
export function readManifests(set: ValueSet): readonly Manifest[] {
  const documents = parseAllDocuments(readFileSync(snapshotFile(set), 'utf8'), { version: '1.1' });
  return documents.map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS();
  });
}
