import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram, freePort, startProcess, temporaryFolder } from '@svc/testkit';

/** A Prometheus on 127.0.0.1 that scrapes each second. */
export interface Prometheus {
  /** The numbers that an expression gives now; rejects with the words of Prometheus when it is wrong. */
  query(expression: string): Promise<readonly number[]>;
  /** Of series that match the selector. */
  labelValues(label: string, selector: string): Promise<readonly string[]>;
  /** Those that fire, and those that will when it stays as it is. */
  alerts(): Promise<readonly ActiveAlert[]>;
  rules(): Promise<readonly EvaluatedRule[]>;
  stop(): Promise<void>;
}

interface ActiveAlert {
  readonly labels: { readonly alertname: string };
  readonly state: 'pending' | 'firing';
}

interface EvaluatedRule {
  readonly name: string;
  readonly health: string;
  readonly lastError?: string;
}

interface PrometheusOptions {
  /** By job, the ports of this machine to be scraped. */
  readonly jobs: Readonly<Record<string, readonly number[]>>;
  readonly rules: string;
}

export async function startPrometheus({ jobs, rules }: PrometheusOptions): Promise<Prometheus> {
  const program = findProgram('prometheus');
  if (program === undefined) throw new Error('cannot start Prometheus: it is not installed');
  const folder = await temporaryFolder('prometheus');
  const port = await freePort();
  const file = join(folder.path, 'prometheus.yaml');
  const configuration = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [rules],
    scrape_configs: Object.entries(jobs).map(([job_name, ports]) => ({
      job_name,
      // A label `service` of a target must not hide the one of a metric.
      honor_labels: true,
      static_configs: [{ targets: ports.map((each) => `127.0.0.1:${each}`) }],
    })),
  };
  // JSON is YAML.
  await writeFile(file, JSON.stringify(configuration));
  const running = await startProcess(program, [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder.path, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]);
  const stop = async (): Promise<void> => {
    await running.stop();
    await folder.remove();
  };
  try {
    await running.waitForLine((line) => line.includes('ready to receive web requests'), 30_000);
  } catch (error) {
    await stop();
    throw error;
  }

  /** `data` of what its HTTP API answers. */
  async function ask(path: string, parameters: Readonly<Record<string, string>> = {}) {
    const url = `http://127.0.0.1:${port}/api/v1/${path}?${new URLSearchParams(parameters).toString()}`;
    const { status, data, error } = JSON.parse(await (await fetch(url)).text());
    if (status !== 'success') throw new Error(`Prometheus refuses ${url}: ${error}`);
    return data;
  }

  return {
    async query(expression) {
      const { result }: { readonly result: readonly { readonly value: readonly [number, string] }[] } =
        await ask('query', { query: expression });
      return result.map(({ value }) => Number(value[1]));
    },
    labelValues: (label, selector) => ask(`label/${label}/values`, { 'match[]': selector }),
    async alerts() {
      const { alerts }: { readonly alerts: readonly ActiveAlert[] } = await ask('alerts');
      return alerts;
    },
    async rules() {
      const { groups }: { readonly groups: readonly { readonly rules: readonly EvaluatedRule[] }[] } =
        await ask('rules');
      return groups.flatMap((group) => group.rules);
    },
    stop,
  };
}
